"""What is known of distances without measuring them again.

A pair of near bodies has a *path*: how far its bodies have moved relative to each other, summed over the states where
distances were asked for. A candidate remembers its distance and the path at the time; since then it can have come
nearer by at most what has been added to the path. Most candidates are thus known to be out of reach at a glance, the
others are measured. No decision depends on which of the two happened: what is not ruled out at a glance is measured.

Rows of `known` (k, 2):  distance, path.  Half-planes are measured every time; of them only the distance counts.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.solver.contact.distance import edge_edge, point_edge, point_triangle
from dovetail.solver.contact.kinds import EDGE_EDGE, POINT_TRIANGLE
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["at_least", "follow", "measure", "reaching", "squared_distance"]


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
def at_least(known: Array, k: int, path: Array, pair: int) -> float:
    """A distance that candidate k has at least."""
    return known[k, 0] - (path[pair] - known[k, 1])


@kernel
def measure(pairs: Indices, k: int, X: Array, path: Array, known: Array) -> float:
    """Distance of candidate k between two bodies; remembered."""
    squared = squared_distance(pairs[k, 0], X, pairs[k, 3], pairs[k, 4], pairs[k, 5], pairs[k, 6])
    known[k, 0] = math.sqrt(squared)
    known[k, 1] = path[pairs[k, 7]]
    return known[k, 0]


@kernel
def follow(centre: Array, half: Array, near: Indices, Q: Array, Q_before: Array, path: Array) -> None:
    """Path (k,) of every near pair += relative motion from Q_before to Q; Q_before ← Q."""
    n = len(Q)
    shift, turn = np.empty((n, 3)), np.empty(n)
    for b in range(n):
        for x in range(3):
            shift[b, x] = Q[b, 0, x] - Q_before[b, 0, x]
            for i in range(3):
                shift[b, x] += centre[b, i] * (Q[b, 1 + i, x] - Q_before[b, 1 + i, x])
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
        turn[b] = math.sqrt(largest)
        for i in range(4):
            for x in range(3):
                Q_before[b, i, x] = Q[b, i, x]
    for k in range(len(near)):
        a, b = near[k, 0], near[k, 1]
        apart = 0.0
        for x in range(3):
            apart += (shift[a, x] - shift[b, x]) ** 2
        path[k] += math.sqrt(apart) + turn[a] + turn[b]


@kernel
def reaching(pairs: Indices, numbers: Array, X: Array, path: Array, factor: float, known: Array, out: Indices) -> int:
    """out ← candidates between bodies nearer than a multiple of the barrier's range; returns how many."""
    count = 0
    for k in range(len(pairs)):
        if pairs[k, 2] < 0:
            continue
        reach = factor * (numbers[k, 2] + numbers[k, 3])
        if at_least(known, k, path, pairs[k, 7]) < reach and measure(pairs, k, X, path, known) < reach:
            out[count] = k
            count += 1
    return count
