"""projection: how far a vector reaches along an axis, the coordinate of a prismatic joint.

    F = (r, t):   x = r·t [m]

With t = ½(t_i + t_j) as its stencil row this is the `distance` of the specification less `init_distance`.
"""

from __future__ import annotations

from dovetail.solver.joint.function import coordinate
from dovetail.typing import Array

__all__ = ["projection"]


@coordinate(rows=2)
def projection(F: Array, exact: float, dx: Array, d2x: Array) -> float:
    """x = r·t."""
    for a in range(3):
        dx[a] = F[3 + a]
        dx[3 + a] = F[a]
        if exact > 0.0:
            d2x[6 * a + 3 + a] = 1.0
            d2x[6 * (3 + a) + a] = 1.0
    return float(F[0] * F[3] + F[1] * F[4] + F[2] * F[5])
