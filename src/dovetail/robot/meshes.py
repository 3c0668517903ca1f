"""Meshes that robots' files name, as triangles in metres with the colours that they have themselves."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dovetail.errors import MissingExtra
from dovetail.geometry import SimplicialComplexIO
from dovetail.robot.dae import read_dae
from dovetail.robot.description import Triangles
from dovetail.typing import Array

__all__ = ["Painted", "as_one", "read_mesh"]


class Painted(NamedTuple):
    """A surface and its colour (3,); None where the file says none."""

    triangles: Triangles
    color: Array | None


def read_mesh(file: Path) -> list[Painted]:
    """The surfaces in a file [m]. A .dae is in its own unit, and its axes are taken as they are, as ROS does.

    Colours are those of .dae files; pictures that they name are not looked for. The last files are kept as they were
    read: several robots of one kind read them once.
    """
    try:
        known = file.stat()
    except OSError:
        return _read(file, 0, 0)  # which says what is wrong
    return _read(file, known.st_mtime_ns, known.st_size)


@lru_cache(maxsize=64)
def _read(file: Path, changed: int, size: int) -> list[Painted]:
    if file.suffix.lower() != ".dae":
        mesh = SimplicialComplexIO().read(file)
        return [
            Painted(Triangles(np.asarray(mesh.positions.values, float), np.asarray(mesh.triangles.topo.values)), None)
        ]
    if find_spec("collada") is None:
        raise MissingExtra(f"reading '{file}': .dae needs pycollada; pip install 'dovetail[robots]'.")
    return [Painted(Triangles(vertices, faces), color) for vertices, faces, color in read_dae(file)]


def as_one(parts: list[Triangles]) -> Triangles:
    """All of them together."""
    starts = np.cumsum([0, *(len(part.vertices) for part in parts[:-1])])
    return Triangles(
        np.concatenate([part.vertices for part in parts]),
        np.concatenate([part.faces + start for part, start in zip(parts, starts, strict=True)]),
    )
