"""How far contacts have slid since the start of a step, by how far their bodies have gone.

Contacts of one body pair follow each other: the motion of the two bodies is found once for all of them.
"""

from __future__ import annotations

from dovetail.kernel.kernel import kernel
from dovetail.solver.natural import natural
from dovetail.typing import Array

__all__ = ["motion", "slip"]


@kernel
def motion(Q: Array, Q_start: Array, a: int, b: int, d: Array) -> None:
    """d (8, 3) ← how far the rows of Q of two bodies have gone in the step so far; 0 for a half-plane, b < 0."""
    other = natural(b) if b >= 0 else a
    for i in range(4):
        for x in range(3):
            d[i, x] = Q[a, i, x] - Q_start[a, i, x]
            d[4 + i, x] = Q[other, i, x] - Q_start[other, i, x] if b >= 0 else 0.0


@kernel
def slip(xi: Array, t: Array, roll: Array, k: int, d: Array) -> tuple[float, float]:
    """u − u₀ (2): how far contact k has slid since the start of the step [m], its bodies having gone by d."""
    x = y = z = 0.0
    for i in range(4):
        v, w = xi[k, i], xi[k, 4 + i]
        x += v * d[i, 0] - w * d[4 + i, 0]
        y += v * d[i, 1] - w * d[4 + i, 1]
        z += v * d[i, 2] - w * d[4 + i, 2]
    return (
        t[k, 0, 0] * x + t[k, 0, 1] * y + t[k, 0, 2] * z - roll[k, 0],
        t[k, 1, 0] * x + t[k, 1, 1] * y + t[k, 1, 2] * z - roll[k, 1],
    )
