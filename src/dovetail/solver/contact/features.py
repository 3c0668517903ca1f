"""Features that near elements own: points and triangles, two edges, points and single edges, two single points."""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernel.kernel import kernel, mapped
from dovetail.kernel.record import Record, f8, i8, integer
from dovetail.kernel.threads import Span
from dovetail.solver.contact.barrier import MOLLIFIER
from dovetail.solver.contact.candidates import Candidates
from dovetail.solver.contact.kinds import (
    D_HAT,
    EDGE_EDGE,
    KAPPA,
    KIND,
    MU,
    PAIR,
    POINT_EDGE,
    POINT_TRIANGLE,
    SHAPE,
    THICKNESS,
    X0,
    A,
    B,
    corners_of,
    split_of,
)
from dovetail.solver.contact.known import squared_distance
from dovetail.solver.contact.near import boxes_apart
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.natural import natural
from dovetail.typing import Array, Indices

__all__ = ["Found", "Look", "near_features", "put_in_order"]


@kernel
def _edge_box(X: Array, x0: int, x1: int, box: Array, i: int) -> None:
    for x in range(3):
        box[i, 0, x] = min(X[x0, x], X[x1, x])
        box[i, 1, x] = max(X[x0, x], X[x1, x])


class Look(Record):
    """Body pairs that candidates are looked for in.

    pairs (k, 2), number (k,)    bodies of each, and its number among all that are near each other
    reach, rest_reach (k,)       distances of features that count; those of one body with itself must be farther at rest
    thickness, d_hat, soft (k,)  ξ and d̂, and a factor on κ
    path (k,)                    see known.py
    """

    pairs: Indices = i8(2)
    number: Indices = i8(1)
    reach: Array = f8(1)
    rest_reach: Array = f8(1)
    thickness: Array = f8(1)
    d_hat: Array = f8(1)
    soft: Array = f8(1)
    path: Array = f8(1)


class Found(Record):
    """Room for what chunks find, each in `share` rows of its own.

    rows (k, 8) are as those of candidates with the place of the pair among those looked at, measured (k, 2) are the
    width of the mollifier for edges, the patch for points; and the distance.
    """

    rows: Indices = i8(2)
    measured: Array = f8(2)
    share: int = integer()

    def __init__(self, room: int) -> None:
        super().__init__(rows=np.empty((room, 8), np.int64), measured=np.empty((room, 2)), share=room)


@kernel
def _material(scene: ContactScene, x: int, body: int) -> int:
    own = scene.vertex_material[x - scene.x_base[body]]
    return own if own >= 0 else scene.material[body]


@kernel
def _model(scene: ContactScene, kind: int, a: int, b: int, x: tuple[int, int, int, int]) -> tuple[float, float, bool]:
    """κ, μ averaged over the vertex pairs of a candidate, and whether all of these may touch.

    An adaptive κ (< 0) of any pair makes the contact adaptive.
    """
    if not scene.has_vertex_materials:
        m, n = scene.material[a], scene.material[b]
        return scene.kappa[m, n], scene.mu[m, n], scene.enabled[m, n] != 0
    kappa = mu = count = 0.0
    adaptive, enabled = False, True
    split = split_of(kind)
    for i in range(split):
        for j in range(split, corners_of(kind)):
            m, n = _material(scene, x[i], a), _material(scene, x[j], b)
            kappa += scene.kappa[m, n]
            mu += scene.mu[m, n]
            count += 1.0
            adaptive = adaptive or scene.kappa[m, n] < 0.0
            enabled = enabled and scene.enabled[m, n] != 0
    return -1.0 if adaptive else kappa / count, mu / count, enabled


@kernel
def _add(
    kind: int, a: int, b: int, x: tuple[int, int, int, int], pair: int, shape: float, reach: tuple[float, float],
    scene: ContactScene, X: Array, count: int, rows: Indices, measured: Array,
) -> int:  # fmt: skip
    """Add a candidate if it is within reach and may touch; how many there are after that. reach: now, and at rest."""
    squared = squared_distance(kind, X, x[0], x[1], x[2], x[3])
    if squared > reach[0] * reach[0]:
        return count
    if a == b:
        # a body does not touch itself where its rest shape is that near already
        base = scene.x_base[a]
        rest = squared_distance(kind, scene.V, x[0] - base, x[1] - base, x[2] - base, x[3] - base)
        if rest <= reach[1] * reach[1]:
            return count
    if scene.has_vertex_materials and not _model(scene, kind, a, b, x)[2]:
        return count
    if count < len(rows):
        rows[count, KIND], rows[count, A], rows[count, B], rows[count, PAIR] = kind, a, b, pair
        rows[count, X0], rows[count, X0 + 1], rows[count, X0 + 2], rows[count, X0 + 3] = x
        measured[count, 0] = shape
        measured[count, 1] = math.sqrt(squared)
    return count + 1


@kernel
def _next_pair(found: Indices, k: int) -> int:
    """The first row from k on that begins a pair."""
    while 0 < k < len(found) and found[k, 0] == found[k - 1, 0]:
        k += 1
    return k


@mapped
def near_features(scene: ContactScene, found: Indices, box: Array, look: Look, X: Array, out: Found, span: Span) -> int:
    """Candidates that near elements own and that are within reach, of the pairs that begin in a chunk; how many.

    found and box are those of near_elements. With less room than there are candidates, the first ones are filled in.
    """
    own = np.empty((3, 2, 3))  # boxes: a feature of the first element, the second element, a feature of the second
    triangles, edges, x_base = scene.triangles, scene.edges, scene.x_base
    element_vertices, element_edges = scene.element_vertices, scene.element_edges
    shape_of, box_start, leaves, element_start = scene.shape_of, scene.box_start, scene.leaves, scene.element_start
    element_triangle, patches, edge_length = scene.element_triangle, scene.patch, scene.edge_length
    pairs, reach, rest_reach, count = look.pairs, look.reach, look.rest_reach, 0
    first, last = span[0] * out.share, (span[0] + 1) * out.share
    rows, measured = out.rows[first:last], out.measured[first:last]
    material, enabled, by_vertex = scene.material, scene.enabled, scene.has_vertex_materials
    for k in range(_next_pair(found, span[1]), _next_pair(found, span[2])):
        k = natural(k)
        pair = natural(found[k, 0])
        if pairs[pair, 0] == pairs[pair, 1] and found[k, 1] >= found[k, 2]:
            continue
        if not (by_vertex or enabled[material[pairs[pair, 0]], material[pairs[pair, 1]]]):
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
                    kind, shape = POINT_TRIANGLE, float(patches[t])
                    at = (x0, triangles[t, 0] + base_b, triangles[t, 1] + base_b, triangles[t, 2] + base_b)
                else:
                    kind, shape = POINT_EDGE, 0.0
                    e = element_edges[other, 0]
                    if e >= 0:
                        at = (x0, edges[e, 0] + base_b, edges[e, 1] + base_b, edges[e, 1] + base_b)
                    elif swap == 0 and element_triangle[mine] < 0 and element_edges[mine, 0] < 0:
                        # two points: an edge without length. Anything else meets a point as the point meets it
                        x1 = element_vertices[other, 0] + base_b
                        at = (x0, x1, x1, x1)
                    else:
                        continue
                count = _add(kind, a, b, at, pair, shape, far, scene, X, count, rows, measured)
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
                    shape = MOLLIFIER * (edge_length[e] * edge_length[f]) ** 2
                    count = _add(EDGE_EDGE, a, b, at, pair, shape, far, scene, X, count, rows, measured)
    return count


@kernel
def _sort(key: Indices, count: int, order: Indices, spare: Indices) -> None:
    """order ← 0 … count − 1 by ascending keys, equal ones as they are: runs of 1, 2, 4 … are merged."""
    for k in range(count):
        order[k] = k
    width = 1
    while width < count:
        for start in range(0, count, 2 * width):
            i, j = natural(start), natural(min(start + width, count))
            middle, end = j, min(start + 2 * width, count)
            for k in range(i, end):
                if i < middle and (j >= end or key[order[i]] <= key[order[j]]):
                    spare[natural(k)] = order[i]
                    i += 1
                else:
                    spare[natural(k)] = order[j]
                    j += 1
        for k in range(count):
            order[k] = spare[k]
        width *= 2


@mapped
def put_in_order(scene: ContactScene, look: Look, found: Found, start: Indices, out: Candidates, span: Span) -> None:
    """Write candidates of a chunk from start[part] on, those of each pair by kind, first vertex and patch."""
    into, first = start[span[0]], span[0] * found.share
    count = start[span[0] + 1] - into
    rows, measured = found.rows[first : first + count], found.measured[first : first + count]
    pairs, numbers, known = out.pairs[into : into + count], out.numbers[into : into + count], out.known[into:]
    many, patches = len(scene.V) * len(scene.shape_of), len(scene.patch) + 1
    key, order, spare = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    begin = 0
    while begin < count:
        pair, end = natural(rows[begin, PAIR]), begin
        while end < count and rows[end, PAIR] == pair:
            patch = int(measured[end, 0]) if rows[end, KIND] == POINT_TRIANGLE else 0
            key[end - begin] = (rows[end, KIND] * many + rows[end, X0]) * patches + patch
            end += 1
        _sort(key, end - begin, order, spare)
        soft, d_hat, thickness, path = look.soft[pair], look.d_hat[pair], look.thickness[pair], look.path[pair]
        for i in range(begin, end):
            i, k = natural(i), natural(begin + order[i - begin])
            x = (rows[k, X0], rows[k, X0 + 1], rows[k, X0 + 2], rows[k, X0 + 3])
            kappa, mu, _ = _model(scene, rows[k, KIND], rows[k, A], rows[k, B], x)
            for e in range(8):
                pairs[i, e] = rows[k, e]
            pairs[i, PAIR] = look.number[pair]
            numbers[i, KAPPA], numbers[i, MU], numbers[i, SHAPE] = kappa * soft, mu, measured[k, 0]
            numbers[i, D_HAT], numbers[i, THICKNESS] = d_hat, thickness
            known[i, 0], known[i, 1] = measured[k, 1], path
        begin = end
