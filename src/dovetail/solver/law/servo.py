"""servo: a drive with gains, effort k(x̃ − x) + c(ṽ − ẋ), that pushes no harder than f and no faster than v̂.

With ẋ = (x − xₙ)/h both gains make one parabola, of the slope

    P = A (x − a),   A = h²k + hc,   a = (hk x̃ + c(xₙ + hṽ))/(hk + c)

**Speed.** A drive that is faster than v̂ brakes with the gain w instead: P is held between the lines
U = hw (x − xₙ − hv̂) and L = hw (x − xₙ + hv̂), G = max(U, min(P, L)). Where hw is no more than 2A, A takes its place.

**Effort.** φ goes on as a straight line of slope ±h²f where G would exceed that. All slopes rise with x: φ is convex.
The effort f moves an inertia I by h²f/I in a step: within some such ways of the minimum Newton might leap over the
parabola, and is told of it by d[2] (function.py).
"""

from __future__ import annotations

import math

from dovetail.solver.joint.function import law
from dovetail.typing import Array

__all__ = ["MAX_EFFORT", "STIFFNESS", "TARGET", "servo"]

STIFFNESS, TARGET, MAX_EFFORT = 0, 2, 4
"""Places of some of its parameters."""

_WAYS = 4.0  # gravity and what the joint carries add to what the drive does
_GAINS = ("k [N/m or N·m]", "c [N·s/m or N·m·s]", "target", "target velocity", "f [N or N·m]")
_SPEED = ("v̂ [m/s or rad/s]", "w [N·s/m or N·m·s]")


@law(parameters=(*_GAINS, "start", "h [s]", "I [kg or kg·m²]", *_SPEED))
def servo(x: float, p: Array, d: Array) -> float:
    """φ with φ′ = G, or a line of slope ±h²f."""
    h = p[6]
    k, c = h * p[0], p[1]
    if k + c <= 0.0:
        d[0] = 0.0
        d[1] = 0.0
        return 0.0
    A = h * (k + c)
    a = (k * p[2] + c * (p[5] + h * p[3])) / (k + c)
    cap = h * h * p[4]
    first, last = -math.inf, math.inf  # where U and L are zero, the other way round
    W = A
    if p[8] < math.inf:
        first, last = p[5] - h * p[8], p[5] + h * p[8]
        W = h * p[9]
    rest = min(max(a, first), last)  # the minimum
    if W <= 2.0 * A:
        W, a, first, last = A, rest, -math.inf, math.inf
    # where G reaches ±cap: the inverse of a larger one of two rising lines is the smaller one of their inverses
    high = min(last + cap / W, max(a + cap / A, first + cap / W))
    low = min(last - cap / W, max(a - cap / A, first - cap / W))
    y = min(max(x, low), high)
    P, over, under = A * (y - a), 0.0, 0.0  # by which P is above L, and below U
    if last < math.inf:
        over, under = max(0.0, P - W * (y - first)), max(0.0, W * (y - last) - P)
    G = P - over + under
    d[0] = G
    d[1] = W if over > 0.0 or under > 0.0 else A
    value = 0.5 * A * (y - a) * (y - a)
    if W > A:
        value += 0.5 * (over * over + under * under) / (W - A)
    if y != x:
        d[0] = G = cap if x > y else -cap
        d[1] = 0.0
        if p[7] * abs(x - rest) < _WAYS * cap:
            d[2] = cap / abs(x - rest)
        value += G * (x - y)
    return float(value)
