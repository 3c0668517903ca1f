"""`dovetail export`: a recording as a file that other programs read."""

from __future__ import annotations

from pathlib import Path

from dovetail.cli.exit_codes import OK
from dovetail.export import export

__all__ = ["export_recording"]


def export_recording(recording: Path, output: Path, fps: float, speed: float, overwrite: bool) -> int:
    """Write it and say where it is."""
    export(recording, output, fps=fps, speed=speed, overwrite=overwrite)
    print(output)
    return OK
