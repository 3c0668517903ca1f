"""Continuous collision detection: how far a step may go without a gap closing.

Additive CCD: along a straight step the distance of two features shrinks at most as fast as their vertices move
towards each other. Advancing by (gap − landing gap)/speed is therefore always safe, and repeating it converges to
the largest safe step. Common motion is taken out first. A step never lands below max(g/10, min(0.3 d̂, g/2)) of a
gap g = distance − thickness: a gap that is squeezed to nothing would take many iterations to open again.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.solver.contact.kinds import EDGE_EDGE, POINT_EDGE, POINT_PLANE
from dovetail.solver.contact.known import at_least, measure, squared_distance
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["free_share"]

_ROUNDS = 200


@kernel
def _landing(gap: float, d_hat: float) -> float:
    return max(0.1 * gap, min(0.3 * d_hat, 0.5 * gap))


@kernel
def free_share(
    pairs: Indices, numbers: Array, path: Array, known: Array, x_base: Indices, V: Array, plane_normal: Array, X: Array,
    position: Indices, island: Indices, running: Indices, active: Indices, need: Array, motion: Array, still:
    float, y: Array, alpha: Array,
) -> None:  # fmt: skip
    """alpha[island] ← at most the share of the step −y that keeps every gap of the island open.

    Most candidates are ruled out by what is known of their distances and by the motion of their bodies.
    """
    P, dP = np.empty((4, 3)), np.empty((4, 3))
    for k in range(len(pairs)):
        kind, a, b = pairs[k, 0], pairs[k, 1], pairs[k, 2]
        m = island[a]
        if b >= 0 and island[b] >= 0:
            if m >= 0 and m != island[b]:
                continue  # islands are apart whatever share of the step each takes
            m = island[b]
        if not running[m]:
            continue
        share = alpha[m]
        d_hat, thickness = numbers[k, 2], numbers[k, 3]
        most = need[pairs[k, 7]] if b >= 0 else motion[a] + still
        gap = (at_least(known, k, path, pairs[k, 7]) if b >= 0 else known[k, 0]) - thickness
        if share * most <= gap - _landing(gap, d_hat):
            continue
        if b >= 0:
            gap = measure(pairs, k, X, path, known) - thickness
        landing = _landing(gap, d_hat)
        room = gap - landing
        if share * most <= room:
            continue
        corners = 1 if kind == POINT_PLANE else 3 if kind == POINT_EDGE else 4
        split = 2 if kind == EDGE_EDGE else 1
        for i in range(corners):
            x, body = pairs[k, 3 + i], a if i < split else b
            v, row = x - x_base[body], position[body]
            for axis in range(3):
                P[i, axis] = X[x, axis]
                dP[i, axis] = 0.0
                if row >= 0 and active[row]:
                    dP[i, axis] = -(
                        y[row, axis]
                        + V[v, 0] * y[row, 3 + axis]
                        + V[v, 1] * y[row, 6 + axis]
                        + V[v, 2] * y[row, 9 + axis]
                    )
        if kind == POINT_PLANE:
            plane = pairs[k, 4]
            closing = 0.0
            for axis in range(3):
                closing -= dP[0, axis] * plane_normal[plane, axis]
            if share * closing > room:
                alpha[m] = room / closing
            continue
        for axis in range(3):
            mean = 0.0
            for i in range(corners):
                mean += dP[i, axis]
            for i in range(corners):
                dP[i, axis] -= mean / corners
        speed_a = speed_b = 0.0
        for i in range(corners):
            speed = math.sqrt(dP[i, 0] ** 2 + dP[i, 1] ** 2 + dP[i, 2] ** 2)
            if i < split:
                speed_a = max(speed_a, speed)
            else:
                speed_b = max(speed_b, speed)
        speed = speed_a + speed_b
        if share * speed <= room:
            continue
        travelled = 0.0
        advance = room / speed
        for _ in range(_ROUNDS):
            travelled += advance
            if travelled >= share:
                travelled = share
                break
            for i in range(corners):
                for axis in range(3):
                    P[i, axis] += advance * dP[i, axis]
            left = math.sqrt(squared_distance(kind, P, 0, 1, 2, 3)) - thickness - landing
            if left < 0.1 * landing:
                break
            advance = 0.9 * left / speed
        alpha[m] = min(share, travelled)
