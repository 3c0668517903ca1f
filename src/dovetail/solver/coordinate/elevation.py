"""elevation: how far a direction has risen towards another, the middle one of three Cardan angles.

    F = (u, v):   x = atan2(u·v, ‖u × v‖) [rad], a quarter of a turn less the angle between them

With d = u·v, m = ‖u × v‖ and e = (v − d u/u², u − d v/v²) the derivatives are dx = e/m and d²x = de/m − e dm/m².
Directions along each other have no plane to turn in: the derivatives are 0 there.
"""

from __future__ import annotations

import math

from dovetail.solver.joint.function import coordinate
from dovetail.typing import Array

__all__ = ["elevation"]


@coordinate(rows=2)
def elevation(F: Array, exact: float, dx: Array, d2x: Array) -> float:
    """x = atan2(u·v, ‖u × v‖)."""
    uu = F[0] * F[0] + F[1] * F[1] + F[2] * F[2]
    vv = F[3] * F[3] + F[4] * F[4] + F[5] * F[5]
    d = F[0] * F[3] + F[1] * F[4] + F[2] * F[5]
    across = (F[1] * F[5] - F[2] * F[4]) ** 2 + (F[2] * F[3] - F[0] * F[5]) ** 2 + (F[0] * F[4] - F[1] * F[3]) ** 2
    m = math.sqrt(across)
    if m == 0.0:
        return math.atan2(d, 0.0)
    for a in range(3):
        dx[a] = (F[3 + a] - d * F[a] / uu) / m
        dx[3 + a] = (F[a] - d * F[3 + a] / vv) / m
    if exact > 0.0:
        for a in range(3):
            for b in range(3):
                same = 1.0 if a == b else 0.0
                u, v, du, dv = F[a], F[3 + a], F[b], F[3 + b]
                # dm by entry b of u and of v
                mu, mv = (vv * du - d * dv) / m, (uu * dv - d * du) / m
                d2x[6 * a + b] = ((2.0 * d * u * du / uu - u * dv - d * same) / uu - dx[a] * mu) / m
                d2x[6 * (3 + a) + 3 + b] = ((2.0 * d * v * dv / vv - v * du - d * same) / vv - dx[3 + a] * mv) / m
                mixed = (same - u * du / uu - dx[a] * mv) / m
                d2x[6 * a + 3 + b] = mixed
                d2x[6 * (3 + b) + a] = mixed
    return math.atan2(d, m)
