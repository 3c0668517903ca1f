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

from dovetail.kernel.kernel import kernel, mapped
from dovetail.kernel.threads import Span, chunks, map_chunks
from dovetail.solver.contact.barrier import softened
from dovetail.solver.contact.candidates import Candidates
from dovetail.solver.contact.features import Look, near_features, put_in_order
from dovetail.solver.contact.kinds import PAIR
from dovetail.solver.contact.near import near_elements
from dovetail.solver.contact.room import Room
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.natural import natural
from dovetail.typing import Array, Indices

__all__ = ["detect", "positions"]

# Near elements of a body pair at most: so many per element of each body, divided among the pairs that this is in, but
# all of two boxes in any case.
_PER_ELEMENT = 16
_ALL_OF_TWO_BOXES = 256
_COST, _COST_OF_VERTEX = 30.0, 5.0  # [ns] of a candidate that is kept, of a vertex that is moved
_COST_OF_ELEMENTS = 200.0  # [ns] to find the candidates of two near elements


@mapped
def _positions(
    shape_of: Indices, vertex_start: Indices, x_base: Indices, V: Array, Q: Array, X: Array, span: Span
) -> None:
    """X ← world positions of all vertices of some bodies."""
    for b in range(span[1], span[2]):
        s = shape_of[b]
        if s < 0:
            continue
        for v in range(vertex_start[s], vertex_start[s + 1]):
            for a in range(3):
                x = Q[b, 0, a] + V[v, 0] * Q[b, 1, a] + V[v, 1] * Q[b, 2, a] + V[v, 2] * Q[b, 3, a]
                X[v + x_base[b], a] = x


def positions(scene: ContactScene, Q: Array, X: Array) -> None:
    """X ← world positions of all vertices."""
    spans = chunks(len(Q), _COST_OF_VERTEX * scene.x_count / max(len(Q), 1))
    map_chunks(_positions, spans, scene.shape_of, scene.vertex_start, scene.x_base, scene.V, Q, X)


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
    asked, rest_reach = thickness + d_hat + slack[chosen], thickness + d_hat
    soft = np.where((scene.is_round[a] | scene.is_round[b]) != 0, softened(thickness, d_hat), 1.0)
    look = Look(
        pairs=pairs, number=chosen, reach=asked.copy(), rest_reach=rest_reach, thickness=thickness, d_hat=d_hat,
        soft=soft, path=path[chosen],
    )  # fmt: skip
    new = _found(scene, room, look, _most(scene, near, pairs), axis, X)
    slack[chosen] = np.where(look.reach < asked, look.reach - rest_reach, slack[chosen])
    first = planes.count
    all_of_them = room.candidates_of(first + old.count + new.count)
    into, values, distances = all_of_them.pairs, all_of_them.numbers, all_of_them.known
    into[:first], values[:first], distances[:first] = planes.pairs, planes.numbers, planes.known
    spans = chunks(old.count, _COST)
    cuts = np.empty((len(spans) + 1, 3), np.int64)
    _cut(np.array([start for _, start, _ in spans]), old.pairs, new.pairs, place_of, cuts)
    if len(spans) > 1:
        cuts[1:, 2] = np.cumsum(map_chunks(_count_kept, spans, old.pairs, place_of, cuts)) + cuts[1:, 1]
    cuts[:, 2] += first
    count = int(map_chunks(_merge, spans, old, new, place_of, cuts, all_of_them)[-1])
    return Candidates(into[:count], values[:count], distances[:count])


def _most(scene: ContactScene, near: Indices, pairs: Indices) -> Array:
    """How many near elements each of some pairs (k, 2) may have; near (m, 2) are all that there are."""
    pairs_of = np.bincount(near.reshape(-1), minlength=len(scene.element_count))
    share = _PER_ELEMENT * scene.element_count / np.maximum(pairs_of, 1)
    return np.maximum(_ALL_OF_TWO_BOXES, share[pairs[:, 0]] + share[pairs[:, 1]])


def _found(scene: ContactScene, room: Room, look: Look, most: Array, axis: Array, X: Array) -> Candidates:
    """Features within reach, which shrinks where there are more than `most` (k,), but not below a barrier at rest."""
    found, box = near_elements(scene, room, look.pairs, look.reach, look.rest_reach + look.d_hat, most, axis, X)
    spans, counts = chunks(len(found), _COST_OF_ELEMENTS), [0]
    while True:
        features = room.features_of(len(spans), max(counts))
        counts = map_chunks(near_features, spans, scene, found, box, look, X, features)
        if max(counts) <= features.share:
            break
    start = np.zeros(len(spans) + 1, np.int64)
    np.cumsum(counts, out=start[1:])
    new = room.candidates_of(int(start[-1]))
    map_chunks(put_in_order, spans, scene, look, features, start, new)
    return new


@kernel
def _first_of(rows: Indices, pair: int) -> int:
    """The first of rows, sorted by body pair, that belongs to this pair or a later one."""
    low, high = 0, len(rows)
    while low < high:
        middle = (low + high) // 2
        if rows[middle, PAIR] < pair:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _cut(starts: Indices, old: Indices, new: Indices, place_of: Indices, rows: Indices) -> None:
    """rows (parts + 1, 3) ← where old and new candidates of each chunk begin, at the first of a body pair; 0."""
    rows[:] = 0
    for part in range(1, len(starts)):
        pair = old[starts[part], PAIR]
        rows[part, 0] = _first_of(old, pair)
        pair = max(pair, 0)
        while pair < len(place_of) - 1 and place_of[pair] < 0:
            pair += 1
        rows[part, 1] = _first_of(new, place_of[pair]) if pair < len(place_of) - 1 else len(new)
    rows[len(starts), 0], rows[len(starts), 1] = len(old), len(new)


@mapped
def _count_kept(old: Indices, place_of: Indices, rows: Indices, span: Span) -> int:
    """How many old candidates of a chunk are kept."""
    count = 0
    for i in range(rows[span[0], 0], rows[span[0] + 1, 0]):
        pair = old[natural(i), PAIR]
        count += place_of[pair if pair >= 0 else len(place_of) - 1] >= 0
    return count


@mapped
def _merge(old: Candidates, new: Candidates, place_of: Indices, rows: Indices, out: Candidates, span: Span) -> int:
    """out ← old candidates whose pair still has a place and new ones, of one chunk.

    They are sorted by body pair. place_of gives the new number of each old pair, in the same order, or −1 where its
    candidates are to go. rows are those of `_cut`, with where each chunk is to be written to. Returns where it ends.
    """
    part = span[0]
    old_pairs, old_numbers, old_known = old.pairs, old.numbers, old.known
    new_pairs, new_numbers, new_known = new.pairs, new.numbers, new.known
    pairs, numbers, known = out.pairs, out.numbers, out.known
    i, j, count = rows[part, 0], rows[part, 1], rows[part, 2]
    old_end, new_end = rows[part + 1, 0], rows[part + 1, 1]
    while i < old_end or j < new_end:
        i, j, count, place = natural(i), natural(j), natural(count), -1
        if i < old_end:
            pair = old_pairs[i, PAIR]
            place = place_of[pair if pair >= 0 else len(place_of) - 1]
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
