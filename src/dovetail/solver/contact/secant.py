"""How stiff friction is along its slip: secants to where a contact is expected to stick.

    F(u) = μλ f₁ u,  f₁ = f₀′/y,      Hessian μλ (f₁ e⊥e⊥ᵀ + f₀″ e eᵀ),  e = u/|u|,  y = |u|

f₀″ falls to zero at ε, so that a step leads far over the slip at which the contact would come to rest, and the next one
back. So the slope of the secant stands in for it where that is steeper, from u to a, the slip that the contact is
expected to end the step with:

    (F(u) − F(a))·e / (u − a)·e

At first a is that of the force of the last step's end (stick.py), then that of the force F + K du which the last
direction was to lead to, K being the stiffness that it was found with; μλ at most. Where the two slips agree the secant
is the tangent f₀″, and zero where the contact is expected to slide: Newton's method converges as it does without, but
does not swing. As long as nothing is known, a = 0, a force of half of μλ is expected.

A step that is short because the secant is steep is no sign of having arrived: what is left of the force after it,
(secant − f₀″) du·e, over the body's mass and f₀″ is by how much it would go on, and counts as the size of the step.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dovetail.kernel.kernel import kernel
from dovetail.solver.islands import Islands
from dovetail.solver.natural import natural
from dovetail.typing import Array, Indices

if TYPE_CHECKING:
    from dovetail.solver.contact.friction import Frictions

__all__ = ["foreseen", "size_by_rest", "size_by_rests", "stiffness"]

_NEAR = 1e-3  # slips [ε] that differ by less have the same slope


@kernel
def _tangent(load: float, epsilon: float, y: float) -> float:
    """μλ f₀″."""
    return 0.0 if y >= epsilon else load * (2.0 - 2.0 * y / epsilon) / epsilon


@kernel
def stiffness(load: float, epsilon: float, u: float, v: float, aim: Array) -> tuple[float, float]:
    """μλ f₁ and what stands for μλ f₀″ at a slip (u, v) of a contact that is expected to stick at aim (2,)."""
    y, at = math.sqrt(u * u + v * v), math.sqrt(aim[0] * aim[0] + aim[1] * aim[1])
    f1 = load / y if y >= epsilon else load * (2.0 - y / epsilon) / epsilon
    f2 = _tangent(load, epsilon, y)
    along, force = 0.0, 0.5 * load
    if at > 0.0 and y > 0.0:
        along = (u * aim[0] + v * aim[1]) / y
        force = along * (load / at if at >= epsilon else load * (2.0 - at / epsilon) / epsilon)
    return f1, max(f2, (f1 * y - force) / (y - along)) if y - along > _NEAR * epsilon else f2


@kernel
def foreseen(load: float, epsilon: float, law: Array, du: float, dv: float, mass: float) -> tuple[float, float, float]:
    """The slip at which friction sticks with the force F + K (du, dv), at most μλ; law (≥ 4,) has u, v and both of K.

    And by how much the contact of a mass would go on to slide.
    """
    u, v, f1, f2 = law[0], law[1], law[2], law[3]
    y = max(math.sqrt(u * u + v * v), 1e-300)
    slid = (u * du + v * dv) / y
    along = slid * (f2 - f1) / y
    p, q = f1 * (u + du) + along * u, f1 * (v + dv) + along * v
    length = math.sqrt(p * p + q * q)
    scale = epsilon * (1.0 - math.sqrt(1.0 - min(length / load, 1.0))) / max(length, 1e-300)
    tangent = _tangent(load, epsilon, y)
    return scale * p, scale * q, (f2 - tangent) * abs(slid) / (tangent + mass)


@kernel
def size_by_rest(f: Frictions, start: int, stop: int, s: Islands, step_tol: float) -> None:
    """size of islands ← at least that by which contacts of some rows would go on to slide."""
    bodies, xi, law, of, size = f.bodies, f.xi, f.law, s.of, s.size
    for k in range(start, stop):
        k = natural(k)
        m = of[bodies[k, 0]] if bodies[k, 1] < 0 else max(of[bodies[k, 0]], of[bodies[k, 1]])
        if m >= 0 and law[k, 4] != 0.0 and xi[k, 0] != 0.0:
            size[m] = max(size[m], law[k, 4] / step_tol)


@kernel
def size_by_rests(f: Frictions, count: int, left: Indices, s: Islands, step_tol: float) -> None:
    """`size_by_rest` of chunks, `count` rows in equal parts, in which some would: left (parts,) is how many."""
    parts = len(left)
    for part in range(parts):
        if left[part]:
            size_by_rest(f, part * count // parts, (part + 1) * count // parts, s, step_tol)
