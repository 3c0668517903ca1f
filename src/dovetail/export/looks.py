"""What exported scenes look like: meshes with normals, the floor, and which way is up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.io.colors import Color
from dovetail.io.recording import Recording
from dovetail.picture.camera import Bounds
from dovetail.picture.mesh import drawn, vertex_normals
from dovetail.typing import Array, Indices

__all__ = ["Shape", "bounds_of", "floor", "shapes_of"]

_SAMPLES = 12  # frames by which the size of a scene is judged
FLOOR_COLOR = (0.80, 0.81, 0.83)


class Shape(NamedTuple):
    """A mesh with normals (v, 3) at its vertices."""

    vertices: Array
    triangles: NDArray[np.int64]
    normals: Array


def shapes_of(recording: Recording) -> list[list[tuple[int, Shape, Color]]]:
    """What to draw for each body: numbers of shapes, equal where these are, and colours. Nothing for bare points."""
    size = bounds_of(recording, np.arange(len(recording))).size
    made: dict[int, tuple[int, Shape]] = {}
    for look in (look for body in recording.bodies if body.is_seen for look in body.looks):
        if id(look.shape) not in made:
            mesh = drawn(look.shape, 0.005 * size)
            made[id(look.shape)] = len(made), Shape(*mesh, vertex_normals(mesh))
    return [
        [(*made[id(look.shape)], look.color or body.color) for look in body.looks if body.is_seen]
        for body in recording.bodies
    ]


def bounds_of(recording: Recording, frames: Indices) -> Bounds:
    """The box around everything that has a surface, over some of the frames."""
    chosen = frames[np.linspace(0, len(frames) - 1, min(_SAMPLES, len(frames))).astype(np.int64)]
    found: Bounds | None = None
    for frame in chosen.tolist():
        transforms = recording.transforms(frame)
        points = [
            look.shape.vertices @ T[:3, :3].T + T[:3, 3]
            for body, T in zip(recording.bodies, transforms, strict=True)
            for look in body.looks
            if body.is_seen
        ]
        here = Bounds.of(np.concatenate([np.zeros((0, 3)), *points]))
        found = here if found is None else found.joined(here)
    assert found is not None
    return found


def floor(recording: Recording, bounds: Bounds) -> list[Shape]:
    """A square of each half-plane, as large as the scene needs."""
    found = []
    for plane in recording.planes:
        n = plane.normal
        side = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
        side /= np.linalg.norm(side)
        other = np.cross(n, side)
        middle = bounds.centre - (bounds.centre - plane.point) @ n * n
        half = 1.5 * bounds.size
        corners = [middle + half * (a * side + b * other) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
        found.append(Shape(np.array(corners), np.array([[0, 1, 2], [0, 2, 3]]), np.tile(n, (4, 1))))
    return found
