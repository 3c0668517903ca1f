"""Features that near elements own: points and triangles, two edges, points and single edges."""

from __future__ import annotations

import math

import numpy as np

from dovetail.solver.contact.barrier import MOLLIFIER
from dovetail.solver.contact.kinds import EDGE_EDGE, POINT_EDGE, POINT_TRIANGLE
from dovetail.solver.contact.known import squared_distance
from dovetail.solver.contact.near import boxes_apart
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["near_features"]


@kernel
def _edge_box(X: Array, x0: int, x1: int, box: Array, i: int) -> None:
    for x in range(3):
        box[i, 0, x] = min(X[x0, x], X[x1, x])
        box[i, 1, x] = max(X[x0, x], X[x1, x])


@kernel
def _add(
    kind: int, a: int, b: int, x0: int, x1: int, x2: int, x3: int, pair: int, patch: int, width: float, reach: float,
    rest_reach: float, x_base: Indices, V: Array, X: Array, count: int, out: Indices, measured: Array,
) -> int:  # fmt: skip
    """Add a candidate if it is within reach; the number of candidates after that."""
    squared = squared_distance(kind, X, x0, x1, x2, x3)
    if squared > reach * reach:
        return count
    if a == b:
        # a body does not touch itself where its rest shape is that near already
        base = x_base[a]
        if squared_distance(kind, V, x0 - base, x1 - base, x2 - base, x3 - base) <= rest_reach * rest_reach:
            return count
    if count < len(out):
        out[count, 0] = kind
        out[count, 1] = a
        out[count, 2] = b
        out[count, 3] = x0
        out[count, 4] = x1
        out[count, 5] = x2
        out[count, 6] = x3
        out[count, 7] = pair
        out[count, 8] = patch
        measured[count, 0] = width
        measured[count, 1] = math.sqrt(squared)
    return count + 1


@kernel
def near_features(
    found: Indices, box: Array, pairs: Indices, reach: Array, rest_reach: Array, triangles: Indices, patch: Indices,
    edges: Indices, edge_length: Array, shape_of: Indices, leaves: Indices, element_start: Indices, box_start: Indices,
    element_triangle: Indices, element_vertices: Indices, element_edges: Indices, x_base: Indices, V: Array, X: Array,
    out: Indices, measured: Array,
) -> int:  # fmt: skip
    """Candidates (kind, a, b, x0 … x3, pair, patch) that near elements own and that are within reach; how many.

    found and box are those of near_elements. measured (k, 2) ← width of the mollifier for edges, the patch for points;
    and the distance. With less room than there are candidates, the first ones are filled in.
    """
    own = np.empty((3, 2, 3))  # boxes: a feature of the first element, the second element, a feature of the second
    count = 0
    for k in range(len(found)):
        pair = found[k, 0]
        if pairs[pair, 0] == pairs[pair, 1] and found[k, 1] >= found[k, 2]:
            continue
        far, rest = reach[pair], rest_reach[pair]
        for swap in range(2):
            mine, other = found[k, 1 + swap], found[k, 2 - swap]
            a, b = pairs[pair, swap], pairs[pair, 1 - swap]
            s = shape_of[b]
            leaf = box_start[b] + leaves[s] - 1 + other - element_start[s]
            for i in range(2):
                for x in range(3):
                    own[1, i, x] = box[leaf, i, x]
            t = element_triangle[other]
            base_a, base_b = x_base[a], x_base[b]
            for slot in range(3):
                if element_vertices[mine, slot] < 0:
                    continue
                x0 = element_vertices[mine, slot] + base_a
                _edge_box(X, x0, x0, own, 0)
                if boxes_apart(own, 0, 1, far):
                    continue
                if t >= 0:
                    count = _add(
                        POINT_TRIANGLE, a, b, x0, triangles[t, 0] + base_b, triangles[t, 1] + base_b,
                        triangles[t, 2] + base_b, pair, patch[t], float(patch[t]), far, rest, x_base, V, X, count, out,
                        measured,
                    )  # fmt: skip
                else:
                    e = element_edges[other, 0]
                    x1, x2 = edges[e, 0] + base_b, edges[e, 1] + base_b
                    count = _add(
                        POINT_EDGE, a, b, x0, x1, x2, x2, pair, 0, 0.0, far, rest, x_base, V, X, count, out, measured
                    )
            if swap == 1:
                continue
            for i in range(3):
                e = element_edges[mine, i]
                if e < 0:
                    continue
                x0, x1 = edges[e, 0] + base_a, edges[e, 1] + base_a
                _edge_box(X, x0, x1, own, 0)
                if boxes_apart(own, 0, 1, far):
                    continue
                for j in range(3):
                    f = element_edges[other, j]
                    if f < 0:
                        continue
                    x2, x3 = edges[f, 0] + base_b, edges[f, 1] + base_b
                    _edge_box(X, x2, x3, own, 2)
                    if boxes_apart(own, 0, 2, far):
                        continue
                    width = MOLLIFIER * (edge_length[e] * edge_length[f]) ** 2
                    count = _add(
                        EDGE_EDGE, a, b, x0, x1, x2, x3, pair, 0, width, far, rest, x_base, V, X, count, out, measured
                    )
    return count
