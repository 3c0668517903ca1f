"""servo: a drive with gains and an effort limit, effort k(x̃ − x) + c(ṽ − ẋ) cut off at ±f.

With ẋ = (x − xₙ)/h both gains make one parabola,

    A/2 (x − a)²,   A = h²k + hc,   a = (hk x̃ + c(xₙ + hṽ))/(hk + c)

which goes on as a straight line of slope ±h²f where it would get steeper. That effort moves an inertia I by h²f/I in a
step: within some such ways of a Newton might leap over the parabola, and is told of it by d[2] (function.py).
"""

from __future__ import annotations

from dovetail.solver.joint.function import law
from dovetail.typing import Array

__all__ = ["servo"]

_WAYS = 4.0  # gravity and what the joint carries add to what the drive does


@law(
    parameters=(
        "k [N/m or N·m]",
        "c [N·s/m or N·m·s]",
        "target",
        "target velocity",
        "f [N or N·m]",
        "start",
        "h [s]",
        "I [kg or kg·m²]",
    )
)
def servo(x: float, p: Array, d: Array) -> float:
    """φ = A/2 (x − a)², or a line of slope ±h²f."""
    h = p[6]
    k, c = h * p[0], p[1]
    if k + c <= 0.0:
        d[0] = 0.0
        d[1] = 0.0
        return 0.0
    A = h * (k + c)
    away = x - (k * p[2] + c * (p[5] + h * p[3])) / (k + c)
    cap = h * h * p[4]
    if A * abs(away) <= cap:
        d[0] = A * away
        d[1] = A
        return float(0.5 * A * away * away)
    d[0] = cap if away > 0.0 else -cap
    d[1] = 0.0
    if p[7] * abs(away) < _WAYS * cap:
        d[2] = cap / abs(away)
    return float(cap * (abs(away) - 0.5 * cap / A))
