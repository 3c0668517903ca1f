"""`dovetail export`: a recording as a file that other programs read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dovetail.cli.exit_codes import OK
from dovetail.export import ENDINGS, export

__all__ = ["export_recording"]


def export_recording(
    recording: Path, output: Path, fps: float, speed: float, overwrite: bool, film: dict[str, Any]
) -> int:
    """Write it and say where it is; `film` are the options of films that were given."""
    is_film = ENDINGS.get(output.suffix.lower()) == "film"
    options = {name: value for name, value in film.items() if value is not None}
    export(
        recording,
        output,
        fps=fps,
        speed=speed,
        overwrite=overwrite,
        **options,
        **({"progress": True} if is_film else {}),
    )
    print(output)
    return OK
