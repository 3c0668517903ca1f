"""Saving and restoring a simulation: one file per frame, written whole or not at all.

`<workspace>/dump/state.<frame>.npz` holds every array that the next step depends on, and a header with the
format's version, the frame and a fingerprint of the scene. Loading never executes anything and takes no more memory
than the file has bytes; a file that is damaged, newer or of another scene is refused and nothing changes.
"""

from __future__ import annotations

import io
import json
import math
import re
import stat
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.files import atomic_write
from dovetail.logger import Logger
from dovetail.typing import Array

__all__ = ["header_flaw", "last_frame", "pack", "read_content", "read_dump", "unpack", "write_dump"]

_VERSION = 2
_HEADER = "header"
_LARGEST = 2**32  # bytes; a heap of 10⁵ bodies with 10⁷ candidates for contact has a quarter of them
_LAST_FRAME = 2**53  # frames beyond this are not whole numbers in a recording


def _path(workspace: Path, frame: int) -> Path:
    return workspace / "dump" / f"state.{frame}.npz"


def pack(frame: int, scene: str, arrays: dict[str, Array]) -> bytes:
    """The content of a file with all arrays of a frame."""
    header = json.dumps({"format": "dovetail dump", "version": _VERSION, "frame": frame, "scene": scene})
    content = io.BytesIO()
    named = {**arrays, _HEADER: np.frombuffer(header.encode(), np.uint8)}
    np.savez(content, **named)  # type: ignore[arg-type]  # savez takes any names
    return content.getvalue()


def write_dump(workspace: Path, frame: int, scene: str, arrays: dict[str, Array]) -> None:
    """Write all arrays of a frame."""
    path = _path(workspace, frame)
    path.parent.mkdir(exist_ok=True)
    atomic_write(path, pack(frame, scene, arrays))


def last_frame(workspace: Path) -> int:
    """The largest frame with a dump, −1 if there is none."""
    frames = [
        int(found[1])
        for path in (workspace / "dump").glob("state.*.npz")
        if (found := re.fullmatch(r"state\.(\d+)\.npz", path.name))
    ]
    return max(frames, default=-1)


def read_content(path: Path) -> bytes:
    """The bytes of a file; what is no file, or too large to be a state, is a ValueError."""
    with path.open("rb") as stream:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is not a file")
        if found.st_size > _LARGEST:
            raise ValueError(f"it has {found.st_size} bytes, more than the {_LARGEST} that a state may have")
        return stream.read(found.st_size)


def unpack(content: bytes) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of such a content; raises whatever is wrong with it."""
    arrays: dict[str, Array] = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = archive.infolist()
        # what is not compressed, and claims no byte twice, cannot be larger than the file
        if any(part.compress_type != zipfile.ZIP_STORED for part in parts):
            raise ValueError("parts of it are compressed, those of a saved state are not")
        if sum(part.file_size for part in parts) > len(content):
            raise ValueError("its parts are larger than the file")
        for part in parts:
            name = part.filename.removesuffix(".npy")
            if name in arrays:
                raise ValueError(f"it has '{name:.40}' twice")
            arrays[name] = _array(archive.read(part))
    header = json.loads(arrays.pop(_HEADER).tobytes().decode())
    if not isinstance(header, dict):
        raise ValueError("its header is not a table")
    return header, arrays


def _array(content: bytes) -> Array:
    """The array in an .npy file, of which nothing is allocated before its size is known to be true."""
    stream = io.BytesIO(content)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    shape, by_columns, kind = read[np.lib.format.read_magic(stream)](stream)
    start = stream.tell()
    if kind.hasobject or start + math.prod(shape) * kind.itemsize != len(content):
        raise ValueError(f"an array of {len(content) - start} bytes says that it is {kind} {shape}")
    numbers = np.frombuffer(content, kind, offset=start)
    return numbers.reshape(shape, order="F" if by_columns else "C").copy()


def header_flaw(header: dict[str, Any]) -> str:
    """What to say of a file that this program cannot read; nothing if it can."""
    frame = header.get("frame")
    if header.get("format") != "dovetail dump" or header.get("version") != _VERSION:
        return f"has version {header.get('version')!s:.40} of the format, this program reads version {_VERSION}"
    if type(frame) is not int or not 0 <= frame < _LAST_FRAME:
        return f"says that it is frame {frame!s:.40}"
    return ""


def read_dump(workspace: Path, frame: int) -> tuple[str, dict[str, Array]] | None:
    """The scene's fingerprint and the arrays in the dump of a frame; None, with a logged reason, where refused.

    A frame that was never dumped is not an error: scripts ask for the next one to see whether it is there.
    """
    path = _path(workspace, frame)
    if not path.exists():
        return None
    try:
        header, arrays = unpack(read_content(path))
    except Exception as error:  # a damaged archive can fail anywhere in zip, NumPy or JSON
        Logger.error(
            f"World.recover: '{path}' is damaged ({error!s:.200}); nothing was changed. Delete it and dump again."
        )
        return None
    reason = header_flaw(header)
    if not reason and header["frame"] != frame:
        reason = f"says that it is frame {header['frame']}"
    if reason:
        Logger.error(f"World.recover: '{path}' {reason}; nothing was changed.")
        return None
    return str(header.get("scene")), arrays
