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

from dovetail.kernel.kernel import kernel, mapped
from dovetail.kernel.threads import Span
from dovetail.solver.contact.barrier import of_lighter
from dovetail.solver.contact.runs import Runs, run_of
from dovetail.solver.islands import Islands
from dovetail.solver.natural import natural
from dovetail.typing import Array, Indices

if TYPE_CHECKING:
    from dovetail.solver.contact.friction import Frictions

__all__ = ["foresee", "size_by_rests", "stiffness"]

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
def _foreseen(load: float, epsilon: float, law: Array, du: float, dv: float, mass: float) -> tuple[float, float, float]:
    """The slip at which friction sticks with the force F + K (du, dv), at most μλ; law (4,) has u, v and both of K.

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


@mapped
def foresee(f: Frictions, y: Array, active: Indices, span: Span) -> int:
    """aim of some rows ← by the step −y (n, 12) of active bodies; of how many runs contacts would go on to slide.

    How far that is, at most, is noted for each run: rest (runs,), and edge (parts,) for one that has begun before.
    """
    part, start, stop = span
    xi, t, bodies, load, aim, law, masses, epsilon = f.xi, f.tangent, f.bodies, f.load, f.aim, f.law, f.mass, f.epsilon
    first, rests, f.edge[part] = f.runs.first, f.rest, 0.0
    run, rest, slide = run_of(f.runs, start), 0.0, 0
    for k in range(start, stop):
        k = natural(k)
        a, is_pair = natural(bodies[k, 0]), bodies[k, 1] >= 0
        b = natural(bodies[k, 1]) if is_pair else a
        if active[a] or active[b]:
            d0 = d1 = d2 = 0.0
            for i in range(4):
                v, w = xi[k, i], xi[k, 4 + i] if is_pair else 0.0
                d0 += w * y[b, 3 * i] - v * y[a, 3 * i]
                d1 += w * y[b, 3 * i + 1] - v * y[a, 3 * i + 1]
                d2 += w * y[b, 3 * i + 2] - v * y[a, 3 * i + 2]
            du = t[k, 0, 0] * d0 + t[k, 0, 1] * d1 + t[k, 0, 2] * d2
            dv = t[k, 1, 0] * d0 + t[k, 1, 1] * d1 + t[k, 1, 2] * d2
            mass = of_lighter(masses[a], masses[b])
            aim[k, 0], aim[k, 1], slides = _foreseen(load[k], epsilon, law[k], du, dv, mass)
            if xi[k, 0] != 0.0:  # else it is rolling that is resisted, which is no slip
                rest = max(rest, slides)
        if k + 1 == first[run + 1] or k + 1 == stop:
            if first[run] >= start:
                rests[run] = rest
            else:
                f.edge[part] = rest
            slide += rest != 0.0
            run, rest = run + 1, 0.0
    return slide


@kernel
def _enlarge(s: Islands, runs: Runs, run: int, size: float) -> None:
    """size of the island of a run ← at least this."""
    a, b = s.of[runs.pairs[run, 0]], s.of[runs.pairs[run, 1]] if runs.pairs[run, 1] >= 0 else -1
    if max(a, b) >= 0:
        s.size[max(a, b)] = max(s.size[max(a, b)], size)


@kernel
def size_by_rests(f: Frictions, count: int, parts: int, s: Islands, step_tol: float) -> None:
    """size of islands ← at least that by which contacts would go on to slide, `count` rows foreseen in equal parts."""
    for run in range(f.runs.number[0]):
        if f.rest[run] != 0.0:
            _enlarge(s, f.runs, run, f.rest[run] / step_tol)
    for part in range(parts):
        if f.edge[part] != 0.0:
            _enlarge(s, f.runs, run_of(f.runs, part * count // parts), f.edge[part] / step_tol)
