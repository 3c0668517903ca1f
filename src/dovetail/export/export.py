"""`export`: which program a recording is for follows from the ending of the file."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import Any

from dovetail.checked import checked
from dovetail.errors import RecordingError
from dovetail.io.recording import Recording

__all__ = ["ENDINGS", "export"]

ENDINGS = {
    ".csv": "table",
    ".gif": "film",
    ".glb": "glb",
    ".html": "page",
    ".mp4": "film",
    ".usd": "usd",
    ".usda": "usd",
    ".usdc": "usd",
    "": "obj",
}
"""Endings with the module that writes such files; no ending is a folder of .obj files."""


@checked(RecordingError)
def export(
    recording: Recording | str | PathLike[str],
    path: str | PathLike[str],
    *,
    fps: float = 30.0,
    speed: float = 1.0,
    overwrite: bool = False,
    **options: Any,
) -> Path:
    """Write a recording for another program; returns the path.

    Of the frames at most `fps` are kept for each second of playback, and `speed` is how much faster than real time it
    plays; tables have every frame. What exists is refused unless `overwrite` is set; it is replaced when the new one is
    complete. Films take further options: `width` and `height` [pixels], `camera` (a `dovetail.Camera`) or `follow` (the
    name of a body), and `progress`.

        export("press.dove", "press.glb")
    """
    target = Path(path)
    ending = target.suffix.lower()
    if ending not in ENDINGS:
        known = ", ".join(name for name in ENDINGS if name)
        raise RecordingError(f"export: '{target}' ends in '{ending}'; it can be {known}, or no ending for .obj files.")
    if target.exists() and not overwrite:
        raise RecordingError(
            f"export: '{target}' exists already; choose another name, or pass overwrite=True to replace it."
        )
    if not (fps > 0.0 and speed > 0.0):
        raise RecordingError(f"export: fps = {fps:g} [1/s], speed = {speed:g}; give numbers above 0.")
    if not target.resolve().parent.is_dir():
        raise RecordingError(f"export: the folder '{target.resolve().parent}' does not exist; make it first.")
    if not isinstance(recording, Recording):
        with Recording(recording) as opened:
            return export(opened, target, fps=fps, speed=speed, overwrite=overwrite, **options)
    if len(recording) == 0:
        raise RecordingError(f"export: '{recording.path}' has no frames; record some first.")
    write: Callable[..., None] = import_module(f"dovetail.export.{ENDINGS[ending]}").write
    unknown = sorted(options.keys() - signature(write).parameters.keys())
    if unknown:
        raise RecordingError(f"export: {ending or '.obj'} files take no option {', '.join(unknown)}; only films do.")
    try:
        write(recording, target, fps=fps, speed=speed, **options)
    except OSError as error:
        raise RecordingError(f"export: cannot write '{target}': {error.strerror or error}.") from error
    return target
