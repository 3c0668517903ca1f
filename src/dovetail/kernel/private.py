"""The cache of kernels belongs to one user: nothing in it is used that somebody else may have written.

Machine code and pickles do what they like once they are loaded. So folders and files that others own, or may write,
are not read, and each file has a seal: an HMAC with a secret that lies in the cache's folder, for its user alone.
Folders are made for their owner alone, whatever the umask is. That holds for every user, root included. Windows has
other permissions, by which a user's folders are his own.
"""

from __future__ import annotations

import contextlib
import errno
import hmac
import os
import stat
from functools import cache
from pathlib import Path

from dovetail.files import new_file

__all__ = ["UntrustedError", "check_folder", "make_folder", "read_private", "seal"]

_SECRET_BYTES = 32
_WRITE, _READ = 0o022, 0o044  # what a group and others may do


class UntrustedError(Exception):
    """Others own a file or folder, or may write it."""


def check_folder(path: Path) -> None:
    """Refuse a folder, if it exists, that others own or may write."""
    with contextlib.suppress(OSError):
        _check(path, path.stat(), _WRITE)


def _check(path: Path, found: os.stat_result, forbidden: int) -> None:
    if os.name != "posix":
        return
    if found.st_uid != os.geteuid():
        raise UntrustedError(f"'{path}' belongs to user {found.st_uid}, and this is user {os.geteuid()}")
    if found.st_mode & forbidden:
        what = "write" if found.st_mode & _WRITE else "read"
        raise UntrustedError(f"others may {what} '{path}', whose mode is {stat.S_IMODE(found.st_mode):o}")


def make_folder(path: Path) -> None:
    """Make a folder, and what is missing above it, for this user alone; OSError and `UntrustedError` say why not."""
    missing = [path]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    for folder in reversed(missing):
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
    if not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    check_folder(path)


def read_private(path: Path, forbidden: int = _WRITE) -> bytes:
    """The content of a file; OSError where there is none, `UntrustedError` where others may do what is forbidden."""
    with path.open("rb") as stream:
        _check(path, os.fstat(stream.fileno()), forbidden)
        return stream.read()


def seal(root: Path, digest: bytes) -> bytes:
    """The HMAC of a digest with the secret of a cache folder; OSError and `UntrustedError` say why there is none."""
    return hmac.digest(_secret(root), digest, "sha256")


@cache
def _secret(root: Path) -> bytes:
    """32 bytes that are drawn where there are none."""
    path = root / "secret"
    for _ in range(2):
        with contextlib.suppress(FileNotFoundError):
            found = read_private(path, _READ | _WRITE)
            if len(found) == _SECRET_BYTES:
                return found
            path.unlink()  # a crash of the machine has cut it off
        make_folder(root)
        _draw(path)
    raise OSError(errno.EIO, "the secret of the cache cannot be kept", str(path))


def _draw(path: Path) -> None:
    """Write a new secret, unless another process does so at the same time: the first one counts."""
    draft = path.with_name(f".{path.name}.{os.urandom(6).hex()}.tmp")
    try:
        with new_file(draft, private=True) as stream:
            stream.write(os.urandom(_SECRET_BYTES))
            stream.flush()
            os.fsync(stream.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            return
        except OSError:  # a file system without links
            draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
