"""Bodies of a tree moved by screws: every joint moves what hangs on it by a twist of its own, however far.

A twist is constant in the parent's frame where the joint has one coordinate: its exponential is then the whole way. Of
joints with several coordinates it is the beginning of it.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["move_bodies"]


@kernel
def _exponential(twist: Array, sign: float, R: Array, t: Array) -> None:
    """The motion x → R x + t, counted from the centre, that a constant twist makes in unit time."""
    w0, w1, w2 = sign * twist[3], sign * twist[4], sign * twist[5]
    square = w0 * w0 + w1 * w1 + w2 * w2
    angle = math.sqrt(square)
    s, c, d = 1.0 - square / 6.0, 0.5 - square / 24.0, 1.0 / 6.0 - square / 120.0
    if angle > 1e-4:  # below, the series is exact to 1e-17
        s, c = math.sin(angle) / angle, (1.0 - math.cos(angle)) / square
        d = (1.0 - s) / square
    once = np.array([[0.0, -w2, w1], [w2, 0.0, -w0], [-w1, w0, 0.0]])
    for a in range(3):
        t[a] = 0.0
        for b in range(3):
            twice = 0.0
            for k in range(3):
                twice += once[a, k] * once[k, b]
            one = 1.0 if a == b else 0.0
            R[a, b] = one + s * once[a, b] + c * twice
            t[a] += (one + c * once[a, b] + d * twice) * sign * twist[b]


@kernel
def move_bodies(branches: Indices, sign: Array, twist: Array, centre: Array, bodies: Indices, Q: Array) -> None:
    """Move bodies in Q from the root on: branch k turns its child, and all that hangs on it, by sign[k]·twist[k].

    branches (k, 2) are parent and child, as places in `bodies`; −1 does not move.
    """
    n = len(bodies)
    R, t, turn, shift, moved = np.empty((n, 3, 3)), np.empty((n, 3)), np.empty((3, 3)), np.empty(3), np.empty((4, 3))
    for k in range(len(branches)):
        parent, child = branches[k, 0], branches[k, 1]
        _exponential(twist[k], sign[k], turn, shift)
        for a in range(3):
            for b in range(3):
                R[child, a, b] = turn[a, b]
            t[child, a] = shift[a]
        if parent >= 0:
            for a in range(3):
                t[child, a] = t[parent, a]
                for b in range(3):
                    t[child, a] += R[parent, a, b] * shift[b]
                    R[child, a, b] = 0.0
                    for c in range(3):
                        R[child, a, b] += R[parent, a, c] * turn[c, b]
        at = Q[bodies[child]]
        for r in range(4):
            for a in range(3):
                moved[r, a] = t[child, a] + centre[a] if r == 0 else 0.0
                for b in range(3):
                    moved[r, a] += R[child, a, b] * (at[r, b] - (centre[b] if r == 0 else 0.0))
        at[:] = moved
