"""Making geometries from arrays: tetrahedra, triangles, lines, points, half-planes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dovetail.checked import LARGEST, checked
from dovetail.errors import GeometryError
from dovetail.geometry.check import checked_positions, checked_simplices, finite_vector3
from dovetail.geometry.closure import close_faces
from dovetail.geometry.implicit_geometry import ImplicitGeometry
from dovetail.geometry.simplicial_complex import SimplicialComplex

__all__ = ["complex_of", "ground", "halfplane", "linemesh", "pointcloud", "tetmesh", "trimesh"]


def tetmesh(Vs: ArrayLike, Ts: ArrayLike) -> SimplicialComplex:
    """Tetrahedra Ts (m, 4) of positions Vs (n, 3) [m], with all their triangles and edges.

    det(x₁−x₀, x₂−x₀, x₃−x₀) > 0 is a positive volume.
    """
    positions = checked_positions("tetmesh", Vs)
    return complex_of(positions, tets=checked_simplices("tetmesh", "tetrahedron", Ts, (4,), len(positions)))


def trimesh(Vs: ArrayLike, Fs: ArrayLike) -> SimplicialComplex:
    """Triangles Fs (m, 3) or quadrilaterals (m, 4) of positions Vs (n, 3) [m], with all their edges.

    Vertices run counter-clockwise seen from outside. A quadrilateral abcd becomes the triangles abc and acd.
    """
    positions = checked_positions("trimesh", Vs)
    triangles = checked_simplices("trimesh", "triangle", Fs, (3, 4), len(positions))
    if triangles.shape[1] == 4:
        triangles = triangles[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3)
    return complex_of(positions, triangles=triangles)


def linemesh(Vs: ArrayLike, Es: ArrayLike) -> SimplicialComplex:
    """Line segments Es (m, 2) of positions Vs (n, 3) [m]."""
    positions = checked_positions("linemesh", Vs)
    return complex_of(positions, edges=checked_simplices("linemesh", "edge", Es, (2,), len(positions)))


def pointcloud(Vs: ArrayLike) -> SimplicialComplex:
    """Points at Vs (n, 3) [m]."""
    return complex_of(checked_positions("pointcloud", Vs))


def complex_of(
    positions: NDArray[np.float64],
    edges: NDArray[np.int32] | None = None,
    triangles: NDArray[np.int32] | None = None,
    tets: NDArray[np.int32] | None = None,
) -> SimplicialComplex:
    """A complex of checked arrays with one instance at the origin; faces that are missing are added."""
    sc = SimplicialComplex()
    sc.instances.create("transform", np.eye(4), allow_destroy=False)
    sc.vertices.resize(len(positions))
    sc.vertices.create("position", np.zeros(3), allow_destroy=False).edit()[...] = positions
    for level, topo in ((sc.edges, edges), (sc.triangles, triangles), (sc.tetrahedra, tets)):
        if topo is not None:
            level.resize(len(topo))
            level.topo.edit()[...] = topo
    close_faces(sc)
    return sc


@checked(GeometryError)
def ground(height: float = 0.0, N: ArrayLike = (0.0, 1.0, 0.0)) -> ImplicitGeometry:
    """The half-space below a plane with normal N at `height` [m] along it."""
    normal = _normal("ground", N)
    level = float(height)
    if not abs(level) <= LARGEST:
        raise GeometryError(f"ground: height = {level} [m]; give a finite number.")
    return _half_plane(level * normal, normal)


def halfplane(P: ArrayLike = (0.0, 0.0, 0.0), N: ArrayLike = (0.0, 1.0, 0.0)) -> ImplicitGeometry:
    """The half-space behind the plane through P [m] with normal N, which is stored as given."""
    return _half_plane(finite_vector3("halfplane", "P", P), _normal("halfplane", N))


def _normal(who: str, N: ArrayLike) -> NDArray[np.float64]:
    normal = finite_vector3(who, "N", N)
    if not normal.any():
        raise GeometryError(f"{who}: N = {normal.tolist()} has no direction; give a unit normal.")
    return normal


def _half_plane(point: NDArray[np.float64], normal: NDArray[np.float64]) -> ImplicitGeometry:
    plane = ImplicitGeometry()
    plane.meta.create("implicit_geometry_uid", np.uint64(1))
    plane.instances.create("P", np.zeros(3)).assign(point)
    plane.instances.create("N", np.array([0.0, 1.0, 0.0])).assign(normal)
    plane.instances.create("is_fixed", 1)
    return plane
