"""Possible contacts: all pairs of features that are nearer than the range of the barrier plus what the bodies may move.

    bodies near each other (a tree over boxes of bodies)  →  elements near each other (two trees of rest-space boxes)
    →  pairs of features they own, kept if their distance is below  ξ + d̂ + slack of the body pair

The list stays complete as long as no two bodies have moved farther relative to each other than their slack, over Newton
iterations and steps; motion.py keeps the books.

A candidate is a row of integers (kind, a, b, x0, x1, x2, x3, body pair) with positions x in X, and of numbers (κ,
μ, d̂, ξ, ε or patch):

    POINT_TRIANGLE   x0 of body a, triangle x1 x2 x3 of body b        EDGE_EDGE   x0 x1 of a, x2 x3 of b
    POINT_EDGE       x0 of a, single edge x1 x2 of b                  POINT_PLANE x0 of a, half-plane x1; b = −1
"""

from __future__ import annotations

import numpy as np

from dovetail.solver.contact.barrier import MOLLIFIER
from dovetail.solver.contact.distance import edge_edge, point_edge, point_triangle
from dovetail.solver.contact.near import near_elements
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = [
    "EDGE_EDGE",
    "POINT_EDGE",
    "POINT_PLANE",
    "POINT_TRIANGLE",
    "Candidates",
    "detect",
    "detect_again",
    "update_positions",
]

POINT_TRIANGLE = 0
EDGE_EDGE = 1
POINT_EDGE = 2
POINT_PLANE = 3


class Candidates:
    """The list: integers (k, 8), numbers (k, 5), and the vertices it speaks of, rows (x, body, v)."""

    def __init__(self) -> None:
        self.pairs: Indices = np.zeros((0, 8), np.int64)
        self.numbers: Array = np.zeros((0, 5))
        self.vertices: Indices = np.zeros((0, 3), np.int64)

    @property
    def count(self) -> int:
        return len(self.pairs)


@kernel
def update_positions(vertices: Indices, V: Array, Q: Array, X: Array) -> None:
    """X ← world positions of the listed vertices."""
    for k in range(len(vertices)):
        x, b, v = vertices[k, 0], vertices[k, 1], vertices[k, 2]
        for a in range(3):
            X[x, a] = Q[b, 0, a] + V[v, 0] * Q[b, 1, a] + V[v, 1] * Q[b, 2, a] + V[v, 2] * Q[b, 3, a]


@kernel
def _squared_distance(kind: int, P: Array, x0: int, x1: int, x2: int, x3: int) -> float:
    if kind == POINT_TRIANGLE:
        _, _, r0, r1, r2 = point_triangle(P, x0, x1, x2, x3)
    elif kind == EDGE_EDGE:
        _, _, r0, r1, r2, _ = edge_edge(P, x0, x1, x2, x3)
    else:
        _, r0, r1, r2 = point_edge(P, x0, x1, x2)
    return r0 * r0 + r1 * r1 + r2 * r2


@kernel
def _features(
    found: Indices, pairs: Indices, reach: Array, rest_reach: Array, triangles: Indices, patch: Indices, edges: Indices,
    edge_length: Array, element_triangle: Indices, element_vertices: Indices, element_edges: Indices, x_base: Indices,
    V: Array, X: Array, out: Indices, epsilon: Array,
) -> int:  # fmt: skip
    """Candidates (kind, a, b, x0 … x3, pair, patch) that near elements own and that are within reach; how many.

    epsilon ← width of the mollifier for edges, the patch for points.
    """
    row = np.empty((15, 7), np.int64)  # kind, whether a and b change places, V indices (4), patch
    width = np.empty(15)
    count = 0
    for k in range(len(found)):
        pair = found[k, 0]
        a, b = pairs[pair, 0], pairs[pair, 1]
        if a == b and found[k, 1] >= found[k, 2]:
            continue
        rows = 0
        for swap in range(2):
            mine, other = found[k, 1 + swap], found[k, 2 - swap]
            t = element_triangle[other]
            for slot in range(3):
                if element_vertices[mine, slot] < 0:
                    continue
                row[rows, 1] = swap
                row[rows, 2] = element_vertices[mine, slot]
                if t >= 0:
                    row[rows, 0] = POINT_TRIANGLE
                    for i in range(3):
                        row[rows, 3 + i] = triangles[t, i]
                    row[rows, 6] = patch[t]
                    width[rows] = patch[t]
                else:
                    row[rows, 0] = POINT_EDGE
                    for i in range(2):
                        row[rows, 3 + i] = edges[element_edges[other, 0], i]
                    row[rows, 5] = row[rows, 4]
                    row[rows, 6] = 0
                    width[rows] = 0.0
                rows += 1
        for i in range(3):
            e = element_edges[found[k, 1], i]
            for j in range(3):
                f = element_edges[found[k, 2], j]
                if e >= 0 and f >= 0:
                    row[rows, 0] = EDGE_EDGE
                    row[rows, 1] = 0
                    row[rows, 2], row[rows, 3] = edges[e, 0], edges[e, 1]
                    row[rows, 4], row[rows, 5] = edges[f, 0], edges[f, 1]
                    row[rows, 6] = 0
                    width[rows] = MOLLIFIER * (edge_length[e] * edge_length[f]) ** 2
                    rows += 1
        for r in range(rows):
            kind = row[r, 0]
            first, second = (b, a) if row[r, 1] else (a, b)
            split = 2 if kind == EDGE_EDGE else 1
            keep = True
            # a body does not touch itself where its rest shape is that near already: a second look, at V
            for look in range(2 if a == b else 1):
                P = X if look == 0 else V
                base_first = x_base[first] if look == 0 else 0
                base_second = x_base[second] if look == 0 else 0
                squared = _squared_distance(
                    kind,
                    P,
                    row[r, 2] + base_first,
                    row[r, 3] + (base_first if split == 2 else base_second),
                    row[r, 4] + base_second,
                    row[r, 5] + base_second,
                )
                if look == 0:
                    keep = squared <= reach[pair] * reach[pair]
                else:
                    keep = keep and squared > rest_reach[pair] * rest_reach[pair]
            if not keep:
                continue
            if count < len(out):
                out[count, 0] = kind
                out[count, 1] = first
                out[count, 2] = second
                for i in range(4):
                    out[count, 3 + i] = row[r, 2 + i] + x_base[first if i < split else second]
                out[count, 7] = pair
                out[count, 8] = row[r, 6]
                epsilon[count] = width[r]
            count += 1
    return count


@kernel
def _all_positions(shape_of: Indices, vertex_start: Indices, x_base: Indices, V: Array, Q: Array, X: Array) -> None:
    for b in range(len(shape_of)):
        s = shape_of[b]
        if s < 0:
            continue
        for v in range(vertex_start[s], vertex_start[s + 1]):
            for a in range(3):
                x = Q[b, 0, a] + V[v, 0] * Q[b, 1, a] + V[v, 1] * Q[b, 2, a] + V[v, 2] * Q[b, 3, a]
                X[v + x_base[b], a] = x


def detect(
    scene: ContactScene, is_fixed: Indices, near: Indices, slack: Array, plane_slack: Array, Q: Array, X: Array
) -> Candidates:
    """Find all possible contacts of the body pairs `near` (k, 2) and with half-planes at Q.

    slack (k,) is how far the bodies of a pair may move relative to each other before the list is incomplete,
    plane_slack (n,) how far a body may move relative to the half-planes. X receives the positions of all
    vertices.
    """
    _all_positions(scene.shape_of, scene.vertex_start, scene.x_base, scene.V, Q, X)
    rows, numbers = _feature_candidates(scene, near, slack, Q, X)
    plane_rows, plane_numbers = _plane_candidates(scene, is_fixed, plane_slack, X)
    return _listed(scene, np.concatenate([plane_rows, rows]), np.concatenate([plane_numbers, numbers]))


def detect_again(
    scene: ContactScene, candidates: Candidates, near: Indices, slack: Array, chosen: Indices, Q: Array, X: Array
) -> Candidates:
    """Replace the candidates of some body pairs (indices into `near`), whose slack has changed."""
    _all_positions(scene.shape_of, scene.vertex_start, scene.x_base, scene.V, Q, X)
    rows, numbers = _feature_candidates(scene, near[chosen], slack[chosen], Q, X)
    rows[:, 7] = chosen[rows[:, 7]]
    pair = candidates.pairs[:, 7]
    stale = np.zeros(len(near) + 1, bool)  # half-planes have pair −1, the last entry
    stale[chosen] = True
    kept = np.flatnonzero(~stale[pair])
    # both lists are sorted by pair; new ones go where their pair belongs
    order = np.argsort(np.concatenate([pair[kept], rows[:, 7]]), kind="stable")
    all_rows = np.concatenate([candidates.pairs[kept], rows])[order]
    all_numbers = np.concatenate([candidates.numbers[kept], numbers])[order]
    return _listed(scene, all_rows, all_numbers)


def _listed(scene: ContactScene, rows: Indices, numbers: Array) -> Candidates:
    result = Candidates()
    result.pairs = np.ascontiguousarray(rows)
    result.numbers = np.ascontiguousarray(numbers)
    result.vertices = _vertices(scene, result.pairs)
    return result


def _feature_candidates(scene: ContactScene, pairs: Indices, slack: Array, Q: Array, X: Array) -> tuple[Indices, Array]:
    """Candidates between bodies, those of one pair together, of one point and patch one after the other."""
    a, b = pairs[:, 0], pairs[:, 1]
    thickness, d_hat = scene.thickness[a] + scene.thickness[b], 0.5 * (scene.d_hat[a] + scene.d_hat[b])
    reach = thickness + d_hat + slack
    found = near_elements(scene, pairs, reach, Q)
    rows, epsilon = np.empty((scene.room[1], 9), np.int64), np.empty(scene.room[1])
    while True:
        count = _features(
            found, pairs, reach, thickness + d_hat, scene.triangles, scene.patch, scene.edges, scene.edge_length,
            scene.element_triangle, scene.element_vertices, scene.element_edges, scene.x_base, scene.V, X, rows,
            epsilon,
        )  # fmt: skip
        if count <= len(rows):
            break
        scene.room[1] = 2 * count
        rows, epsilon = np.empty((scene.room[1], 9), np.int64), np.empty(scene.room[1])
    rows = rows[:count]
    kappa, mu, enabled = _models(scene, rows)
    pair = rows[:, 7]
    numbers = np.stack([kappa, mu, d_hat[pair], thickness[pair], epsilon[:count]], axis=1)
    patches = int(scene.patch.max(initial=0)) + 1
    key = ((pair * 4 + rows[:, 0]) * max(scene.x_count, 1) + rows[:, 3]) * patches + rows[:, 8]
    order = np.argsort(key, kind="stable")
    order = order[enabled[order]]
    return rows[order, :8].copy(), numbers[order]


def _models(scene: ContactScene, rows: Indices) -> tuple[Array, Array, Array]:
    """κ, μ averaged over the vertex pairs of each candidate, and whether all of these may touch.

    An adaptive κ (< 0) of any pair makes the contact adaptive.
    """
    a, b = rows[:, 1], rows[:, 2]
    assert scene.vertex_material is not None
    if (scene.vertex_material < 0).all():
        m, n = scene.material[a], scene.material[b]
        return scene.kappa[m, n], scene.mu[m, n], scene.enabled[m, n] != 0
    edge_edge_rows, point_edge_rows = rows[:, 0] == EDGE_EDGE, rows[:, 0] == POINT_EDGE

    def element(column: int, body: Indices) -> Indices:
        v = rows[:, column] - scene.x_base[body]
        own = scene.vertex_material[v]  # type: ignore[index]
        return np.where(own >= 0, own, scene.material[body])

    total = np.zeros((3, len(rows)))
    adaptive = np.zeros(len(rows), bool)
    enabled = np.ones(len(rows), bool)
    for i in range(2):
        for j in range(1, 4):
            counts = np.where(edge_edge_rows, j >= 2, i == 0) & ~(point_edge_rows & (j == 3))
            m, n = (
                element(3 + i, np.where(edge_edge_rows | (i == 0), a, b)),
                element(3 + j, b if j > 1 else np.where(edge_edge_rows, a, b)),
            )
            total += np.where(counts, [scene.kappa[m, n], scene.mu[m, n], np.ones(len(rows))], 0.0)
            adaptive |= counts & (scene.kappa[m, n] < 0.0)
            enabled &= ~counts | (scene.enabled[m, n] != 0)
    return np.where(adaptive, -1.0, total[0] / total[2]), total[1] / total[2], enabled


def _plane_candidates(scene: ContactScene, is_fixed: Indices, budget: Array, X: Array) -> tuple[Indices, Array]:
    """Vertices near half-planes; only those that can touch first."""
    rows, numbers = [np.zeros((0, 8), np.int64)], [np.zeros((0, 5))]
    if len(scene.plane_point):
        body, vertex = _touching_vertices(scene, is_fixed)
        x = vertex + scene.x_base[body]
        assert scene.vertex_material is not None and scene.plane_subscene is not None
        own = scene.vertex_material[vertex]
        material = np.where(own >= 0, own, scene.material[body])
        for plane, (point, normal) in enumerate(zip(scene.plane_point, scene.plane_normal, strict=True)):
            model = (material, np.full(len(material), scene.plane_material[plane]))
            height = (X[x] - point) @ normal
            near = height <= scene.thickness[body] + scene.d_hat[body] + budget[body]
            near &= scene.enabled[model] != 0
            near &= scene.subscenes[scene.subscene[body], scene.plane_subscene[plane]] != 0
            k = np.flatnonzero(near)
            row = np.full((len(k), 8), -1)
            row[:, 0], row[:, 1], row[:, 3], row[:, 4] = POINT_PLANE, body[k], x[k], plane
            rows.append(row)
            columns = (scene.kappa[model], scene.mu[model], scene.d_hat[body], scene.thickness[body], 0.0 * height)
            numbers.append(np.stack([column[k] for column in columns], axis=1))
    return np.concatenate(rows), np.concatenate(numbers)


def _touching_vertices(scene: ContactScene, is_fixed: Indices) -> tuple[Indices, Indices]:
    """(body, v) of every vertex of a free body that can touch first; the same at every call."""
    if scene.touching is None:
        by_shape = []
        for s in range(len(scene.shapes)):
            owned = scene.element_vertices[scene.element_start[s] : scene.element_start[s + 1]].reshape(-1)
            by_shape.append(np.sort(owned[owned >= 0]))
        free = [b for b in range(len(scene.shape_of)) if scene.shape_of[b] >= 0 and not is_fixed[b]]
        vertices = [by_shape[scene.shape_of[b]] for b in free]
        body = np.repeat(free, [len(v) for v in vertices]).astype(np.int64)
        scene.touching = body, np.concatenate([np.zeros(0, np.int64), *vertices])
    return scene.touching


@kernel
def _list_vertices(pairs: Indices, x_base: Indices, seen: Indices, out: Indices) -> int:
    """Rows (x, body, v) of the vertices that candidates speak of; seen (x) is 0 at first. Returns how many."""
    count = 0
    for k in range(len(pairs)):
        kind = pairs[k, 0]
        corners = 1 if kind == POINT_PLANE else 3 if kind == POINT_EDGE else 4
        split = 2 if kind == EDGE_EDGE else 1
        for i in range(corners):
            x = pairs[k, 3 + i]
            if seen[x] == 0:
                seen[x] = 1
                body = pairs[k, 1] if i < split else pairs[k, 2]
                out[count, 0] = x
                out[count, 1] = body
                out[count, 2] = x - x_base[body]
                count += 1
    return count


def _vertices(scene: ContactScene, pairs: Indices) -> Indices:
    rows = np.empty((scene.x_count, 3), np.int64)
    count = _list_vertices(pairs, scene.x_base, np.zeros(scene.x_count, np.int8), rows)
    return rows[:count]
