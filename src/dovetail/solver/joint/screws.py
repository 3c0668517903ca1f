"""Bodies of a tree moved by screws: every joint moves what hangs on it by a twist of its own, however far.

A twist is constant in the parent's frame where the joint has one coordinate: its exponential is then the whole way. Of
joints with several coordinates it is the beginning of it.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["move_bodies"]


@kernel
def _exponential(twist: Array, k: int, sign: float, R: Array, t: Array) -> None:
    """R, t (3, 3), (3,) ← the motion x → R x + t, counted from the centre, that a constant twist makes in unit time."""
    square = twist[k, 3] ** 2 + twist[k, 4] ** 2 + twist[k, 5] ** 2
    angle = math.sqrt(square)
    s, c, d = 1.0 - square / 6.0, 0.5 - square / 24.0, 1.0 / 6.0 - square / 120.0
    if angle > 1e-4:  # below, the series is exact to 1e-17
        s, c = math.sin(angle) / angle, (1.0 - math.cos(angle)) / square
        d = (1.0 - s) / square
    for a in range(3):
        t[a] = 0.0
        for b in range(3):
            one = 1.0 if a == b else 0.0
            once = 0.0 if a == b else twist[k, 6 - a - b] * sign * (1.0 if (b + 1) % 3 == a else -1.0)  # [ω]×
            twice = twist[k, 3 + a] * twist[k, 3 + b] - one * square  # [ω]×²
            R[a, b] = one + s * once + c * twice
            t[a] += (one + c * once + d * twice) * sign * twist[k, b]


@kernel
def move_bodies(branches: Indices, sign: Array, twist: Array, centre: Array, bodies: Indices, Q: Array) -> None:
    """Move bodies in Q from the root on: branch k turns its child, and all that hangs on it, by sign[k]·twist[k].

    branches (k, 2) are parent and child, as places in `bodies`; −1 does not move.
    """
    n = len(bodies)
    R, t, turn, shift, moved = np.empty((n, 3, 3)), np.empty((n, 3)), np.empty((3, 3)), np.empty(3), np.empty(3)
    for k in range(len(branches)):
        parent, child = branches[k, 0], branches[k, 1]
        _exponential(twist, k, sign[k], turn, shift)
        for a in range(3):
            t[child, a] = shift[a] if parent < 0 else t[parent, a]
            for b in range(3):
                R[child, a, b] = turn[a, b] if parent < 0 else 0.0
                if parent >= 0:
                    t[child, a] += R[parent, a, b] * shift[b]
                    for c in range(3):
                        R[child, a, b] += R[parent, a, c] * turn[c, b]
        body = bodies[child]
        for r in range(4):
            for a in range(3):
                moved[a] = t[child, a] + centre[a] if r == 0 else 0.0
                for b in range(3):
                    moved[a] += R[child, a, b] * (Q[body, r, b] - (centre[b] if r == 0 else 0.0))
            for a in range(3):
                Q[body, r, a] = moved[a]
