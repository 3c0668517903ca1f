"""Joint states and energies as a .csv table: a row per frame."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from dovetail.files import atomic_write
from dovetail.io.recording import Recording

__all__ = ["write"]

_AXES = "xyz"


def write(recording: Recording, path: Path, *, fps: float, speed: float) -> None:
    """Columns: frame, time [s], then `joint/attribute` (vectors as …/x, …/y, …/z), then `energy/name` [J].

    Numbers are written with all their digits. Every frame is there; fps and speed concern only what is played.
    """
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["frame", "time", *_headings(recording), *(f"energy/{name}" for name in recording.energies(0))])
    frames, times = recording.frames.tolist(), recording.times.tolist()
    for index, (frame, time) in enumerate(zip(frames, times, strict=True)):
        numbers: list[float] = []
        for state in recording.joint_states(index):
            for value in state.values():
                numbers += [value] if isinstance(value, float) else value.tolist()
        rows.writerow([frame, repr(time), *map(repr, numbers), *map(repr, recording.energies(index).values())])
    atomic_write(path, text.getvalue())


def _headings(recording: Recording) -> list[str]:
    found = []
    for joint, state in zip(recording.joints, recording.joint_states(0), strict=True):
        for name, value in state.items():
            parts = [""] if isinstance(value, float) else [f"/{_axis(k)}" for k in range(len(value))]
            found += [f"{joint.name}/{name}{part}" for part in parts]
    return found


def _axis(k: int) -> str:
    return _AXES[k] if k < len(_AXES) else str(k)
