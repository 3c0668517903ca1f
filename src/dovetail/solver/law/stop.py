"""stop: a limit that is never crossed, a barrier that rises without bound where the coordinate comes near it.

    φ = −κ (g − ĝ)² ln(g/ĝ) for 0 < g < ĝ,   0 beyond,   ∞ at g ≤ 0

for the gaps g = x − l and g = u − x to both bounds. Like the barrier of contact, but by the gap instead of its square.
ĝ = 1e-4·min(1, u − l) [m or rad] is so small that a stop is where it is said to be, and that what it stores, κĝ²/h²,
is not felt as a bounce. κ is the inertia of the coordinate [kg or kg·m²], so that a gap is a matter of accelerations:
under a load f it is near κĝ²/(h²f); and ten, a hundred … times that where this would be less than 0.01 ĝ (stops.py).
"""

from __future__ import annotations

import math

from dovetail.solver.joint.function import law
from dovetail.typing import Array

__all__ = ["MARGIN", "stop"]

MARGIN = 1e-4


@law(parameters=("lower", "upper", "strength, finite where there is no stop", "κ [kg or kg·m²]"))
def stop(x: float, p: Array, d: Array) -> float:
    """φ = −κ (g − ĝ)² ln(g/ĝ) of both gaps."""
    d[0] = 0.0
    d[1] = 0.0
    if p[2] < math.inf:
        return 0.0
    margin = MARGIN * min(1.0, p[1] - p[0])
    kappa = p[3]
    total = 0.0
    for side in range(2):
        gap = x - p[0] if side == 0 else p[1] - x
        if gap <= 0.0:
            return math.inf
        if gap < margin:
            y = gap / margin
            logarithm = math.log(y)
            away = y - 1.0
            slope = -kappa * margin * (2.0 * away * logarithm + away * away / y)
            d[0] += slope if side == 0 else -slope
            d[1] += kappa * (-2.0 * logarithm - 4.0 * away / y + away * away / (y * y))
            total -= kappa * margin * margin * away * away * logarithm
    return total
