"""Who might meet whom in a step: the bodies that contact couples into islands."""

from __future__ import annotations

import math

import numpy as np

from dovetail.solver.contact.kinds import EDGE_EDGE, POINT_EDGE
from dovetail.solver.contact.known import at_least, measure
from dovetail.solver.islands import unite
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["unite_threatened"]


@kernel
def _root(parent: Indices, a: int) -> int:
    while parent[a] != a:
        parent[a] = parent[parent[a]]
        a = parent[a]
    return a


@kernel
def unite_threatened(
    parent: Indices, position: Indices, active: Indices, pairs: Indices, numbers: Array, path: Array, known: Array,
    shift: Array, turn: Array, x_base: Indices, V: Array, X: Array, y: Array,
) -> None:  # fmt: skip
    """Unite bodies that might come within the range of the barrier if each took any share of the step −y.

    A candidate is ruled out if its distance exceeds the range by more than both bodies move, or if the boxes that
    its two features sweep stay apart by the range along some axis.
    """
    box = np.empty((2, 2, 3))
    span = np.empty(len(turn))  # most that a point of each body moves
    for b in range(len(turn)):
        span[b] = turn[b] + math.sqrt(shift[b, 0] ** 2 + shift[b, 1] ** 2 + shift[b, 2] ** 2)
    for k in range(len(pairs)):
        kind, a, b = pairs[k, 0], pairs[k, 1], pairs[k, 2]
        if b < 0 or position[a] < 0 or position[b] < 0 or not (active[position[a]] or active[position[b]]):
            continue
        reach = numbers[k, 2] + numbers[k, 3]
        far = reach + span[a] + span[b]
        if at_least(known, k, path, pairs[k, 7]) >= far or _root(parent, a) == _root(parent, b):
            continue
        if measure(pairs, k, X, path, known) >= far:
            continue
        corners = 3 if kind == POINT_EDGE else 4
        split = 2 if kind == EDGE_EDGE else 1
        for i in range(corners):
            side = 0 if i < split else 1
            fresh = i == 0 or i == split
            body = a if side == 0 else b
            x, row = pairs[k, 3 + i], position[body]
            v = x - x_base[body]
            for axis in range(3):
                start = end = X[x, axis]
                if active[row]:
                    end -= (
                        y[row, axis]
                        + V[v, 0] * y[row, 3 + axis]
                        + V[v, 1] * y[row, 6 + axis]
                        + V[v, 2] * y[row, 9 + axis]
                    )
                low, high = min(start, end), max(start, end)
                box[side, 0, axis] = low if fresh else min(box[side, 0, axis], low)
                box[side, 1, axis] = high if fresh else max(box[side, 1, axis], high)
        apart = False
        for axis in range(3):
            if box[0, 0, axis] - box[1, 1, axis] >= reach or box[1, 0, axis] - box[0, 1, axis] >= reach:
                apart = True
        if not apart:
            unite(parent, a, b)
