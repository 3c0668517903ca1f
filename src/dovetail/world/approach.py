"""How drives approach their targets: with an acceleration that they are given, and braking in time.

A drive is as firm as its gains say, and would throw the joint to a target that jumps. With `drive/acceleration` a it
goes there in parts, each with a target of its own. From x, with e = x̃ − x to go, that of a step of length h is ahead by

    d = ±min(|e|, h√(a|e|)),   but by no more than a h² from what it was in the last step

√(a|e|) is the speed that ends within e with the deceleration a/2. Where |e| ≤ a h² the target is reached in the step:
one that moves slower than a h is followed without lag, a faster one at the distance that it takes to stop.
"""

from __future__ import annotations

import numpy as np

from dovetail.typing import Array

__all__ = ["approach"]


def approach(x: Array, target: Array, last: Array, acceleration: Array, h: float) -> Array:
    """Targets of this step (m,) on the way to a target, from x; `last` is by how much they were moved before."""
    jumps = np.isinf(acceleration)  # the target is not moved then
    left, most = target - x, np.where(jumps, 0.0, acceleration * (h * h))
    size = np.abs(left)
    ahead = np.copysign(np.minimum(size, np.sqrt(most * size)), left)
    moved = np.minimum(np.maximum(ahead, last - most), last + most)
    found: Array = np.where(jumps, target, x + moved)
    return found
