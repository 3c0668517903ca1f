"""What is known of distances without measuring them again.

A pair of near bodies has a *path*: how far its bodies have moved relative to each other, summed over the states where
distances were asked for. A candidate remembers its distance and the path at the time; since then it can have come
nearer by at most what has been added to the path. Most candidates are thus known to be out of reach at a glance, the
others are measured. No decision depends on which of the two happened: what is not ruled out at a glance is measured.

Rows of `known` (k, 2):  distance, path.  Half-planes are measured every time.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernel.kernel import kernel, mapped
from dovetail.kernel.record import f8, i8
from dovetail.kernel.threads import Span, chunks, map_chunks, map_phases
from dovetail.solver.contact.candidates import Candidates
from dovetail.solver.contact.distance import edge_edge, point_edge, point_triangle
from dovetail.solver.contact.kinds import D_HAT, EDGE_EDGE, KIND, PAIR, POINT_TRIANGLE, THICKNESS, X0
from dovetail.solver.contact.motion import Books
from dovetail.solver.natural import natural
from dovetail.typing import Array, Indices

__all__ = [
    "COST_OF_BODY",
    "COST_OF_PAIR",
    "Watched",
    "at_least",
    "follow",
    "follow_bodies",
    "follow_pairs",
    "measure",
    "reaching",
    "remember",
    "squared_distance",
]

_COST = 10.0  # [ns] of a candidate
COST_OF_BODY, COST_OF_PAIR = 40.0, 10.0
"""Of a body and of a near pair [ns], to go to another state."""


@kernel
def squared_distance(kind: int, P: Array, x0: int, x1: int, x2: int, x3: int) -> float:
    """Between two features at P; not for half-planes."""
    if kind == POINT_TRIANGLE:
        _, _, r0, r1, r2 = point_triangle(P, x0, x1, x2, x3)
    elif kind == EDGE_EDGE:
        _, _, r0, r1, r2, _ = edge_edge(P, x0, x1, x2, x3)
    else:
        _, r0, r1, r2 = point_edge(P, x0, x1, x2)
    return r0 * r0 + r1 * r1 + r2 * r2


@kernel
def at_least(pairs: Indices, known: Array, k: int, path: Array) -> float:
    """A distance that candidate k between two bodies has at least."""
    return known[k, 0] - (path[natural(pairs[k, PAIR])] - known[k, 1])


@kernel
def remember(pairs: Indices, known: Array, k: int, path: Array, distance: float) -> None:
    """Candidate k has this distance now."""
    known[k, 0] = distance
    if pairs[k, PAIR] >= 0:
        known[k, 1] = path[pairs[k, PAIR]]


@kernel
def measure(pairs: Indices, known: Array, k: int, X: Array, path: Array) -> float:
    """Distance of candidate k between two bodies; remembered."""
    x0, x1, x2, x3 = pairs[k, X0], pairs[k, X0 + 1], pairs[k, X0 + 2], pairs[k, X0 + 3]
    squared = squared_distance(pairs[k, KIND], X, natural(x0), natural(x1), natural(x2), natural(x3))
    remember(pairs, known, k, path, math.sqrt(squared))
    return known[k, 0]


class Watched(Books):
    """Books of motion with the state Q (n, 4, 3) last gone to, and the vertices (v, 3) that candidates speak of.

    drift (n, 4) is the motion on the way there, of the centres and of corners beside it.
    """

    Q: Array = f8(3)
    drift: Array = f8(2)
    vertices: Indices = i8(2)


@kernel
def follow_bodies(watch: Watched, Q: Array, start: int, stop: int) -> None:
    """Go to the state Q with some bodies: drift ← how far the centres of their boxes move, and how far corners depart.

    Paths are to follow.
    """
    centre, half, drift, Q_before = watch.centre, watch.half, watch.drift, watch.Q
    for b in range(start, stop):
        b = natural(b)
        for x in range(3):
            drift[b, x] = Q[b, 0, x] - Q_before[b, 0, x]
            for i in range(3):
                drift[b, x] += centre[b, i] * (Q[b, 1 + i, x] - Q_before[b, 1 + i, x])
        # farthest that a corner of the box departs from its centre's motion; opposite corners do so alike
        largest = 0.0
        for corner in range(4):
            total = 0.0
            for x in range(3):
                value = half[b, 0] * (Q[b, 1, x] - Q_before[b, 1, x])
                second = half[b, 1] * (Q[b, 2, x] - Q_before[b, 2, x])
                third = half[b, 2] * (Q[b, 3, x] - Q_before[b, 3, x])
                value += second if corner & 1 else -second
                value += third if corner & 2 else -third
                total += value * value
            largest = max(largest, total)
        drift[b, 3] = math.sqrt(largest)
        for i in range(4):
            for x in range(3):
                Q_before[b, i, x] = Q[b, i, x]


@kernel
def follow_pairs(watch: Watched, start: int, stop: int) -> None:
    """Path of some near pairs += the relative motion of their bodies."""
    near, path, drift = watch.near, watch.path, watch.drift
    for k in range(start, min(stop, len(near))):
        k = natural(k)
        a, b = natural(near[k, 0]), natural(near[k, 1])
        apart = 0.0
        for x in range(3):
            apart += (drift[a, x] - drift[b, x]) ** 2
        path[k] += math.sqrt(apart) + drift[a, 3] + drift[b, 3]


_BODIES, _PAIRS = 1, 2


@mapped
def _follow(watch: Watched, Q: Array, span: tuple[int, int, int, int]) -> None:
    """Phases of `follow`: span has where to begin and to end, among bodies or pairs; with both, all of them."""
    _, start, stop, phases = span
    if phases & _BODIES:
        follow_bodies(watch, Q, start, min(stop, len(Q)))
    if phases & _PAIRS:
        follow_pairs(watch, start, stop)


def follow(watch: Watched, Q: Array) -> None:
    """Go to the state Q: path of every near pair += relative motion up to there."""
    bodies, pairs = chunks(len(Q), COST_OF_BODY), chunks(len(watch.near), COST_OF_PAIR)
    if len(bodies) == len(pairs) == 1:
        _follow(watch, Q, (0, 0, max(len(Q), len(watch.near)), _BODIES | _PAIRS))
    else:
        map_phases(_follow, ((bodies, _BODIES), (pairs, _PAIRS)), watch, Q)


@mapped
def _reaching(candidates: Candidates, X: Array, path: Array, factor: float, out: Indices, span: Span) -> int:
    """out from where a chunk begins on ← candidates as of `reaching`; returns how many."""
    _, start, stop = span
    row, last, pairs, numbers, known = start, -1, candidates.pairs, candidates.numbers, candidates.known
    for k in range(start, stop):
        k = natural(k)
        pair = pairs[k, PAIR]
        if pair < 0 or pair == last:
            continue
        reach = factor * (numbers[k, D_HAT] + numbers[k, THICKNESS])
        if at_least(pairs, known, k, path) < reach and measure(pairs, known, k, X, path) < reach:
            out[row], last = k, pair
            row += 1
    return row - start


def reaching(candidates: Candidates, X: Array, path: Array, factor: float) -> Indices:
    """Candidates nearer than a multiple of the barrier's range, one or more of each body pair that has such."""
    spans, out = chunks(candidates.count, _COST), np.empty(candidates.count, np.int64)
    counts = map_chunks(_reaching, spans, candidates, X, path, factor, out)
    return np.concatenate([out[start : start + count] for (_, start, _), count in zip(spans, counts, strict=True)])
