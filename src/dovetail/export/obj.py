"""A folder of .obj files, one per frame, every body an object of its own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np

from dovetail.export.timeline import thinned
from dovetail.io.recording import Recording

__all__ = ["write"]


def write(recording: Recording, path: Path, *, fps: float, speed: float) -> None:
    """`path`/frame_00000.obj, …: numbered without gaps, so that programs read them as a sequence.

    Vertices of a body keep their order from frame to frame. The folder appears when it is complete.
    """
    numbers, _ = thinned(recording.times, fps, speed)
    tails = _tails(recording)
    draft = path.resolve().with_name(f".{path.name}.{os.urandom(6).hex()}.tmp")
    draft.mkdir()
    try:
        for k, number in enumerate(numbers.tolist()):
            parts = [f"# {recording.path.name}, {recording.times[number]:.9g} s\n"]
            for body, T, tail in zip(recording.bodies, recording.transforms(number), tails, strict=True):
                placed = np.concatenate([look.shape.vertices for look in body.looks]) @ T[:3, :3].T + T[:3, 3]
                parts.append(f"o {body.name.replace(' ', '_')}\n")
                parts.append("".join(f"v {x:.9g} {y:.9g} {z:.9g}\n" for x, y, z in placed.tolist()))
                parts.append(tail)
            (draft / f"frame_{k:05d}.obj").write_text("".join(parts), encoding="utf-8")
        if path.exists():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        draft.rename(path.resolve())
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _tails(recording: Recording) -> list[str]:
    """Faces and lines of each body, which are the same in every file; .obj counts vertices from 1 through the file."""
    found = []
    first = 1
    for body in recording.bodies:
        lines = []
        for shape, _ in body.looks:
            lines += [("f", row) for row in (shape.triangles.astype(np.int64) + first).tolist()]
            lines += [("l", row) for row in (shape.edges.astype(np.int64) + first).tolist()]
            first += len(shape.vertices)
        found.append("".join(f"{kind} {' '.join(map(str, row))}\n" for kind, row in lines))
    return found
