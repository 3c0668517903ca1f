"""The meshes of bodies: primitives by their sizes, files, and meshes of other libraries."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from dovetail.errors import SceneError
from dovetail.geometry import SimplicialComplex, SimplicialComplexIO, label_surface
from dovetail.geometry import trimesh as triangle_mesh
from dovetail.sim.given import positive, vector
from dovetail.typing import ArrayLike

__all__ = ["box", "capsule", "cylinder", "mesh", "sphere"]

_CORNERS = np.indices((2, 2, 2)).reshape(3, 8).T - 0.5
_SIDES = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]


def box(who: str, size: ArrayLike) -> SimplicialComplex:
    """A box with these edge lengths [m], or a cube with one; its centre is the origin."""
    lengths = np.broadcast_to(size, 3) if np.ndim(size) == 0 else size
    edges = vector(who, "size", np.asarray(lengths), "m")
    if not (edges > 0).all():
        raise SceneError(f"{who}: size = {edges.tolist()} [m]; give lengths > 0.")
    return _labelled(triangle_mesh(_CORNERS * edges, _SIDES))


def sphere(who: str, radius: float, detail: int = 2) -> SimplicialComplex:
    """A polyhedron with corners on a sphere: an icosahedron whose triangles are divided `detail` times."""
    from trimesh.creation import icosphere

    if detail not in range(6):
        raise SceneError(f"{who}: detail = {detail!r}; give 0 (20 triangles) to 5 (20,480 triangles).")
    return _from_trimesh(icosphere(subdivisions=detail, radius=positive(who, "radius", radius, "m")))


def capsule(who: str, radius: float, length: float, detail: int = 2) -> SimplicialComplex:
    """A cylinder of this length [m] along z between two half-spheres; its centre is the origin."""
    from trimesh.creation import capsule as make

    sections = 8 * 2 ** _detail(who, detail) // 2
    found = make(positive(who, "length", length, "m"), positive(who, "radius", radius, "m"), (sections, sections))
    found.apply_translation(-found.bounds.mean(axis=0))
    return _from_trimesh(found)


def cylinder(who: str, radius: float, length: float, detail: int = 2) -> SimplicialComplex:
    """A prism of this length [m] along z with 8·2^detail sides and corners on the cylinder; its centre is at 0."""
    from trimesh.creation import cylinder as make

    sides = 8 * 2 ** _detail(who, detail)
    return _from_trimesh(make(positive(who, "radius", radius, "m"), positive(who, "length", length, "m"), sides))


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
    factors = vector(who, "scale", np.broadcast_to(scale, 3) if np.ndim(scale) == 0 else scale)
    if not (factors > 0).all():
        raise SceneError(f"{who}: scale = {scale!r}; give numbers > 0.")
    if (factors != 1.0).any():
        found.positions.edit()[...] *= factors
    return _labelled(found)


def _detail(who: str, detail: int) -> int:
    if detail not in range(6):
        raise SceneError(f"{who}: detail = {detail!r}; give 0 (8 sides) to 5 (256 sides).")
    return detail


def _from_trimesh(found: Any) -> SimplicialComplex:
    return _labelled(triangle_mesh(np.asarray(found.vertices, float), np.asarray(found.faces)))


def _labelled(sc: SimplicialComplex) -> SimplicialComplex:
    label_surface(sc)
    return sc
