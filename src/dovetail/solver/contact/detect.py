"""Possible contacts of near bodies: all pairs of features nearer than the barrier's range plus what may be moved.

    bodies near each other (a tree over boxes of bodies)  →  hulls that no plane separates
    →  elements near each other (two trees of boxes)
    →  pairs of features they own, kept if their distance is below  ξ + d̂ + slack of the body pair

The list stays complete as long as no two bodies have moved farther relative to each other than their slack, over Newton
iterations and steps; motion.py keeps the books.
"""

from __future__ import annotations

import numpy as np

from dovetail.solver.contact.candidates import Candidates
from dovetail.solver.contact.features import near_features
from dovetail.solver.contact.kinds import EDGE_EDGE, POINT_EDGE
from dovetail.solver.contact.near import near_elements
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.contact.separation import separate
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Flags, Indices

__all__ = ["detect", "positions"]

# Bodies that are found to be so many times farther apart than asked for need no closer look for a while.
_CLEAR = 3.0


@kernel
def positions(shape_of: Indices, vertex_start: Indices, x_base: Indices, V: Array, Q: Array, X: Array) -> None:
    """X ← world positions of all vertices."""
    for b in range(len(shape_of)):
        s = shape_of[b]
        if s < 0:
            continue
        for v in range(vertex_start[s], vertex_start[s + 1]):
            for a in range(3):
                x = Q[b, 0, a] + V[v, 0] * Q[b, 1, a] + V[v, 1] * Q[b, 2, a] + V[v, 2] * Q[b, 3, a]
                X[v + x_base[b], a] = x


def detect(
    scene: ContactScene, planes: Candidates, old: Candidates, place_of: Indices, near: Indices, slack: Array,
    path: Array, chosen: Indices, X: Array,
) -> Candidates:  # fmt: skip
    """Candidates with half-planes, and of body pairs `near` (k, 2): those of chosen ones are looked for, others kept.

    place_of gives the number that each pair of the list `old` has now, −1 where its candidates are to go, as all those
    of half-planes do. slack (k,) is how far the bodies of a pair may move relative to each other before
    the list is incomplete; it grows where they turn out to be farther apart.
    """
    pairs = near[chosen]
    a, b = pairs[:, 0], pairs[:, 1]
    thickness, d_hat = scene.thickness[a] + scene.thickness[b], 0.5 * (scene.d_hat[a] + scene.d_hat[b])
    rows, measured, gap = _found(scene, pairs, thickness + d_hat + slack[chosen], thickness + d_hat, X)
    slack[chosen] = np.maximum(slack[chosen], gap - thickness - d_hat)
    kappa, mu, enabled = _models(scene, rows)
    key = ((rows[:, 7] * 4 + rows[:, 0]) * max(scene.x_count, 1) + rows[:, 3]) * scene.patch_count + rows[:, 8]
    order = np.argsort(key, kind="stable")
    first = planes.count
    size = first + old.count + len(rows)
    integers, numbers, known = np.empty((size, 8), np.int64), np.empty((size, 5)), np.empty((size, 2))
    integers[:first], numbers[:first], known[:first] = planes.pairs, planes.numbers, planes.known
    count = first + _merge(
        old.pairs, old.numbers, old.known, place_of, order, rows, measured, kappa, mu, enabled, chosen, d_hat,
        thickness, path, integers[first:], numbers[first:], known[first:],
    )  # fmt: skip
    return Candidates(integers[:count], numbers[:count], known[:count])


def _found(
    scene: ContactScene, pairs: Indices, reach: Array, rest_reach: Array, X: Array
) -> tuple[Indices, Array, Array]:
    """Features within reach, see near_features, and a distance (k,) that the bodies of each pair have at least."""
    gap, axis = np.empty(len(pairs)), np.empty((len(pairs), 3))
    separate(pairs, _CLEAR * reach, scene.shape_of, scene.vertex_start, scene.x_base, X, gap, axis)
    close = np.flatnonzero(gap <= reach)
    pairs, reach, rest_reach = pairs[close], reach[close], rest_reach[close]
    found, box = near_elements(scene, pairs, reach, axis[close], X)
    while True:
        rows, measured = scene.rows, scene.measured
        count = near_features(
            found, box, pairs, reach, rest_reach, scene.triangles, scene.patch, scene.edges, scene.edge_length,
            scene.shape_of, scene.leaves, scene.element_start, scene.box_start, scene.element_triangle,
            scene.element_vertices, scene.element_edges, scene.x_base, scene.V, X, rows, measured,
        )  # fmt: skip
        if count <= len(rows):
            rows = rows[:count]
            rows[:, 7] = close[rows[:, 7]]
            return rows, measured[:count], gap
        scene.make_room(2 * count)


@kernel
def _merge(
    old_integers: Indices, old_numbers: Array, old_known: Array, place_of: Indices, order: Indices, rows: Indices,
    measured: Array, kappa: Array, mu: Array, enabled: Flags, chosen: Indices, d_hat: Array, thickness: Array,
    path: Array, integers: Indices, numbers: Array, known: Array,
) -> int:  # fmt: skip
    """Old candidates whose pair still has a place and new ones that are enabled, by body pair; how many.

    place_of gives the new number of each old pair, in the same order, or −1 where its candidates are to go. New rows
    number the chosen pairs.
    """
    count = old = new = 0
    while old < len(old_integers) or new < len(order):
        if new < len(order) and not enabled[order[new]]:
            new += 1
            continue
        if old < len(old_integers) and place_of[old_integers[old, 7]] < 0:
            old += 1
            continue
        if old == len(old_integers) and new == len(order):
            break
        pair = chosen[rows[order[new], 7]] if new < len(order) else -1
        if old < len(old_integers):
            kept = place_of[old_integers[old, 7]]
            if pair < 0 or kept < pair:
                for i in range(7):
                    integers[count, i] = old_integers[old, i]
                integers[count, 7] = kept
                for i in range(5):
                    numbers[count, i] = old_numbers[old, i]
                known[count, 0] = old_known[old, 0]
                known[count, 1] = old_known[old, 1]
                count += 1
                old += 1
                continue
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
    if not scene.has_vertex_materials:
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
