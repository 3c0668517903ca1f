"""Meshes for drawing: surfaces with their sharp edges kept sharp, rods as tubes, and the unit shapes of markers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.io.recorded import RecordedShape
from dovetail.typing import Array

__all__ = ["Mesh", "ball", "block", "cylinder", "drawn", "is_closed", "sector", "vertex_normals"]

_CREASE = np.deg2rad(35.0)  # neighbouring triangles that differ by more are shaded apart
_SIDES = 12  # of a tube
_SECTOR_STEP = np.deg2rad(7.5)


class Mesh(NamedTuple):
    """Vertices (v, 3) and triangles (t, 3), counter-clockwise from outside."""

    vertices: Array
    triangles: NDArray[np.int64]


def drawn(shape: RecordedShape, marker: float) -> Mesh:
    """What to draw for a body: its surface; tubes around single edges; a ball of radius `marker` [m] for a bare point.

    Tubes have the thickness of the body as radius, or a third of `marker` where it has none.
    """
    parts = []
    if len(shape.triangles):
        parts.append(_creased(shape.vertices, shape.triangles.astype(np.int64)))
    radius = shape.thickness or marker / 3
    parts += [_tube(shape.vertices[a], shape.vertices[b], radius) for a, b in shape.edges]
    if not parts:
        centres = shape.vertices if len(shape.vertices) else np.zeros((1, 3))
        unit = ball()
        parts = [Mesh(centre + (shape.thickness or marker) * unit.vertices, unit.triangles) for centre in centres]
    return _merged(parts)


def is_closed(shape: RecordedShape) -> bool:
    """Whether the surface has no rim; tubes and balls have none."""
    sides = np.sort(shape.triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    _, uses = np.unique(sides, axis=0, return_counts=True)
    return bool((uses % 2 == 0).all())


def vertex_normals(mesh: Mesh) -> Array:
    """Unit normals of vertices (v, 3): those of their triangles, weighted with the area."""
    corners = mesh.vertices[mesh.triangles]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = np.zeros_like(mesh.vertices)
    for k in range(3):
        np.add.at(normals, mesh.triangles[:, k], across)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    return np.where(length > 0, normals / np.where(length > 0, length, 1.0), [0.0, 0.0, 1.0])


def _merged(parts: list[Mesh]) -> Mesh:
    starts = np.cumsum([0, *(len(part.vertices) for part in parts[:-1])])
    return Mesh(
        np.concatenate([part.vertices for part in parts]),
        np.concatenate([part.triangles + start for part, start in zip(parts, starts, strict=True)]),
    )


def _creased(vertices: Array, triangles: NDArray[np.int64]) -> Mesh:
    """The surface with vertices doubled along sharp edges: a browser averages normals at each vertex.

    Corners of triangles that share an edge belong together where the triangles' normals are less than a crease apart.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    P = vertices[triangles]
    normals = np.cross(P[:, 1] - P[:, 0], P[:, 2] - P[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    count = len(triangles)
    corner = np.arange(3 * count).reshape(count, 3)
    # every side of a triangle: its ends as vertices, sorted, and the corners at these ends
    ends = triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    at = corner[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    turned = ends[:, 0] > ends[:, 1]
    ends[turned], at[turned] = ends[turned][:, ::-1], at[turned][:, ::-1]
    order = np.lexsort(ends.T)
    same = (ends[order][1:] == ends[order][:-1]).all(axis=1)
    one, two = at[order][:-1][same], at[order][1:][same]
    smooth = np.einsum("ki,ki->k", normals[one[:, 0] // 3], normals[two[:, 0] // 3]) > np.cos(_CREASE)
    rows, columns = one[smooth].ravel(), two[smooth].ravel()
    graph = coo_array((np.ones(len(rows)), (rows, columns)), shape=(3 * count, 3 * count))
    number, label = connected_components(graph, directed=False)
    doubled = np.empty((number, 3))
    doubled[label] = vertices[triangles.ravel()]
    return Mesh(doubled, label.reshape(-1, 3).astype(np.int64))


def _tube(start: Array, end: Array, radius: float) -> Mesh:
    """A round bar between two points with half-balls at its ends, like the space that a rod takes."""
    import trimesh

    length = float(np.linalg.norm(end - start))
    capsule = trimesh.creation.capsule(length, radius, count=(_SIDES, _SIDES))
    to_axis = trimesh.geometry.align_vectors([0.0, 0.0, 1.0], end - start) if length else np.eye(4)
    # trimesh's capsules begin in the origin or lie around it, depending on its version
    centred = capsule.vertices - capsule.bounds.mean(axis=0)
    return Mesh(centred @ to_axis[:3, :3].T + (start + end) / 2, capsule.faces.astype(np.int64))


# --- unit shapes of markers ------------------------------------------------------------------------------------


def cylinder() -> Mesh:
    """Radius 1, from z = 0 to z = 1."""
    import trimesh

    found = trimesh.creation.cylinder(1.0, 1.0, sections=_SIDES)
    return _creased(found.vertices + np.array([0.0, 0.0, 0.5]), found.faces.astype(np.int64))


def ball() -> Mesh:
    """Radius 1 around the origin."""
    import trimesh

    found = trimesh.creation.icosphere(2, 1.0)
    return Mesh(np.array(found.vertices), found.faces.astype(np.int64))


def block() -> Mesh:
    """Edges of length 1 around the origin."""
    import trimesh

    found = trimesh.creation.box((1.0, 1.0, 1.0))
    return _creased(np.array(found.vertices), found.faces.astype(np.int64))


def sector(lower: float, upper: float) -> Mesh:
    """The part of a flat ring, radii 0.86 and 1, about z from angle `lower` to `upper` [rad], measured from x.

    More than a turn is drawn as one.
    """
    upper = min(upper, lower + 2 * np.pi)
    steps = max(2, int(np.ceil((upper - lower) / _SECTOR_STEP)) + 1)
    angles = np.linspace(lower, upper, steps)
    circle = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    k = np.arange(steps - 1)
    inner, outer = k, k + steps
    triangles = np.concatenate(
        [np.stack(t, axis=1) for t in ((inner, outer, outer + 1), (inner, outer + 1, inner + 1))]
    )
    return Mesh(np.concatenate([0.86 * circle, circle]), triangles)
