"""Compiled kernels on disk: one file for each kernel and signature, checked before anything in it is used.

Machine code with a flipped bit takes the process down with it. A file therefore begins with a digest of the rest and
of what it was made for, and one that is cut off, flipped or of another kernel is compiled anew and replaced. In front
of that is a seal (`private.py`), without which nothing of the cache is unpickled or run: a file that others have put
there is compiled anew, too. Kernels that came with the package have none, and are trusted as its sources are. There is
no index: the name says what is in a file, files take their names when they are complete, and processes that start
together write the same files twice at worst.

Where nothing can be kept (a full disk, a folder that must not be written) kernels are compiled in every run. One line
of log tells of all that.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import pickle
import re
import shutil
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from dovetail.files import atomic_write
from dovetail.kernel.library import rebuild
from dovetail.kernel.numba_private import NumbaWarning, cpu_target, rtsys, serialize
from dovetail.kernel.private import UntrustedError, check_folder, make_folder, read_private, seal
from dovetail.logger import Logger

__all__ = ["KernelFiles", "forget_old_versions", "unsealed"]

_KEPT_DAYS = 30
_SEAL_BYTES = _DIGEST_BYTES = 32
_ALONE = (
    "no kernels are kept there, so every run compiles. Make it yours alone (chown, chmod go-w), or set "
    "DOVETAIL_CACHE_DIR to a folder that is."
)


class _Complaint:
    """What goes wrong with files is told once in a process: there are hundreds of them, and no result depends on it."""

    told = False

    @classmethod
    def tell(cls, message: str) -> None:
        if not cls.told:
            cls.told = True
            Logger.warn(f"kernels: {message}")


@cache
def forget_old_versions(root: Path) -> None:
    """Remove what was not used for a month from the cache: it belongs to sources that no longer exist."""
    oldest = time.time() - 86400 * _KEPT_DAYS
    for path in root.glob("kernels-*"):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < oldest:
                shutil.rmtree(path, ignore_errors=True)


class KernelFiles:
    """The files of one function; what Numba asks for compiled code (its `_Cache`) and gives it to.

    `folder` is its own to each version of the sources, and None where there is no place for files; `shipped` is one
    that came with the package, with the level of processors it is for; `rebuild` makes compiled code of what
    `CompileResult._reduce` made of it.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        folder: Path | None,
        shipped: tuple[Path, str] | None = None,
        rebuild: Callable[..., Any] = rebuild,
    ) -> None:
        self._folder, self._rebuild, self._shipped = folder, rebuild, shipped
        self._name = re.sub(r"[^\w.]", "", function.__qualname__)
        # two functions of one name in a module differ by their line; all else of the sources is in the folder's name
        self._function = f"{function.__module__}.{function.__qualname__}:{function.__code__.co_firstlineno}"
        self._function += f" {rebuild.__qualname__}"  # the same function for Python and for other kernels

    @property
    def cache_path(self) -> str | None:
        """Where the files are, for Numba's statistics."""
        return None if self._folder is None else str(self._folder)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Compiled code for a signature, or None: there is no file, or it is damaged."""
        rtsys.initialize(target)  # for kernels that make arrays
        for path, key in self._places(signature, target.codegen()):
            try:
                content = self._read(path)
            except OSError:
                continue
            except UntrustedError as error:
                _Complaint.tell(f"{error}; {_ALONE}")
                continue
            digest, body = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
            if digest == _digest(key, body):
                return self._rebuild(target, *pickle.loads(body))
            _Complaint.tell(f"'{path}' is damaged; it is compiled again.")
        return None

    def _read(self, path: Path) -> bytes:
        """Digest and code; nothing where the seal of a file of the cache is wrong."""
        if path.parent != self._folder:
            return path.read_bytes()
        root = self._folder.parent
        check_folder(root)
        check_folder(self._folder)
        content = read_private(path)
        right = seal(root, content[_SEAL_BYTES:][:_DIGEST_BYTES])
        return unsealed(content) if hmac.compare_digest(content[:_SEAL_BYTES], right) else b""

    def find(self, signature: Any) -> Path | None:
        """The file for a signature, if there is one."""
        places = self._places(signature, cpu_target.target_context.codegen())
        return next((path for path, _ in places if path.is_file() and self._is_trusted(path.parent)), None)

    def _is_trusted(self, folder: Path) -> bool:
        with contextlib.suppress(UntrustedError):
            for each in (folder, folder.parent) if folder == self._folder else ():
                check_folder(each)
            return True
        return False

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep compiled code; where that is not possible, go on without."""
        key = self._key(signature, compiled.codegen.magic_tuple())
        if self._folder is None:
            _Complaint.tell("there is no home directory to keep compiled code in; set DOVETAIL_CACHE_DIR to a folder.")
            return
        if compiled.library.has_dynamic_globals or compiled.lifted:
            warnings.warn(f"{self._name}: compiled code with addresses in it cannot be kept", NumbaWarning, 2)
            return
        body, path = serialize.dumps(compiled._reduce()), self._path(self._folder, key)
        digest = _digest(key, body)
        try:
            make_folder(self._folder.parent)
            forget_old_versions(self._folder.parent)
            make_folder(self._folder)
            # what a crash of the machine leaves is told by the digest: not worth waiting for the disk
            atomic_write(path, seal(self._folder.parent, digest) + digest + body, durable=False, private=True)
        except UntrustedError as error:
            _Complaint.tell(f"{error}; {_ALONE}")
        except OSError as error:
            _Complaint.tell(
                f"compiled code cannot be kept in '{path.parent.parent}' ({error.strerror or error}), so every run "
                "compiles; make room there, or set DOVETAIL_CACHE_DIR to another folder."
            )

    def flush(self) -> None:
        """Forget the files of this function."""
        for path in [] if self._folder is None else self._folder.glob(f"{self._name}-*.nbc"):
            path.unlink(missing_ok=True)

    def _places(self, signature: Any, codegen: Any) -> Iterator[tuple[Path, bytes]]:
        """Where compiled code may be, and the key that it must have there."""
        native = codegen.magic_tuple()
        if self._shipped is not None:
            folder, level = self._shipped
            key = self._key(signature, (native[0], level, ""))
            yield self._path(folder, key), key
        if self._folder is not None:
            key = self._key(signature, native)
            yield self._path(self._folder, key), key

    def _key(self, signature: Any, processor: tuple[str, ...]) -> bytes:
        """What compiled code depends on besides the sources: function, types, processor."""
        return repr((self._function, str(signature), processor)).encode()

    def _path(self, folder: Path, key: bytes) -> Path:
        return folder / f"{self._name}-{_digest(key, b'').hex()[:16]}.nbc"


def unsealed(content: bytes) -> bytes:
    """A file of the cache as it is shipped."""
    return content[_SEAL_BYTES:]


def _digest(key: bytes, body: bytes) -> bytes:
    digest = hashlib.sha256(key)
    digest.update(body)
    return digest.digest()
