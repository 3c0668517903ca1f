"""servo: a drive with gains, effort k(x̃ − x) + c(ṽ − ẋ), that pushes no harder than f and no faster than v̂.

With ẋ = (x − xₙ)/h both gains make one parabola, of the slope

    P = A (x − a),   A = h²k + hc,   a = (hk x̃ + c(xₙ + hṽ))/(hk + c)

**Speed.** A drive that is faster than v̂ brakes with the gain w instead: P is held between the lines
U = hw (x − xₙ − hv̂) and L = hw (x − xₙ + hv̂), G = max(U, min(P, L)). Where hw is no more than 2A, A takes its place.

**Effort.** What is cut off at ±f is the mean effort over the step, S + F/σ with F = −G/h²: S is what the drive has
exerted before the end of the step, and 1/σ the part of the step that F acts for (law_start.py). With bdf1 S = 0 and
σ = 1. So G stays between h²σ(S − f) and h²σ(S + f). On the way to a target `side` is ±1 where a plan leads away from it
(approach.py): the mean effort then has that sign, or is 0. φ goes on as a straight line where G would exceed its
bounds. All slopes rise with x: φ is convex. The inertia I of x is for Newton's method (caps.py).
"""

from __future__ import annotations

import math

from dovetail.solver.joint.function import law
from dovetail.typing import Array

__all__ = ["MAX_EFFORT", "STIFFNESS", "TARGET", "servo"]

STIFFNESS, TARGET, MAX_EFFORT = 0, 2, 9
"""Places of some of its parameters."""

_GAINS = ("k [N/m or N·m]", "c [N·s/m or N·m·s]", "target", "target velocity", "start", "h [s]")
_BOUNDS = ("v̂ [m/s or rad/s]", "w [N·s/m or N·m·s]", "I [kg or kg·m²]", "f [N or N·m]")
_MEMORY = ("S [N or N·m]", "σ", "side", "x at the start of the step, for the planner")


@law(parameters=(*_GAINS, *_BOUNDS, *_MEMORY))
def servo(x: float, p: Array, d: Array) -> float:
    """φ with φ′ = G, or a line."""
    h = p[5]
    k, c = h * p[0], p[1]
    if k + c <= 0.0:
        d[0] = 0.0
        d[1] = 0.0
        return 0.0
    A = h * (k + c)
    a = (k * p[2] + c * (p[4] + h * p[3])) / (k + c)
    unit = h * h * p[11]
    bottom = unit * (p[10] - (0.0 if p[12] < 0.0 else p[9]))
    top = unit * (p[10] + (0.0 if p[12] > 0.0 else p[9]))
    first, last = -math.inf, math.inf  # where U and L are zero, the other way round
    W = A
    if p[6] < math.inf:
        first, last = p[4] - h * p[6], p[4] + h * p[6]
        W = h * p[7]
    if W <= 2.0 * A:
        W, a, first, last = A, min(max(a, first), last), -math.inf, math.inf
    # where G reaches its bounds: the inverse of a larger one of two rising lines is the smaller one of their inverses
    high = min(last + top / W, max(a + top / A, first + top / W)) if top < math.inf else math.inf
    low = min(last + bottom / W, max(a + bottom / A, first + bottom / W)) if bottom > -math.inf else -math.inf
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
        d[0] = G = top if x > y else bottom
        d[1] = 0.0
        value += G * (x - y)
    return float(value)
