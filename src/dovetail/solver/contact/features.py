"""Features that near elements own: points and triangles, two edges, points and single edges, two single points."""

from __future__ import annotations

import math

import numpy as np

from dovetail.solver.contact.barrier import MOLLIFIER
from dovetail.solver.contact.kinds import EDGE_EDGE, KIND, PAIR, PATCH, POINT_EDGE, POINT_TRIANGLE, X0, A, B
from dovetail.solver.contact.known import squared_distance
from dovetail.solver.contact.near import boxes_apart
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.kernel import kernel
from dovetail.solver.record import Record, f8, i8
from dovetail.typing import Array, Indices

__all__ = ["Found", "near_features"]


@kernel
def _edge_box(X: Array, x0: int, x1: int, box: Array, i: int) -> None:
    for x in range(3):
        box[i, 0, x] = min(X[x0, x], X[x1, x])
        box[i, 1, x] = max(X[x0, x], X[x1, x])


class Found(Record):
    """Features that near elements own: `rows` (k, 9) as columns of kinds.py, and measures of them.

    measured (k, 2) are the width of the mollifier for edges, the patch for points; and the distance.
    """

    rows: Indices = i8(2)
    measured: Array = f8(2)


@kernel
def _add(
    kind: int, a: int, b: int, x: tuple[int, int, int, int], pair: int, patch: int, width: float,
    reach: tuple[float, float], scene: ContactScene, X: Array, count: int, out: Found,
) -> int:  # fmt: skip
    """Add a candidate if it is within reach; the number of candidates after that. reach: now, and at rest."""
    squared = squared_distance(kind, X, x[0], x[1], x[2], x[3])
    if squared > reach[0] * reach[0]:
        return count
    if a == b:
        # a body does not touch itself where its rest shape is that near already
        base = scene.x_base[a]
        rest = squared_distance(kind, scene.V, x[0] - base, x[1] - base, x[2] - base, x[3] - base)
        if rest <= reach[1] * reach[1]:
            return count
    rows = out.rows
    if count < len(rows):
        row = rows[count]
        row[KIND], row[A], row[B], row[PAIR], row[PATCH] = kind, a, b, pair, patch
        row[X0], row[X0 + 1], row[X0 + 2], row[X0 + 3] = x
        out.measured[count, 0] = width
        out.measured[count, 1] = math.sqrt(squared)
    return count + 1


@kernel
def near_features(
    scene: ContactScene, found: Indices, box: Array, pairs: Indices, reach: Array, rest_reach: Array, X: Array,
    out: Found,
) -> int:  # fmt: skip
    """Candidates that near elements own and that are within reach; how many.

    found and box are those of near_elements. With less room than there are candidates, the first ones are filled in.
    """
    own = np.empty((3, 2, 3))  # boxes: a feature of the first element, the second element, a feature of the second
    triangles, edges, x_base = scene.triangles, scene.edges, scene.x_base
    element_vertices, element_edges = scene.element_vertices, scene.element_edges
    shape_of, box_start, leaves, element_start = scene.shape_of, scene.box_start, scene.leaves, scene.element_start
    element_triangle, patches, edge_length = scene.element_triangle, scene.patch, scene.edge_length
    count = 0
    for k in range(len(found)):
        pair = found[k, 0]
        if pairs[pair, 0] == pairs[pair, 1] and found[k, 1] >= found[k, 2]:
            continue
        far = (reach[pair], rest_reach[pair])
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
                if boxes_apart(own, 0, 1, far[0]):
                    continue
                if t >= 0:
                    kind, patch, width = POINT_TRIANGLE, patches[t], float(patches[t])
                    at = (x0, triangles[t, 0] + base_b, triangles[t, 1] + base_b, triangles[t, 2] + base_b)
                else:
                    kind, patch, width = POINT_EDGE, 0, 0.0
                    e = element_edges[other, 0]
                    if e >= 0:
                        at = (x0, edges[e, 0] + base_b, edges[e, 1] + base_b, edges[e, 1] + base_b)
                    elif swap == 0 and element_triangle[mine] < 0 and element_edges[mine, 0] < 0:
                        # two points: an edge without length. Anything else meets a point as the point meets it
                        x1 = element_vertices[other, 0] + base_b
                        at = (x0, x1, x1, x1)
                    else:
                        continue
                count = _add(kind, a, b, at, pair, patch, width, far, scene, X, count, out)
            if swap == 1:
                continue
            for i in range(3):
                e = element_edges[mine, i]
                if e < 0:
                    continue
                x0, x1 = edges[e, 0] + base_a, edges[e, 1] + base_a
                _edge_box(X, x0, x1, own, 0)
                if boxes_apart(own, 0, 1, far[0]):
                    continue
                for j in range(3):
                    f = element_edges[other, j]
                    if f < 0:
                        continue
                    at = (x0, x1, edges[f, 0] + base_b, edges[f, 1] + base_b)
                    _edge_box(X, at[2], at[3], own, 2)
                    if boxes_apart(own, 0, 2, far[0]):
                        continue
                    width = MOLLIFIER * (edge_length[e] * edge_length[f]) ** 2
                    count = _add(EDGE_EDGE, a, b, at, pair, 0, width, far, scene, X, count, out)
    return count
