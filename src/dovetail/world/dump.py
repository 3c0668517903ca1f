"""Saving and restoring a simulation: one file per frame, written whole or not at all.

`<workspace>/dump/state.<frame>.npz` holds every array that the next step depends on, and a header with the
format's version, the frame and a fingerprint of the scene. Loading never executes anything
(`allow_pickle=False`); a file that is damaged, newer or of another scene is refused and nothing changes.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.files import atomic_write
from dovetail.logger import Logger
from dovetail.typing import Array

__all__ = ["fingerprint", "last_frame", "layout", "of_other_version", "pack", "read_dump", "unpack", "write_dump"]

_VERSION = 1
_HEADER = "header"


def _path(workspace: Path, frame: int) -> Path:
    return workspace / "dump" / f"state.{frame}.npz"


def fingerprint(arrays: dict[str, Array]) -> str:
    """Digest of the constant arrays of a system: equal for equal scenes."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}:{array.dtype}:{array.shape};".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


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


def unpack(content: bytes) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of such a content; raises whatever is wrong with it."""
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        header = json.loads(archive[_HEADER].tobytes().decode())
        if not isinstance(header, dict):
            raise ValueError("its header is not a table")
        return header, {name: archive[name] for name in archive.files if name != _HEADER}


def of_other_version(header: dict[str, Any]) -> str:
    """What to say of a file that this program cannot read; nothing if it can."""
    if header.get("format") == "dovetail dump" and header.get("version") == _VERSION:
        return ""
    return f"has version {header.get('version')} of the format, this program reads version {_VERSION}"


def layout(arrays: dict[str, Array]) -> dict[str, tuple[tuple[int, ...], str]]:
    """Shapes and types by name; lists of contacts may have any length."""
    shapes = {name: array.shape[1:] if name.startswith("contact/") else array.shape for name, array in arrays.items()}
    return {name: (shapes[name], array.dtype.str) for name, array in arrays.items()}


def read_dump(workspace: Path, frame: int, scene: str, expected: dict[str, Array]) -> dict[str, Array] | None:
    """Arrays of a frame with the names and shapes of `expected`; None, with a logged reason, where refused.

    A frame that was never dumped is not an error: scripts ask for the next one to see whether it is there.
    """
    path = _path(workspace, frame)
    if not path.exists():
        return None
    try:
        header, arrays = unpack(path.read_bytes())
    except Exception as error:  # a damaged archive can fail anywhere in zip, NumPy or JSON
        Logger.error(f"World.recover: '{path}' is damaged ({error}); nothing was changed. Delete it and dump again.")
        return None
    reason = of_other_version(header)
    if reason:
        pass
    elif header.get("frame") != frame:
        reason = f"says that it is frame {header.get('frame')}"
    elif header.get("scene") != scene:
        reason = "is of another scene: bodies, masses or joints differ"
    elif layout(arrays) != layout(expected):
        reason = "holds other arrays than this scene needs"
    if reason:
        Logger.error(f"World.recover: '{path}' {reason}; nothing was changed.")
        return None
    return arrays
