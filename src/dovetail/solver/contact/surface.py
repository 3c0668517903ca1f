"""What of a mesh can touch first, and a hierarchy over it in the rest space of the body.

Affine maps keep planes flat, so which features can touch first is decided once, on the rest shape:

- Two surfaces that come into contact do so at a vertex of one and a face of the other, or at two edges. Seen from
  outside, a straight edge cannot touch a concave or flat edge in their interiors without something else touching as
  well. So edges need only convex (or open, or non-manifold) edges, and vertices only those where such edges meet.
- A vertex and a convex patch of triangles have one closest point. Each (vertex, patch) is one contact, at the nearest
  triangle: the minimum over a fixed set is continuous, and over a convex patch it is smooth.

Elements (triangles; single edges of rods; single points, the cores of balls) carry the hierarchy. Each edge and
vertex belongs to one element, so that a pair of elements stands for the pairs of features they own, and every pair is
met once.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from dovetail.typing import Array, Indices

__all__ = ["Shape", "make_shape", "morton_order"]

# Sine of the dihedral angle below which an edge is flat: round-off of float64 coordinates and cross products.
_FLAT = 1e-6
# Triangles in a patch at most: keeps the convexity test from growing with the square of a large convex mesh.
_PATCH = 256


@dataclass(frozen=True)
class Shape:
    """A surface mesh prepared for contact; indices are local to the shape.

    vertices (v, 3)             rest positions [m]
    triangles (t, 3), patch (t,)
    edges (e, 2)                edges that can touch
    element_points (n, 3)       corners of each element (the last repeated for an edge, all the same for a point)
    element_triangle (n,)       its triangle, −1 for an edge or a point
    element_vertices (n, 3), element_edges (n, 3)     what it owns, −1 for nothing
    low, high (2m − 1, 3)       boxes of a complete binary tree over the elements, root first; the last m are leaves
    """

    vertices: Array
    triangles: Indices
    patch: Indices
    edges: Indices
    element_points: Indices
    element_triangle: Indices
    element_vertices: Indices
    element_edges: Indices
    low: Array
    high: Array


def make_shape(vertices: Array, triangles: Indices, edges: Indices, closed: bool) -> Shape:
    """Prepare a mesh: `edges` are single edges (rods); `closed` says that triangles have an outside.

    Where there are neither triangles nor edges, every vertex is a point that can touch.
    """
    triangles = np.asarray(triangles, np.int64).reshape(-1, 3)
    rods = np.asarray(edges, np.int64).reshape(-1, 2)
    normals = _normals(vertices, triangles)
    sides = _Sides(triangles)
    bend = _bend(vertices, triangles, normals, sides)
    touching = bend > 0.0 if closed else bend != 0.0
    kept = np.concatenate([sides.edges[touching], rods])
    patch = _patches(vertices, triangles, normals, sides, bend, closed)
    points = np.arange(0 if len(triangles) or len(rods) else len(vertices))
    elements = _Elements(len(vertices), triangles, rods, points, kept)
    order = morton_order(vertices[elements.points].mean(axis=1))
    low, high = _tree(vertices[elements.points[order]])
    return Shape(
        np.ascontiguousarray(vertices, float),
        triangles,
        patch,
        kept,
        elements.points[order],
        elements.triangle[order],
        elements.vertices[order],
        elements.edges[order],
        low,
        high,
    )


def _normals(vertices: Array, triangles: Indices) -> Array:
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    unit: Array = normal / np.where(length > 0.0, length, 1.0)  # a triangle without area has none
    return unit


class _Sides:
    """The undirected edges of the triangles, and which triangles lie at each."""

    def __init__(self, triangles: Indices) -> None:
        directed = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
        owner = np.repeat(np.arange(len(triangles)), 3)
        ends = np.sort(directed, axis=1)
        self.edges, self.of_side = np.unique(ends, axis=0, return_inverse=True)
        self.of_side = self.of_side.reshape(-1)
        order = np.argsort(self.of_side, kind="stable")
        self.triangles = owner[order]
        self.start = np.searchsorted(self.of_side[order], np.arange(len(self.edges) + 1))

    def at(self, edge: int) -> Indices:
        """Triangles at an edge."""
        return self.triangles[self.start[edge] : self.start[edge + 1]]


def _bend(vertices: Array, triangles: Indices, normals: Array, sides: _Sides) -> Array:
    """Sine of the dihedral angle at each edge: > 0 convex, < 0 concave, 0 flat; 1 where not two triangles meet."""
    bend = np.ones(len(sides.edges))
    pairs = np.flatnonzero(np.diff(sides.start) == 2)
    first, second = sides.triangles[sides.start[pairs]], sides.triangles[sides.start[pairs] + 1]
    sine = np.linalg.norm(np.cross(normals[first], normals[second]), axis=1)
    folded = np.einsum("ni,ni->n", normals[first], normals[second]) < 0.0
    sine[folded] = np.maximum(sine[folded], 2.0 * _FLAT)  # a fold by 180° is anything but flat
    # the corner of the second triangle that is off the edge lies below the first one's plane where the edge is convex
    ends = sides.edges[pairs]
    corners = triangles[second]
    apex = corners[(corners != ends[:, :1]) & (corners != ends[:, 1:])].reshape(-1)
    above = np.einsum("ni,ni->n", vertices[apex] - vertices[ends[:, 0]], normals[first])
    bend[pairs] = np.where(sine < _FLAT, 0.0, np.where(above < 0.0, sine, -sine))
    return bend


def _patches(vertices: Array, triangles: Indices, normals: Array, sides: _Sides, bend: Array, closed: bool) -> Indices:
    """Groups of triangles, each connected and convex seen from outside (flat where there is no outside)."""
    patch = np.full(len(triangles), -1)
    sides_of = sides.of_side.reshape(-1, 3)
    offset = np.einsum("ni,ni->n", normals, vertices[triangles[:, 0]]) if len(triangles) else np.zeros(0)
    size = np.ptp(vertices, axis=0).max() if len(vertices) else 0.0
    tolerance = _FLAT * size
    corners = vertices[triangles]
    count = 0
    for seed in range(len(triangles)):
        if patch[seed] >= 0:
            continue
        patch[seed] = count
        members = [seed]
        queue = deque([seed])
        while queue and len(members) < _PATCH:
            t = queue.popleft()
            for side in sides_of[t]:
                if bend[side] < 0.0 or (not closed and bend[side] != 0.0):
                    continue
                for neighbour in sides.at(side).tolist():
                    if patch[neighbour] >= 0 or len(members) >= _PATCH:
                        continue
                    inside = np.array(members)
                    over = corners[neighbour] @ normals[inside].T - offset[inside]
                    under = corners[inside].reshape(-1, 3) @ normals[neighbour] - offset[neighbour]
                    if over.max() <= tolerance and under.max() <= tolerance:
                        patch[neighbour] = count
                        members.append(neighbour)
                        queue.append(neighbour)
        count += 1
    return patch


class _Elements:
    """Triangles, single edges and single points, each with the features it owns."""

    def __init__(
        self, vertex_count: int, triangles: Indices, rods: Indices, points: Indices, touching: Indices
    ) -> None:
        lines = np.column_stack([rods, rods[:, 1]])
        self.points = np.concatenate([triangles, lines, np.column_stack([points] * 3)])
        self.triangle = np.concatenate([np.arange(len(triangles)), np.full(len(rods) + len(points), -1)])
        self.vertices = np.full((len(self.points), 3), -1)
        self.edges = np.full((len(self.points), 3), -1)
        edge_of = {tuple(ends): k for k, ends in enumerate(np.sort(touching, axis=1).tolist())}
        relevant = np.zeros(vertex_count, bool)
        relevant[touching.reshape(-1)] = relevant[points] = True
        for element, corners in enumerate(self.points.tolist()):
            ends = [corners[:2]] if self.triangle[element] < 0 else [corners[:2], corners[1:], corners[::2]]
            for slot, pair in enumerate(ends):
                found = edge_of.pop((min(pair), max(pair)), None)
                if found is not None:
                    self.edges[element, slot] = found
            for slot, vertex in enumerate(dict.fromkeys(corners)):
                if relevant[vertex]:
                    self.vertices[element, slot] = vertex
                    relevant[vertex] = False


def morton_order(points: Array) -> Indices:
    """Order along a space-filling curve, so that neighbours in the order are near each other."""
    low = points.min(axis=0)
    size = max(float(np.ptp(points, axis=0).max()), 1e-300)
    cell = np.minimum((1023.0 * (points - low) / size).astype(np.int64), 1023)
    code = np.zeros(len(points), np.int64)
    for bit in range(10):
        for axis in range(3):
            code |= ((cell[:, axis] >> bit) & 1) << (3 * bit + axis)
    return np.argsort(code, kind="stable")


def _tree(points: Array) -> tuple[Array, Array]:
    """Boxes of a complete binary tree over elements with corners `points` (n, k, 3); missing leaves are empty."""
    leaves = 1
    while leaves < len(points):
        leaves *= 2
    low, high = np.full((2 * leaves - 1, 3), np.inf), np.full((2 * leaves - 1, 3), -np.inf)
    first = leaves - 1
    low[first : first + len(points)] = points.min(axis=1)
    high[first : first + len(points)] = points.max(axis=1)
    while first > 0:
        parents = np.arange((first - 1) // 2, first)
        low[parents] = np.minimum(low[2 * parents + 1], low[2 * parents + 2])
        high[parents] = np.maximum(high[2 * parents + 1], high[2 * parents + 2])
        first = (first - 1) // 2
    return low, high
