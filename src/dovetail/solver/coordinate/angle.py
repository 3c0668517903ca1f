"""angle: how far the right body has turned about the hinge axis, the coordinate of a revolute joint.

    F = (n_i, b_i, n_j, b_j):   c = ½(n_i·n_j + b_i·b_j),  s = ½(b_i·n_j − n_i·b_j),  x = atan2(s, c) [rad]

Positive when the right body turns right-handed about +t relative to the left one. With the complex number z = c + i s,
which is bilinear in the two bodies, x = Im log z; hence dx = Im(dz/z) and d²x = Im(d²z/z − (dz/z)²).
"""

from __future__ import annotations

import math

from dovetail.solver.joint.function import coordinate
from dovetail.typing import Array

__all__ = ["angle"]


@coordinate(rows=4, period=2.0 * math.pi)
def angle(F: Array, exact: float, dx: Array, d2x: Array) -> float:
    """x = atan2(s, c)."""
    c = 0.0
    s = 0.0
    for a in range(3):
        c += 0.5 * (F[a] * F[6 + a] + F[3 + a] * F[9 + a])
        s += 0.5 * (F[3 + a] * F[6 + a] - F[a] * F[9 + a])
    # 1/z = u + i v
    size = 1.0 / (c * c + s * s)
    u, v = c * size, -s * size
    for a in range(3):
        n_i, b_i, n_j, b_j = 0.5 * F[a], 0.5 * F[3 + a], 0.5 * F[6 + a], 0.5 * F[9 + a]
        # dc and ds by an entry are the other body's rows, see c and s above; dz/z = real + i imaginary, and the real
        # part waits in the first row of d2x, which is overwritten last
        for k, dc, ds in ((a, n_j, -b_j), (3 + a, b_j, n_j), (6 + a, n_i, b_i), (9 + a, b_i, -n_i)):
            dx[k] = u * ds + v * dc
            d2x[k] = u * dc - v * ds
    if exact == 0.0:
        return math.atan2(s, c)
    for k in range(11, -1, -1):
        real, imaginary = d2x[k], dx[k]
        for m in range(12):
            d2x[12 * k + m] = -(real * dx[m] + imaginary * d2x[m])
    for a in range(3):
        # d²z/z between the bodies: c couples n–n and b–b, s couples b_i–n_j and n_i–b_j
        for left, right, value in ((a, 6 + a, v), (3 + a, 9 + a, v), (3 + a, 6 + a, u), (a, 9 + a, -u)):
            d2x[12 * left + right] += 0.5 * value
            d2x[12 * right + left] += 0.5 * value
    return math.atan2(s, c)
