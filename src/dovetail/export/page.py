"""A page that plays offline in any browser."""

from __future__ import annotations

from pathlib import Path

from dovetail.io.recording import Recording
from dovetail.viewer.replay import replay

__all__ = ["write"]


def write(recording: Recording, path: Path, *, fps: float, speed: float) -> None:
    """The replay of `dovetail.viewer`; what exists has been asked about already."""
    replay(recording, path, fps=fps, speed=speed, overwrite=True)
