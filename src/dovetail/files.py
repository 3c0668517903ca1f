"""Write a file completely or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
from typing import BinaryIO

__all__ = ["atomic_write", "new_file"]


def atomic_write(path: Path, content: bytes | str, durable: bool = True, private: bool = False) -> None:
    """Replace the file at `path` by `content` in one step (text is stored as UTF-8, newlines as given).

    The content goes to a temporary file in the same folder, is flushed to the disk, and only then takes
    the name `path`. A failure at any moment leaves the old file as it was and no new one behind. A
    symbolic link keeps pointing to the file that is replaced. Raises OSError; the caller says what was
    being written. Not `durable`, the disk is not waited for: a crash of the machine may leave the new name with
    less than its content. A `private` file is for its owner alone, whatever the umask is.
    """
    target = path.resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder does not exist", str(target.parent))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder, not a file", str(target))
    payload = content.encode() if isinstance(content, str) else content
    draft = target.with_name(f".{target.name}.{os.urandom(6).hex()}.tmp")
    try:
        with new_file(draft, private) as stream:
            stream.write(payload)
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        if target.exists() and not private:
            draft.chmod(target.stat().st_mode & 0o777)
        draft.replace(target)
    except BaseException:
        # An interrupt counts as a failure too: the draft must not stay behind.
        with contextlib.suppress(FileNotFoundError):
            draft.unlink()
        raise


def new_file(path: Path, private: bool = False) -> BinaryIO:
    """A file that did not exist, opened for writing; a `private` one is for its owner alone, whatever the umask is."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666), "wb")
