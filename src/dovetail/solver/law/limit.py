"""limit: a cubic penalty outside a range; zero inside and on its borders.

φ = s((x − u)/w)³ above u,  s((l − x)/w)³ below l,  w = u − l (1 where u = l)

Where s is infinite the limit is a hard one, see stop.py, and this is zero.
"""

from __future__ import annotations

import math

from dovetail.solver.joint.function import law
from dovetail.typing import Array

__all__ = ["limit"]


@law(parameters=("lower", "upper", "strength"))
def limit(x: float, p: Array, d: Array) -> float:
    """φ = s (excess/w)³."""
    lower, upper = p[0], p[1]
    strength = p[2] if p[2] < math.inf else 0.0
    width = upper - lower if upper > lower else 1.0
    sign = 1.0
    excess = 0.0
    if x > upper:
        excess = (x - upper) / width
    elif x < lower:
        excess = (lower - x) / width
        sign = -1.0
    d[0] = sign * 3.0 * strength * excess * excess / width
    d[1] = 6.0 * strength * excess / (width * width)
    return float(strength * excess * excess * excess)
