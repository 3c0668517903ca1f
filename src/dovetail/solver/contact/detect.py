"""Possible contacts: all pairs of features that are nearer than the range of the barrier plus what the bodies may move.

    bodies near each other (a tree over boxes of bodies)  →  elements near each other (two trees of rest-space boxes)
    →  pairs of features they own, kept if their distance is below  ξ + d̂ + slack of the body pair

The list stays complete as long as no two bodies have moved farther relative to each other than their slack, over Newton
iterations and steps; motion.py keeps the books.

A candidate is a row of integers (kind, a, b, x0, x1, x2, x3, body pair) with positions x in X, see kinds.py, and of
numbers (κ, μ, d̂, ξ, ε or patch). With a half-plane, b and the body pair are −1.
"""

from __future__ import annotations

import numpy as np

from dovetail.solver.contact.features import near_features
from dovetail.solver.contact.kinds import EDGE_EDGE, POINT_EDGE, POINT_PLANE
from dovetail.solver.contact.near import near_elements
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Flags, Indices

__all__ = ["Candidates", "detect", "detect_again", "update_positions"]


class Candidates:
    """The list: integers (k, 8), numbers (k, 5), what is known of distances (k, 2), and the vertices it speaks of.

    vertices (m, 3) are rows (x, body, v).
    """

    def __init__(self, pairs: Indices, numbers: Array, known: Array, vertices: Indices) -> None:
        self.pairs = np.ascontiguousarray(pairs)
        self.numbers = np.ascontiguousarray(numbers)
        self.known = np.ascontiguousarray(known)
        self.vertices = vertices

    @classmethod
    def none(cls) -> Candidates:
        """An empty list."""
        return cls(np.zeros((0, 8), np.int64), np.zeros((0, 5)), np.zeros((0, 2)), np.zeros((0, 3), np.int64))

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
    vertices; the paths of all pairs begin at zero.
    """
    _all_positions(scene.shape_of, scene.vertex_start, scene.x_base, scene.V, Q, X)
    planes = Candidates(*_plane_candidates(scene, is_fixed, plane_slack, X), np.zeros((0, 3), np.int64))
    everything = np.arange(len(near))
    return _with_features(scene, planes, near, slack, np.zeros(len(near)), everything, X)


def detect_again(
    scene: ContactScene, candidates: Candidates, near: Indices, slack: Array, path: Array, chosen: Indices, Q: Array,
    X: Array,
) -> Candidates:  # fmt: skip
    """Replace the candidates of some body pairs (indices into `near`), whose slack has changed."""
    _all_positions(scene.shape_of, scene.vertex_start, scene.x_base, scene.V, Q, X)
    return _with_features(scene, candidates, near, slack, path, chosen, X)


def _with_features(
    scene: ContactScene, old: Candidates, near: Indices, slack: Array, path: Array, chosen: Indices, X: Array
) -> Candidates:
    """The list `old` with the candidates of the chosen pairs replaced by what is within reach at X.

    Those of one pair stay together, and in them those of one point and patch.
    """
    pairs = near[chosen]
    a, b = pairs[:, 0], pairs[:, 1]
    thickness, d_hat = scene.thickness[a] + scene.thickness[b], 0.5 * (scene.d_hat[a] + scene.d_hat[b])
    rows, measured = _found(scene, pairs, thickness + d_hat + slack[chosen], thickness + d_hat, X)
    kappa, mu, enabled = _models(scene, rows)
    patches = int(scene.patch.max(initial=0)) + 1
    key = ((rows[:, 7] * 4 + rows[:, 0]) * max(scene.x_count, 1) + rows[:, 3]) * patches + rows[:, 8]
    order = np.argsort(key, kind="stable")
    stale = np.zeros(len(near) + 1, np.int64)  # half-planes have pair −1, the last entry
    stale[chosen] = 1
    size = old.count + len(rows)
    integers, numbers, known = np.empty((size, 8), np.int64), np.empty((size, 5)), np.empty((size, 2))
    count = _merge(
        old.pairs, old.numbers, old.known, stale, order, rows, measured, kappa, mu, enabled, chosen, d_hat, thickness,
        path, integers, numbers, known,
    )  # fmt: skip
    integers = integers[:count]
    return Candidates(integers, numbers[:count], known[:count], _vertices(scene, integers))


def _found(scene: ContactScene, pairs: Indices, reach: Array, rest_reach: Array, X: Array) -> tuple[Indices, Array]:
    """Features within reach, see near_features."""
    found, box = near_elements(scene, pairs, reach, X)
    while True:
        rows, measured = np.empty((scene.room[1], 9), np.int64), np.empty((scene.room[1], 2))
        count = near_features(
            found, box, pairs, reach, rest_reach, scene.triangles, scene.patch, scene.edges, scene.edge_length,
            scene.shape_of, scene.leaves, scene.element_start, scene.box_start, scene.element_triangle,
            scene.element_vertices, scene.element_edges, scene.x_base, scene.V, X, rows, measured,
        )  # fmt: skip
        if count <= len(rows):
            return rows[:count], measured[:count]
        scene.room[1] = 2 * count


@kernel
def _merge(
    old_integers: Indices, old_numbers: Array, old_known: Array, stale: Indices, order: Indices, rows: Indices,
    measured: Array, kappa: Array, mu: Array, enabled: Flags, chosen: Indices, d_hat: Array, thickness: Array,
    path: Array, integers: Indices, numbers: Array, known: Array,
) -> int:  # fmt: skip
    """Old candidates that are not stale and new ones that are enabled, by body pair; how many.

    Both lists are sorted by pair: old ones by index into all near pairs, new ones into the chosen.
    """
    count = old = new = 0
    while old < len(old_integers) or new < len(order):
        if new < len(order) and not enabled[order[new]]:
            new += 1
            continue
        pair = chosen[rows[order[new], 7]] if new < len(order) else len(stale)
        if old < len(old_integers) and old_integers[old, 7] <= pair:
            if not stale[old_integers[old, 7]]:
                for i in range(8):
                    integers[count, i] = old_integers[old, i]
                for i in range(5):
                    numbers[count, i] = old_numbers[old, i]
                known[count, 0] = old_known[old, 0]
                known[count, 1] = old_known[old, 1]
                count += 1
            old += 1
        else:
            r = order[new]
            place = rows[r, 7]
            for i in range(7):
                integers[count, i] = rows[r, i]
            integers[count, 7] = pair
            numbers[count, 0] = kappa[r]
            numbers[count, 1] = mu[r]
            numbers[count, 2] = d_hat[place]
            numbers[count, 3] = thickness[place]
            numbers[count, 4] = measured[r, 0]
            known[count, 0] = measured[r, 1]
            known[count, 1] = path[pair]
            count += 1
            new += 1
    return count


def _models(scene: ContactScene, rows: Indices) -> tuple[Array, Array, Flags]:
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


def _plane_candidates(scene: ContactScene, is_fixed: Indices, budget: Array, X: Array) -> tuple[Indices, Array, Array]:
    """Vertices near half-planes; only those that can touch first."""
    rows, numbers, known = [np.zeros((0, 8), np.int64)], [np.zeros((0, 5))], [np.zeros((0, 2))]
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
            known.append(np.stack([height[k], np.zeros(len(k))], axis=1))
    return np.concatenate(rows), np.concatenate(numbers), np.concatenate(known)


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
