"""Which vertices of one mesh are near to triangles or edges of another."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dovetail.checked import checked
from dovetail.errors import GeometryError
from dovetail.geometry.check import finite_positions
from dovetail.geometry.collection import SimplexCollection
from dovetail.geometry.geometry import Geometry
from dovetail.geometry.simplicial_complex import SimplicialComplex
from dovetail.typing import Array, Indices

__all__ = ["closest_vertex_edge_pairs", "closest_vertex_triangle_pairs"]

_AT_ONCE = 1 << 20
"""Pairs whose distances are computed together, for memory."""


@checked(GeometryError)
def closest_vertex_triangle_pairs(
    vertex_mesh: SimplicialComplex,
    triangle_mesh: SimplicialComplex,
    max_distance: float,
    max_distance_attr: str = "",
    group: str = "",
) -> Geometry:
    """Each vertex with the triangle nearest to it, where that is no farther than `max_distance` [m].

    Instances of the result hold `topo` (Vector2i): vertex, triangle. A vertex attribute named by `max_distance_attr`
    (F64) replaces the distance; with `group` only elements count whose attribute of that name (I32) is 1. Instance
    transforms are not applied.
    """
    return _pairs(
        "closest_vertex_triangle_pairs",
        vertex_mesh,
        triangle_mesh,
        triangle_mesh.triangles,
        _to_triangles,
        max_distance,
        max_distance_attr,
        group,
    )


@checked(GeometryError)
def closest_vertex_edge_pairs(
    vertex_mesh: SimplicialComplex,
    edge_mesh: SimplicialComplex,
    max_distance: float,
    max_distance_attr: str = "",
    group: str = "",
) -> Geometry:
    """Each vertex with the edge nearest to it, as `closest_vertex_triangle_pairs` does."""
    return _pairs(
        "closest_vertex_edge_pairs",
        vertex_mesh,
        edge_mesh,
        edge_mesh.edges,
        _to_edges,
        max_distance,
        max_distance_attr,
        group,
    )


def _pairs(
    who: str,
    vertex_mesh: SimplicialComplex,
    other: SimplicialComplex,
    simplices: SimplexCollection,
    distances: Callable[[Array, Array], Array],
    max_distance: float,
    max_distance_attr: str,
    group: str,
) -> Geometry:
    reach = np.full(vertex_mesh.vertices.size(), float(max_distance))
    if max_distance_attr:
        reach[:] = vertex_mesh.vertices.slot(max_distance_attr).values
    if not (np.isfinite(reach).all() and (reach >= 0.0).all()):
        raise GeometryError(f"{who}: max_distance = {reach.min(initial=np.inf):g} [m]; give lengths >= 0.")
    vertices, elements = np.arange(len(reach)), np.arange(simplices.size())
    if group:
        vertices = np.flatnonzero(vertex_mesh.vertices.slot(group).values == 1)
        elements = np.flatnonzero(simplices.slot(group).values == 1)
    points = finite_positions(who, vertex_mesh)[vertices]
    corners = finite_positions(who, other)[simplices.topo.values[elements]]
    rows: list[Indices] = [np.zeros((0, 2), np.int32)]
    if len(elements):
        block = max(1, _AT_ONCE // len(elements))
        for first in range(0, len(vertices), block):
            part = slice(first, first + block)
            d = distances(points[part], corners)
            best = d.argmin(axis=1)
            near = d[np.arange(len(best)), best] <= reach[vertices[part]]
            rows.append(np.stack([vertices[part][near], elements[best[near]]], axis=1))
    topo = np.concatenate(rows).astype(np.int32)
    found = Geometry()
    found.instances.resize(len(topo))
    found.instances.create("topo", np.zeros(2, np.int32)).edit()[...] = topo
    return found


def _to_triangles(points: Array, corners: Array) -> Array:
    """Distances (n, m) of points (n, 3) to triangles (m, 3, 3)."""
    import trimesh

    count = len(points), len(corners)
    each = np.repeat(points, count[1], axis=0)
    nearest = trimesh.triangles.closest_point(np.tile(corners, (count[0], 1, 1)), each)
    distances: Array = np.linalg.norm(nearest - each, axis=1).reshape(count)
    return distances


def _to_edges(points: Array, corners: Array) -> Array:
    """Distances (n, m) of points (n, 3) to segments (m, 2, 3)."""
    start, along = corners[:, 0], corners[:, 1] - corners[:, 0]
    from_start = points[:, None] - start
    length2 = np.einsum("mk,mk->m", along, along)
    share = np.clip(np.einsum("nmk,mk->nm", from_start, along) / np.where(length2 > 0.0, length2, 1.0), 0.0, 1.0)
    distances: Array = np.linalg.norm(from_start - share[..., None] * along, axis=2)
    return distances
