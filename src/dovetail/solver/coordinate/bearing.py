"""bearing: where a direction points in a plane, the coordinates of a universal joint.

    F = (n, b, v):   x = atan2(b·v, n·v) [rad]

With z = n·v + i b·v, which is bilinear, x = Im log z; hence dx = Im(dz/z) and d²x = Im(d²z/z − (dz/z)²).
"""

from __future__ import annotations

import math

from dovetail.solver.joint.function import coordinate
from dovetail.typing import Array

__all__ = ["bearing"]


@coordinate(rows=3, period=2.0 * math.pi)
def bearing(F: Array, exact: float, dx: Array, d2x: Array) -> float:
    """x = atan2(b·v, n·v)."""
    c = F[0] * F[6] + F[1] * F[7] + F[2] * F[8]
    s = F[3] * F[6] + F[4] * F[7] + F[5] * F[8]
    # 1/z = u + i v
    size = 1.0 / (c * c + s * s)
    u, v = c * size, -s * size
    for a in range(3):
        dx[a] = v * F[6 + a]
        dx[3 + a] = u * F[6 + a]
        dx[6 + a] = u * F[3 + a] + v * F[a]
    if exact == 0.0:
        return math.atan2(s, c)
    for k in range(9):
        a = k % 3
        # the real part of dz/z by entry k; dx is the imaginary one
        real = u * F[6 + a] if k < 3 else -v * F[6 + a] if k < 6 else u * F[a] - v * F[3 + a]
        for m in range(9):
            d2x[9 * k + m] -= real * dx[m]
            d2x[9 * m + k] -= real * dx[m]
    for a in range(3):
        for row, value in ((a, v), (3 + a, u)):
            d2x[9 * row + 6 + a] += value
            d2x[9 * (6 + a) + row] += value
    return math.atan2(s, c)
