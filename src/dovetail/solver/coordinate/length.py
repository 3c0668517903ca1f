"""length: the distance of two points, the coordinate of a distance joint.

    F = (a, b):   x = ‖b − a‖ [m]

With e = (b − a)/x the derivatives are dx = e·(db − da) and d²x = (db − da)·(1 − e eᵀ)(db − da)/x. Points in one place
have no direction: x is 0 there, and so are its derivatives.
"""

from __future__ import annotations

import math

from dovetail.solver.joint.function import coordinate
from dovetail.typing import Array

__all__ = ["length"]


@coordinate(rows=2)
def length(F: Array, exact: float, dx: Array, d2x: Array) -> float:
    """x = ‖b − a‖."""
    x = math.sqrt((F[3] - F[0]) ** 2 + (F[4] - F[1]) ** 2 + (F[5] - F[2]) ** 2)
    if x == 0.0:
        return 0.0
    for a in range(3):
        dx[3 + a] = (F[3 + a] - F[a]) / x
        dx[a] = -dx[3 + a]
    if exact > 0.0:
        for a in range(3):
            for b in range(3):
                value = ((1.0 if a == b else 0.0) - dx[a] * dx[b]) / x
                d2x[6 * a + b] = value
                d2x[6 * (3 + a) + 3 + b] = value
                d2x[6 * a + 3 + b] = -value
                d2x[6 * (3 + a) + b] = -value
    return x
