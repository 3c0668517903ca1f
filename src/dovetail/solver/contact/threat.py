"""Who might meet whom in a step: the bodies that contact couples into islands, and those that it concerns at all."""

from __future__ import annotations

import math

import numpy as np

from dovetail.solver.contact.candidates import Candidates
from dovetail.solver.contact.kinds import D_HAT, KIND, THICKNESS, X0, A, B, corners_of, split_of
from dovetail.solver.contact.known import at_least, measure
from dovetail.solver.contact.motion import vertex_step
from dovetail.solver.contact.scene import ContactScene
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
def _may_meet_plane(pairs: Indices, k: int, scene: ContactScene, X: Array, y: Array, reach: float) -> bool:
    """Whether the vertex of candidate k is within the range of its half-plane before or after the step −y."""
    x, plane, a = pairs[k, X0], pairs[k, X0 + 1], pairs[k, A]
    V, normals, points, v = scene.V, scene.plane_normal, scene.plane_point, x - scene.x_base[a]
    height = moved = 0.0
    for axis in range(3):
        normal = normals[plane, axis]
        height += (X[x, axis] - points[plane, axis]) * normal
        moved += vertex_step(V, v, y, a, axis) * normal
    return min(height, height + moved) < reach


@kernel
def _boxes_meet(
    pairs: Indices, k: int, V: Array, x_base: Indices, X: Array, y: Array, reach: float, box: Array
) -> bool:
    """Whether the boxes that the two features of candidate k sweep come within reach; box (2, 2, 3) is scratch."""
    kind = pairs[k, KIND]
    split = split_of(kind)
    for i in range(corners_of(kind)):
        side = 0 if i < split else 1
        fresh = i == 0 or i == split
        body = pairs[k, A + side]
        x = pairs[k, X0 + i]
        for axis in range(3):
            start = X[x, axis]
            end = start + vertex_step(V, x - x_base[body], y, body, axis)
            low, high = min(start, end), max(start, end)
            box[side, 0, axis] = low if fresh else min(box[side, 0, axis], low)
            box[side, 1, axis] = high if fresh else max(box[side, 1, axis], high)
    for axis in range(3):
        if box[0, 0, axis] - box[1, 1, axis] >= reach or box[1, 0, axis] - box[0, 1, axis] >= reach:
            return False
    return True


@kernel
def unite_threatened(
    candidates: Candidates, scene: ContactScene, X: Array, path: Array, shift: Array, turn: Array, bend: Array,
    unconverged: Indices, is_free: Indices, y: Array, parent: Indices, guarded: Indices,
) -> None:  # fmt: skip
    """Unite bodies that might come within the range of the barrier if each took any share of the step −y.

    guarded (n,) ← 1 for them, and for those that might so touch a half-plane or a fixed body. A candidate is ruled out
    if its distance exceeds the range by more than both bodies move, or if the boxes that its two features sweep stay
    apart by the range along some axis, also if the step is curved (bend, see motion.py).
    """
    box = np.empty((2, 2, 3))
    span = np.empty(len(turn))  # most that a point of each body moves
    for b in range(len(turn)):
        span[b] = turn[b] + math.sqrt(shift[b, 0] ** 2 + shift[b, 1] ** 2 + shift[b, 2] ** 2)
    pairs, numbers, known = candidates.pairs, candidates.numbers, candidates.known
    V, x_base = scene.V, scene.x_base
    for k in range(len(pairs)):
        a, b = pairs[k, A], pairs[k, B]
        if not (unconverged[a] or (b >= 0 and unconverged[b])):
            continue
        reach = numbers[k, D_HAT] + numbers[k, THICKNESS]
        if b < 0:
            if not guarded[a] and _may_meet_plane(pairs, k, scene, X, y, reach + bend[a]):
                guarded[a] = 1
            continue
        both = is_free[a] and is_free[b]
        far = reach + span[a] + span[b]
        if at_least(pairs, known, k, path) >= far:
            continue
        if guarded[a] and guarded[b] and (not both or _root(parent, a) == _root(parent, b)):
            continue
        if measure(pairs, known, k, X, path) >= far:
            continue
        if _boxes_meet(pairs, k, V, x_base, X, y, reach + bend[a] + bend[b], box):
            guarded[a] = guarded[b] = 1
            if both:
                unite(parent, a, b)
