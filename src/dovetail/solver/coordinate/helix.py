"""helix: how far a nut is ahead of its thread, the coordinate that a screw joint holds.

    F = (r/pitch, t, n_i, b_i, n_j, b_j):   x = r·t/pitch − θ/2π [turns],   θ the angle of angle.py

A screw that is turned once comes back to the same x one pitch ahead: the period is one turn.
"""

from __future__ import annotations

import math

from dovetail.kernel.kernel import kernel
from dovetail.solver.joint.function import coordinate
from dovetail.typing import Array

__all__ = ["helix"]

_TURN = 1.0 / (2.0 * math.pi)


@kernel
def _slopes(F: Array, k: int) -> tuple[float, float]:
    """∂c/∂F, ∂s/∂F by entry k of the rows (n_i, b_i, n_j, b_j), 2c = n_i·n_j + b_i·b_j, 2s = b_i·n_j − n_i·b_j."""
    a = k % 3
    if k < 3:
        return 0.5 * F[12 + a], -0.5 * F[15 + a]
    if k < 6:
        return 0.5 * F[15 + a], 0.5 * F[12 + a]
    if k < 9:
        return 0.5 * F[6 + a], 0.5 * F[9 + a]
    return 0.5 * F[9 + a], -0.5 * F[6 + a]


@coordinate(rows=6, period=1.0)
def helix(F: Array, exact: float, dx: Array, d2x: Array) -> float:
    """x = r·t/pitch − θ/2π, with z = c + i s and dθ, d²θ as in angle.py."""
    way = c = s = 0.0
    for a in range(3):
        way += F[a] * F[3 + a]
        c += 0.5 * (F[6 + a] * F[12 + a] + F[9 + a] * F[15 + a])
        s += 0.5 * (F[9 + a] * F[12 + a] - F[6 + a] * F[15 + a])
        dx[a] = F[3 + a]
        dx[3 + a] = F[a]
    size = 1.0 / (c * c + s * s)
    u, v = c * size, -s * size
    for k in range(12):
        dc, ds = _slopes(F, k)
        dx[6 + k] = -_TURN * (u * ds + v * dc)
    if exact > 0.0:
        for a in range(3):
            d2x[18 * a + 3 + a] = 1.0
            d2x[18 * (3 + a) + a] = 1.0
            for left, right, value in ((a, 6 + a, v), (3 + a, 9 + a, v), (3 + a, 6 + a, u), (a, 9 + a, -u)):
                d2x[18 * (6 + left) + 6 + right] = -0.5 * _TURN * value
                d2x[18 * (6 + right) + 6 + left] = -0.5 * _TURN * value
        for k in range(12):
            dc, ds = _slopes(F, k)
            real = u * dc - v * ds
            for m in range(12):
                d2x[18 * (6 + k) + 6 + m] -= real * dx[6 + m]
                d2x[18 * (6 + m) + 6 + k] -= real * dx[6 + m]
    return way - _TURN * math.atan2(s, c)
