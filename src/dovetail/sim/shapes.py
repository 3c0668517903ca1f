"""The meshes of bodies: primitives by their sizes, files, and meshes of other libraries."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from dovetail.checked import numbers, shown, whole
from dovetail.errors import SceneError
from dovetail.geometry import SimplicialComplex, SimplicialComplexIO, label_surface, make_round
from dovetail.geometry import trimesh as triangle_mesh
from dovetail.sim.given import positive, vector
from dovetail.typing import Array, ArrayLike

__all__ = ["box", "capsule", "cylinder", "edges_of", "mesh", "sphere"]

_SMALLEST, _LARGEST = 1e-9, 1e7
"""Sizes of bodies [m], from a molecule's to a planet's."""

_INSIDE = 1e-4
"""By what share of the radius corners of a cylinder lie inside: one that stands at its radius does not touch yet."""

_CORNERS = np.indices((2, 2, 2)).reshape(3, 8).T - 0.5
_SIDES = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]


def box(who: str, size: ArrayLike) -> SimplicialComplex:
    """A box with these edge lengths [m], or a cube with one; its centre is the origin."""
    return _labelled(triangle_mesh(_CORNERS * edges_of(who, size), _SIDES))


def edges_of(who: str, size: ArrayLike) -> Array:
    """The edge lengths (3,) of a box [m]."""
    edges = _three(who, "size", size, "m")
    if not ((edges >= _SMALLEST) & (edges <= _LARGEST)).all():
        raise SceneError(f"{who}: size = {edges.tolist()} [m]; give lengths from {_SMALLEST:g} to {_LARGEST:g} m.")
    return edges


def sphere(who: str, radius: float, detail: int) -> SimplicialComplex:
    """A ball; its picture is an icosahedron whose triangles are divided `detail` times."""
    from trimesh.creation import icosphere

    if whole(detail) not in range(6):
        raise SceneError(f"{who}: detail = {shown(detail)}; give 0 (20 triangles) to 5 (20,480 triangles).")
    found = icosphere(subdivisions=int(detail), radius=_length(who, "radius", radius))
    ball = _labelled(triangle_mesh(np.asarray(found.vertices, float), np.asarray(found.faces)))
    make_round(ball, radius)
    return ball


def capsule(who: str, radius: float, length: float, detail: int) -> SimplicialComplex:
    """A cylinder of this length [m] along z between two half-balls; its centre is the origin."""
    sides = 4 * 2 ** _detail(who, detail)
    r, half = _length(who, "radius", radius), _length(who, "length", length) / 2
    latitude = np.linspace(0.0, np.pi / 2, sides // 2 + 1)[:-1]
    rings = np.stack([r * np.cos(latitude), half + r * np.sin(latitude)], axis=1)
    found = _revolved(np.concatenate([rings[::-1] * (1, -1), rings]), half + r, sides)
    make_round(found, r, (0.0, 0.0, -half), (0.0, 0.0, half))
    return found


def cylinder(who: str, radius: float, length: float, detail: int) -> SimplicialComplex:
    """A prism of this length [m] along z with 8·2^detail sides, its corners all but on the cylinder; centre at 0."""
    sides = 8 * 2 ** _detail(who, detail)
    r, half = (1.0 - _INSIDE) * _length(who, "radius", radius), _length(who, "length", length) / 2
    found = _revolved(np.array([[r, -half], [r, half]]), half, sides)
    found.meta.create("rolling_axis", np.array([0.0, 0.0, 1.0]))
    return found


def _revolved(rings: Array, end: float, sides: int) -> SimplicialComplex:
    """Rings of so many corners about z, each (radius, height), from bottom to top, closed by the points z = ∓end."""
    angles = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
    around = np.stack([np.cos(angles), np.sin(angles), np.ones(sides)], axis=1)
    corners = (around * rings[:, [0, 0, 1]][:, None]).reshape(-1, 3)
    bottom, top = len(corners), len(corners) + 1
    this = np.arange(sides)
    following = (this + 1) % sides
    faces = [np.stack([np.full(sides, bottom), following, this], axis=1)]
    for first in range(0, len(corners) - sides, sides):
        a, b = first + this, first + following
        faces += [np.stack([a, b, b + sides], axis=1), np.stack([a, b + sides, a + sides], axis=1)]
    last = len(corners) - sides
    faces.append(np.stack([np.full(sides, top), last + this, last + following], axis=1))
    points = np.concatenate([corners, [[0.0, 0.0, -end], [0.0, 0.0, end]]])
    return _labelled(triangle_mesh(points, np.concatenate(faces)))


def mesh(who: str, source: Any, scale: ArrayLike = 1.0) -> SimplicialComplex:
    """A mesh from a file, a trimesh.Trimesh, (vertices, faces), or a SimplicialComplex; scaled about its origin."""
    if isinstance(source, SimplicialComplex):
        found = source.copy()
    elif isinstance(source, (str, PathLike)):
        found = SimplicialComplexIO().read(source)
    elif hasattr(source, "vertices") and hasattr(source, "faces"):
        found = triangle_mesh(np.asarray(source.vertices, float), np.asarray(source.faces))
    elif isinstance(source, (tuple, list)) and len(source) == 2:
        found = triangle_mesh(source[0], source[1])
    else:
        raise SceneError(
            f"{who}: {type(source).__name__} is no mesh; give the path of a file, a trimesh.Trimesh, "
            "(vertices, faces), or a SimplicialComplex."
        )
    factors = _three(who, "scale", scale)
    if not (factors > 0).all():
        raise SceneError(f"{who}: scale = {shown(scale)}; give numbers > 0.")
    if (factors != 1.0).any():
        found.positions.edit()[...] *= factors
    return _labelled(found)


def _three(who: str, what: str, value: ArrayLike, unit: str = "") -> Array:
    """Three numbers, or one for all three."""
    given = numbers(value)
    return vector(who, what, value if given is None or given.ndim else np.full(3, given), unit)


def _length(who: str, what: str, value: float) -> float:
    """A length that a body can have [m]."""
    found = positive(who, what, value, "m")
    if not _SMALLEST <= found <= _LARGEST:
        raise SceneError(f"{who}: {what} = {found:g} [m]; give a length from {_SMALLEST:g} to {_LARGEST:g} m.")
    return found


def _detail(who: str, detail: int) -> int:
    if whole(detail) not in range(6):
        raise SceneError(f"{who}: detail = {shown(detail)}; give 0 (8 sides) to 5 (256 sides).")
    return int(detail)


def _labelled(sc: SimplicialComplex) -> SimplicialComplex:
    label_surface(sc)
    return sc
