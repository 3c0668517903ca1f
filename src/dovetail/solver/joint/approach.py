"""How drives approach their targets: with an acceleration that they are given, and braking in time.

A drive is as firm as its gains say, and would throw the joint to a target that jumps. With `drive/acceleration` a it
goes there in parts, each with a target of its own. From x, with e = x̃ − x to go, that of a step of length h is ahead by

    d = ±min(|e|, h√(a|e|)),   but by no more than a h² from what it was in the last step

√(a|e|) is the speed that ends within e with the deceleration a/2. Where |e| ≤ a h² the target is reached in the step:
one that moves slower than a h is followed without lag, a faster one at the distance that it takes to stop.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernel.kernel import plain_kernel
from dovetail.kernel.record import Record, f8, i8
from dovetail.typing import Array, Indices

__all__ = ["Approaches", "approach"]


class Approaches(Record):
    """Drives that may have an acceleration.

    of, at (m,)       their coordinates, and where their targets are among the parameters of all laws
    target (m,)       as it was given [rad or m]
    acceleration (m,) infinite where the target jumps
    """

    of: Indices = i8(1)
    at: Indices = i8(1)
    target: Array = f8(1)
    acceleration: Array = f8(1)

    def __init__(self, of: Indices, at: Indices) -> None:
        super().__init__(of=of, at=at, target=np.zeros(len(of)), acceleration=np.full(len(of), np.inf))


@plain_kernel
def approach(d: Approaches, x: Array, past: Array, h: float, p: Array) -> None:
    """p ← targets of this step, from coordinates at x; past (2, …) has the parameters of the last two steps."""
    for k in range(len(d.of)):
        at, here = d.at[k], x[d.of[k]]
        if math.isinf(d.acceleration[k]):
            continue  # the target is not moved then
        left, most, last = d.target[k] - here, d.acceleration[k] * (h * h), past[0, at] - past[1, at]
        size = abs(left)
        ahead = math.copysign(min(size, math.sqrt(most * size)), left)
        p[at] = here + min(max(ahead, last - most), last + most)
