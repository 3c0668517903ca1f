"""Continuous collision detection: how far a step may go without a gap closing.

Conservative advancement: whatever moves on straight lines may safely advance
- by (gap − landing gap)/speed, since the distance of two features shrinks at most as fast as their corners move towards each other
  (additive CCD; common motion is taken out first), or
- until the corners of one feature are level with those of the other along the line between their closest points: the distance of convex
  sets is at least that of their shadows on any line. Features that slide past each other advance far by this, however small
  their gap.
The larger of the two is taken again and again, which converges to the largest safe step. A step never lands below max(g/10,
min(0.3 d̂, g/2)) of a gap g = distance − thickness: a gap that is squeezed to nothing would take many iterations to open again.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.solver.contact.detect import EDGE_EDGE, POINT_EDGE, POINT_PLANE, POINT_TRIANGLE
from dovetail.solver.contact.distance import edge_edge, point_edge, point_triangle
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["body_motion", "free_share"]

_ROUNDS = 200


@kernel
def body_motion(
    centre: Array, half: Array, position: Indices, active: Indices, y: Array, frame: Array, motion: Array
) -> float:
    """motion (n,) ← farthest that a vertex of each body moves in the step −y, seen from a frame moving by −frame.

    The farthest vertex is bounded by a corner of the body's box. Returns the motion of what stands still.
    """
    still = math.sqrt(frame[0] * frame[0] + frame[1] * frame[1] + frame[2] * frame[2])
    for b in range(len(position)):
        k = position[b]
        motion[b] = still
        if k < 0 or not active[k]:
            continue
        largest = 0.0
        for corner in range(8):
            total = 0.0
            for x in range(3):
                value = y[k, x] - frame[x]
                for i in range(3):
                    sign = 1.0 if (corner >> i) & 1 else -1.0
                    value += (centre[b, i] + sign * half[b, i]) * y[k, 3 + 3 * i + x]
                total += value * value
            largest = max(largest, total)
        motion[b] = math.sqrt(largest)
    return still


@kernel
def _landing(gap: float, d_hat: float) -> float:
    return max(0.1 * gap, min(0.3 * d_hat, 0.5 * gap))


@kernel
def _until_level(
    P: Array, dP: Array, split: int, corners: int, n0: float, n1: float, n2: float, floor: float, longest: float
) -> float:
    """How far (≤ longest) all corners of the first feature stay above all those of the second by `floor` along n."""
    for i in range(split):
        for j in range(split, corners):
            level = n0 * (P[i, 0] - P[j, 0]) + n1 * (P[i, 1] - P[j, 1]) + n2 * (P[i, 2] - P[j, 2])
            rate = n0 * (dP[i, 0] - dP[j, 0]) + n1 * (dP[i, 1] - dP[j, 1]) + n2 * (dP[i, 2] - dP[j, 2])
            if level + longest * rate < floor:
                longest = max((floor - level) / rate, 0.0)
    return longest


@kernel
def free_share(
    pairs: Indices, numbers: Array, squared: Array, x_base: Indices, V: Array, plane_normal: Array, X: Array,
    position: Indices, island: Indices, running: Indices, active: Indices, motion: Array, still: float, y: Array,
    alpha: Array,
) -> None:  # fmt: skip
    """alpha[island] ← at most the share of the step −y that keeps every gap of the island open.

    squared (k,) are the present squared distances of the candidates: most are ruled out by them and the motion of
    their bodies.
    """
    P, dP = np.empty((4, 3)), np.empty((4, 3))
    for k in range(len(pairs)):
        kind, a, b = pairs[k, 0], pairs[k, 1], pairs[k, 2]
        m = island[a] if b < 0 else max(island[a], island[b])
        if not running[m]:
            continue
        share = alpha[m]
        d_hat, thickness = numbers[k, 2], numbers[k, 3]
        gap = math.sqrt(squared[k]) - thickness
        landing = _landing(gap, d_hat)
        room = gap - landing
        if share * (motion[a] + (motion[b] if b >= 0 else still)) <= room:
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
        for _ in range(_ROUNDS):
            if kind == POINT_TRIANGLE:
                _, _, r0, r1, r2 = point_triangle(P, 0, 1, 2, 3)
            elif kind == EDGE_EDGE:
                _, _, r0, r1, r2, _ = edge_edge(P, 0, 1, 2, 3)
            else:
                _, r0, r1, r2 = point_edge(P, 0, 1, 2)
            distance = math.sqrt(r0 * r0 + r1 * r1 + r2 * r2)
            left = distance - thickness - landing
            if left < 0.1 * landing:
                break
            floor = distance - 0.9 * left
            advance = _until_level(P, dP, split, corners, r0 / distance, r1 / distance, r2 / distance, floor, share)
            advance = max(advance, 0.9 * left / speed)
            travelled += advance
            if travelled >= share:
                break
            for i in range(corners):
                for axis in range(3):
                    P[i, axis] += advance * dP[i, axis]
        alpha[m] = min(share, travelled)
