"""Possible contacts of near bodies: all pairs of features nearer than the barrier's range plus what may be moved.

    bodies near each other (a tree over boxes of bodies)  →  hulls that no plane keeps apart (watch.py)
    →  elements near each other (two trees of boxes)
    →  pairs of features they own, kept if their distance is below  ξ + d̂ + slack of the body pair

The list stays complete as long as no two bodies have moved farther relative to each other than their slack, over Newton
iterations and steps; motion.py keeps the books.

Features within reach grow like its square: in a step as long as a body is large, all of one would be near all of the
other. So a body pair has room for a number of near elements, in proportion to its share of the elements of its bodies,
and a slack that would exceed it is cut, to no less than what a barrier needs. There are at most a constant number of
candidates per element then, and a step that goes farther is taken in parts (watch.py).
"""

from __future__ import annotations

import numpy as np

from dovetail.solver.contact.barrier import softened
from dovetail.solver.contact.candidates import Candidates
from dovetail.solver.contact.features import near_features
from dovetail.solver.contact.kinds import (
    D_HAT,
    EDGE_EDGE,
    KAPPA,
    KIND,
    MU,
    PAIR,
    PATCH,
    POINT_EDGE,
    SHAPE,
    THICKNESS,
    X0,
    A,
    B,
)
from dovetail.solver.contact.near import near_elements
from dovetail.solver.contact.room import Room
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.kernel import kernel, mapped
from dovetail.solver.natural import natural
from dovetail.solver.threads import Span, chunks, map_chunks
from dovetail.typing import Array, Flags, Indices

__all__ = ["detect", "positions"]

# Near elements of a body pair at most: so many per element of each body, divided among the pairs that this is in, but
# all of two boxes in any case.
_PER_ELEMENT = 16
_ALL_OF_TWO_BOXES = 256
_COST = 30.0  # [ns] of a candidate that is kept


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
    scene: ContactScene, room: Room, planes: Candidates, old: Candidates, place_of: Indices, near: Indices,
    slack: Array, path: Array, chosen: Indices, axis: Array, X: Array,
) -> Candidates:  # fmt: skip
    """Candidates with half-planes, and of body pairs `near` (k, 2): those of chosen ones are looked for, others kept.

    place_of gives the number that each pair of the list `old` has now, −1 where its candidates are to go, as all those
    of half-planes do. slack (k,) is how far the bodies of a pair may move relative to each other before the list is
    incomplete; it shrinks where too many features are near. axis points from one body of a chosen pair to the other, or
    is zero: features that are apart along it are not looked at.
    """
    pairs = near[chosen]
    a, b = pairs[:, 0], pairs[:, 1]
    thickness, d_hat = scene.barrier_of(a, b)
    asked = thickness + d_hat + slack[chosen]
    reach = asked.copy()
    rows, measured = _found(scene, room, pairs, reach, thickness + d_hat, d_hat, _most(scene, near, pairs), axis, X)
    slack[chosen] = np.where(reach < asked, reach - thickness - d_hat, slack[chosen])
    kappa, mu, enabled = _models(scene, rows)
    is_round = (scene.is_round[rows[:, A]] | scene.is_round[rows[:, B]]) != 0
    at = rows[is_round, PAIR]
    kappa[is_round] *= softened(thickness[at], d_hat[at])
    key = ((rows[:, PAIR] * 4 + rows[:, KIND]) * max(scene.x_count, 1) + rows[:, X0]) * scene.patch_count
    order = np.argsort(key + rows[:, PATCH], kind="stable")
    order = order[enabled[order]]
    new = rows[order]
    place = new[:, PAIR].copy()
    new[:, PAIR] = chosen[place]
    numbers, known = np.empty((len(new), 5)), np.empty((len(new), 2))
    numbers[:, KAPPA], numbers[:, MU], numbers[:, SHAPE] = kappa[order], mu[order], measured[order, 0]
    numbers[:, D_HAT], numbers[:, THICKNESS] = d_hat[place], thickness[place]
    known[:, 0], known[:, 1] = measured[order, 1], path[new[:, PAIR]]
    first = planes.count
    size = first + old.count + len(new)
    into, values, distances = np.empty((size, 8), np.int64), np.empty((size, 5)), np.empty((size, 2))
    into[:first], values[:first], distances[:first] = planes.pairs, planes.numbers, planes.known
    spans = chunks(old.count, _COST)
    cuts = _cut(spans, old.pairs, new, place_of)
    if len(spans) > 1:
        cuts[1:, 2] = np.cumsum(map_chunks(_count_kept, spans, old.pairs, place_of, cuts)) + cuts[1:, 1]
    cuts[:, 2] += first
    ends = map_chunks(
        _merge, spans, old.pairs, old.numbers, old.known, new, numbers, known, place_of, cuts, into, values, distances
    )  # fmt: skip
    count = int(ends[-1])
    return Candidates(into[:count], values[:count], distances[:count])


def _most(scene: ContactScene, near: Indices, pairs: Indices) -> Array:
    """How many near elements each of some pairs (k, 2) may have; near (m, 2) are all that there are."""
    pairs_of = np.bincount(near.reshape(-1), minlength=len(scene.element_count))
    share = _PER_ELEMENT * scene.element_count / np.maximum(pairs_of, 1)
    return np.maximum(_ALL_OF_TWO_BOXES, share[pairs[:, 0]] + share[pairs[:, 1]])


def _found(
    scene: ContactScene, room: Room, pairs: Indices, reach: Array, rest_reach: Array, least: Array, most: Array,
    axis: Array, X: Array,
) -> tuple[Indices, Array]:  # fmt: skip
    """Features within reach, see near_features.

    reach (k,) shrinks where there are more than `most` (k,), but not below `least` (k,) more than at rest.
    """
    found, box = near_elements(scene, room, pairs, reach, rest_reach + least, most, axis, X)
    while True:
        features = room.features
        count = near_features(scene, found, box, pairs, reach, rest_reach, X, features)
        if count <= len(features.rows):
            return features.rows[:count], features.measured[:count]
        room.grow_features(count)


def _cut(spans: list[Span], old: Indices, new: Indices, place_of: Indices) -> Indices:
    """Rows (parts + 1, 3): where the old and the new candidates of each chunk begin, at the first of a body pair; 0."""
    rows = np.zeros((len(spans) + 1, 3), np.int64)
    rows[-1, :2] = len(old), len(new)
    for part, start, _ in spans[1:]:
        rows[part, 0] = np.searchsorted(old[:, PAIR], old[start, PAIR])
        ahead = place_of[max(old[start, PAIR], 0) : -1]
        kept = np.flatnonzero(ahead >= 0)
        rows[part, 1] = np.searchsorted(new[:, PAIR], ahead[kept[0]]) if len(kept) else len(new)
    return rows


@mapped
def _count_kept(old: Indices, place_of: Indices, rows: Indices, span: Span) -> int:
    """How many old candidates of a chunk are kept."""
    count = 0
    for i in range(rows[span[0], 0], rows[span[0] + 1, 0]):
        count += place_of[old[natural(i), PAIR]] >= 0
    return count


@mapped
def _merge(
    old_pairs: Indices, old_numbers: Array, old_known: Array, new_pairs: Indices, new_numbers: Array,
    new_known: Array, place_of: Indices, rows: Indices, pairs: Indices, numbers: Array, known: Array, span: Span,
) -> int:  # fmt: skip
    """pairs, numbers, known ← old candidates whose pair still has a place and new ones, of one chunk.

    They are sorted by body pair. place_of gives the new number of each old pair, in the same order, or −1 where its
    candidates are to go. rows are those of `_cut`, with where each chunk is to be written to. Returns where it ends.
    """
    part = span[0]
    i, j, count = rows[part, 0], rows[part, 1], rows[part, 2]
    old_end, new_end = rows[part + 1, 0], rows[part + 1, 1]
    while i < old_end or j < new_end:
        i, j, count, place = natural(i), natural(j), natural(count), -1
        if i < old_end:
            place = place_of[old_pairs[i, PAIR]]
            if place < 0:
                i += 1
                continue
        if j < new_end and (place < 0 or new_pairs[j, PAIR] <= place):
            for e in range(8):
                pairs[count, e] = new_pairs[j, e]
            for e in range(5):
                numbers[count, e] = new_numbers[j, e]
            for e in range(2):
                known[count, e] = new_known[j, e]
            j += 1
        else:
            for e in range(8):
                pairs[count, e] = old_pairs[i, e]
            pairs[count, PAIR] = place
            for e in range(5):
                numbers[count, e] = old_numbers[i, e]
            for e in range(2):
                known[count, e] = old_known[i, e]
            i += 1
        count += 1
    return count


def _models(scene: ContactScene, rows: Indices) -> tuple[Array, Array, Flags]:
    """κ, μ averaged over the vertex pairs of each candidate, and whether all of these may touch.

    An adaptive κ (< 0) of any pair makes the contact adaptive.
    """
    a, b = rows[:, A], rows[:, B]
    if not scene.has_vertex_materials:
        m, n = scene.material[a], scene.material[b]
        return scene.kappa[m, n], scene.mu[m, n], scene.enabled[m, n] != 0
    edge_edge_rows, point_edge_rows = rows[:, KIND] == EDGE_EDGE, rows[:, KIND] == POINT_EDGE

    def element(column: int, body: Indices) -> Indices:
        v = rows[:, column] - scene.x_base[body]
        own = scene.vertex_material[v]
        return np.where(own >= 0, own, scene.material[body])

    total = np.zeros((3, len(rows)))
    adaptive = np.zeros(len(rows), bool)
    enabled = np.ones(len(rows), bool)
    for i in range(2):
        for j in range(1, 4):
            counts = np.where(edge_edge_rows, j >= 2, i == 0) & ~(point_edge_rows & (j == 3))
            m, n = (
                element(X0 + i, np.where(edge_edge_rows | (i == 0), a, b)),
                element(X0 + j, b if j > 1 else np.where(edge_edge_rows, a, b)),
            )
            total += np.where(counts, [scene.kappa[m, n], scene.mu[m, n], np.ones(len(rows))], 0.0)
            adaptive |= counts & (scene.kappa[m, n] < 0.0)
            enabled &= ~counts | (scene.enabled[m, n] != 0)
    return np.where(adaptive, -1.0, total[0] / total[2]), total[1] / total[2], enabled
