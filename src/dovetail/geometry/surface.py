"""Surfaces: which elements lie on it, which side of a triangle is outside, and whether it is closed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dovetail.checked import checked
from dovetail.errors import GeometryError
from dovetail.geometry.attribute import AttributeSlot
from dovetail.geometry.collection import write_attribute
from dovetail.geometry.merge import merge, merge_instances
from dovetail.geometry.simplicial_complex import SimplicialComplex
from dovetail.geometry.subset import subset
from dovetail.geometry.topology import Rows, faces, group_simplices, locate_simplices

__all__ = [
    "extract_surface",
    "flip_inward_triangles",
    "is_trimesh_closed",
    "label_open_edge",
    "label_surface",
    "label_triangle_orient",
]


@checked(GeometryError)
def label_surface(sc: SimplicialComplex) -> None:
    """Write `is_surf` (I32) on vertices, edges, triangles and tetrahedra: 1 where contact can see them.

    Triangles of fewer than two tetrahedra are on the surface, and with them their edges, vertices and
    tetrahedra; so are edges of no triangle and the points of a point cloud. In a tetmesh, `parent_id` (I32)
    of a surface triangle is its tetrahedron, -1 elsewhere.
    """
    tets, triangles, edges = (level.topo.values for level in (sc.tetrahedra, sc.triangles, sc.edges))
    of_tets = locate_simplices(triangles, faces(tets, 3))
    if (of_tets < 0).any():
        raise GeometryError("label_surface: triangles of tetrahedra are missing; use facet_closure first.")
    uses = np.bincount(of_tets, minlength=len(triangles))
    if (uses > 2).any():
        worst = int(np.argmax(uses))
        raise GeometryError(
            f"label_surface: the triangle with vertices {triangles[worst].tolist()} belongs to {uses[worst]} "
            "tetrahedra; at most two can meet there."
        )
    surface_triangle = uses < 2
    owner = np.repeat(np.arange(len(tets)), 4)
    surface_tet = np.zeros(len(tets), bool)
    surface_tet[owner[surface_triangle[of_tets]]] = True
    surface_edge = _covering(edges, faces(triangles, 2), np.repeat(surface_triangle, 3))
    vertex_ids = np.arange(sc.vertices.size(), dtype=np.int32)[:, None]
    surface_vertex = _covering(vertex_ids, faces(edges, 1), np.repeat(surface_edge, 2))
    if sc.dim() > 0:  # files often hold points that no element uses; contact must not see them
        surface_vertex[np.bincount(edges.ravel(), minlength=len(vertex_ids)) == 0] = False
    for level, mask in (
        (sc.vertices, surface_vertex),
        (sc.edges, surface_edge),
        (sc.triangles, surface_triangle),
        (sc.tetrahedra, surface_tet),
    ):
        write_attribute(level, "is_surf", 0, mask)
    if len(tets):
        parent = np.full(len(triangles), -1, np.int32)
        parent[of_tets] = owner
        parent[uses != 1] = -1
        write_attribute(sc.triangles, "parent_id", -1, parent)


def _covering(simplices: Rows, higher: Rows, surface: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Simplices that are a face of a surface element, or of none at all."""
    place = locate_simplices(simplices, higher)
    if (place < 0).any():
        raise GeometryError("label_surface: faces of the elements are missing; use facet_closure first.")
    covered = np.bincount(place, minlength=len(simplices))
    by_surface = np.bincount(place[surface], minlength=len(simplices))
    on_surface: NDArray[np.bool_] = (covered == 0) | (by_surface > 0)
    return on_surface


@checked(GeometryError)
def label_triangle_orient(sc: SimplicialComplex) -> AttributeSlot:
    """Write `orient` (I32) on the triangles of a tetmesh, by the normal (x₁−x₀)×(x₂−x₀) of each.

    It is 1 where a surface triangle faces out of the solid, -1 where it faces in, 0 inside the solid.
    """
    if sc.dim() != 3:
        raise GeometryError(f"label_triangle_orient: a mesh of dimension {sc.dim()}; a tetmesh is needed.")
    return write_attribute(sc.triangles, "orient", 0, _orientation(sc, "label_triangle_orient"))


def _orientation(sc: SimplicialComplex, who: str) -> NDArray[np.int32]:
    parent_slot = sc.triangles.find("parent_id")
    if parent_slot is None:
        raise GeometryError(f"{who}: the surface is not labelled; call label_surface first.")
    parent = parent_slot.values
    on_surface = np.flatnonzero(parent >= 0)
    positions, triangles = sc.positions.values, sc.triangles.topo.values[on_surface]
    tets = sc.tetrahedra.topo.values[parent[on_surface]]
    opposite = (tets.sum(axis=1) - triangles.sum(axis=1)).astype(np.int32)
    a, b, c, d = (positions[i] for i in (*triangles.T, opposite))
    volume = np.einsum("ei,ei->e", np.cross(b - a, c - a), d - a)
    flat = np.flatnonzero(volume == 0.0)
    if len(flat):
        raise GeometryError(
            f"{who}: tetrahedron {parent[on_surface][flat[0]]}, vertices {tets[flat[0]].tolist()}, is flat "
            "and has no outside; remove it or move a vertex."
        )
    orient = np.zeros(len(parent), np.int32)
    orient[on_surface] = -np.sign(volume)
    return orient


@checked(GeometryError)
def flip_inward_triangles(sc: SimplicialComplex) -> SimplicialComplex:
    """A copy in which triangles with `orient` = -1 run the other way round and have `orient` = 1."""
    if sc.triangles.find("is_surf") is None or sc.triangles.find("orient") is None:
        raise GeometryError(
            "flip_inward_triangles: the triangles have no 'is_surf' and 'orient'; call label_surface and "
            "label_triangle_orient first."
        )
    flipped = sc.copy()
    inward = flipped.triangles.slot("orient").values < 0
    _reverse(flipped, inward)
    flipped.triangles.slot("orient").edit()[inward] = 1
    return flipped


def _reverse(sc: SimplicialComplex, chosen: NDArray[np.bool_]) -> None:
    topo = sc.triangles.topo.edit()
    topo[chosen] = topo[chosen][:, [0, 2, 1]]


@checked(GeometryError)
def extract_surface(sc: SimplicialComplex | Sequence[SimplicialComplex]) -> SimplicialComplex:
    """The surface as a mesh of its own, triangles facing outward; attributes of its elements are kept.

    Of one complex the instances are kept. Several give one mesh of all instances, transforms applied.
    """
    if not isinstance(sc, SimplicialComplex):
        return merge([merge_instances(extract_surface(part)) for part in sc])
    labelled = sc
    if sc.triangles.find("is_surf") is None:
        labelled = sc.copy()
        label_surface(labelled)
    if labelled.dim() == 3:
        labelled = labelled.copy() if labelled is sc else labelled
        orient = _orientation(labelled, "extract_surface")
        _reverse(labelled, orient < 0)
        if labelled.triangles.find("orient") is not None:
            labelled.triangles["orient"] = np.abs(orient)
    vertices, edges, triangles = (
        level.slot("is_surf").values != 0 for level in (labelled.vertices, labelled.edges, labelled.triangles)
    )
    surface = subset(labelled, vertices, edges, triangles, np.zeros(labelled.tetrahedra.size(), bool))
    surface.triangles.destroy("parent_id")
    return surface


@checked(GeometryError)
def is_trimesh_closed(sc: SimplicialComplex) -> bool:
    """Whether each edge of a trimesh belongs to an even number of triangles."""
    if sc.dim() != 2:
        raise GeometryError(f"is_trimesh_closed: a mesh of dimension {sc.dim()}; a trimesh is needed.")
    _, _, counts = group_simplices(faces(sc.triangles.topo.values, 2))
    return bool((counts % 2 == 0).all())


@checked(GeometryError)
def label_open_edge(sc: SimplicialComplex) -> AttributeSlot:
    """Write `is_open` (I32) on the edges of a trimesh: 1 where only one triangle ends."""
    if sc.dim() != 2:
        raise GeometryError(f"label_open_edge: a mesh of dimension {sc.dim()}; a trimesh is needed.")
    place = locate_simplices(sc.edges.topo.values, faces(sc.triangles.topo.values, 2))
    if (place < 0).any():
        raise GeometryError("label_open_edge: some edges of triangles are missing; use facet_closure first.")
    return write_attribute(sc.edges, "is_open", 0, np.bincount(place, minlength=sc.edges.size()) == 1)
