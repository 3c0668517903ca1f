"""How drives approach their targets: with an acceleration that they are given, and braking in time.

A drive is as firm as its gains say, and would throw the joint to a target that jumps. With `drive/acceleration` a it
goes there in parts, each with a target of its own. From x, with e = x̃ − x to go, that of a step of length h is ahead
by

    d = ±min(|e|, b (√(¼ + 2|e|/b) − ½)),   b = 0.9 a h²,   but by no more than a h² from its way in the last step

Ways of d, d − b, d − 2b, … add up to d(d + b)/(2b) = |e|: it brakes with 0.9 a, evenly, and ends at x̃. What a drive
that speeds up with all its strength has left is for what the plan does not know. Where |e| ≤ b the target is reached in
the step: one that moves slower than 0.9 a h is followed without lag, a faster one at the distance that it takes to
stop.

A joint that moves away from its target is brought to rest with a, so d may lead away from it. What else slows it down
more than that must not be undone: the drive then is told its `side`, on which it may push (servo.py).
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernel.kernel import plain_kernel
from dovetail.kernel.record import Record, f8, i8
from dovetail.typing import Array, Indices

__all__ = ["Approaches", "approach"]

_BRAKES = 0.9  # of the acceleration, with which it brakes


class Approaches(Record):
    """Drives that may have an acceleration.

    of (m,)           their coordinates
    at (m, 4)         where their targets are among the parameters of all laws, their sides, x as a step begins, and k
    target (m,)       as it was given [rad or m]
    acceleration (m,) infinite where the target jumps
    """

    of: Indices = i8(1)
    at: Indices = i8(2)
    target: Array = f8(1)
    acceleration: Array = f8(1)

    def __init__(self, of: Indices, at: Indices) -> None:
        super().__init__(of=of, at=at, target=np.zeros(len(of)), acceleration=np.full(len(of), np.inf))


@plain_kernel
def approach(d: Approaches, x: Array, past: Array, h: float, p: Array) -> None:
    """p ← targets of this step, from coordinates at x; past (2, …) has the parameters of the last two steps."""
    for k in range(len(d.of)):
        at, side, begun, here = d.at[k, 0], d.at[k, 1], d.at[k, 2], x[d.of[k]]
        p[begun], p[side] = here, 0.0
        if math.isinf(d.acceleration[k]):
            continue  # the target is not moved then
        left, most, last = d.target[k] - here, d.acceleration[k] * (h * h), here - past[0, begun]
        size, brake = abs(left), _BRAKES * most
        if size > brake:
            size = brake * (math.sqrt(0.25 + 2.0 * size / brake) - 0.5)
        ahead = math.copysign(size, left)
        ahead = min(max(ahead, last - most), last + most)
        p[at] = here + ahead
        if ahead * left < 0.0 and p[d.at[k, 3]] > 0.0:
            p[side] = math.copysign(1.0, left)
