"""Laws at the consistent start of a step (consistent.py): their share of the filter, the motion of targets, curvature.

**Rates.** φ(x; xₙ, h) of a damper, a servo or dry friction is h² times a potential of x and of the rate (x − xₙ)/h,
which is the rate at the end of a step of bdf1. A step of ctr that begins with the rate ẋ ends with 2(x − xₙ)/h − ẋ.
That is the rate of half a step from xₙ + hẋ/2; and as φ has a factor h²,

    at the end     4 φ(x;  xₙ + hẋ/2, h/2)
    at the start   4 φ(xₙ; xₙ − hẋ/2, h/2)

are h² times the same potential with the rates there. With a stiffness K and a damping C, both times h², 4φ″ = K + 2C/h
for half a step and φ″ = K + C/h for a whole one, which tells them apart. At a consistent start C/h counts as mass that
P and M share: V̂ is not filtered by it and Â that of an implicit step, so that stiff dampers stop a body within a step,
slow ones are of second order, and a steady motion under a load stays what it is. Of a servo at its strongest that a
step brings to its target, φ″ is that of its parabola (d[2] of function.py): its effort would else go from full strength
one way to full strength the other way in every step, for good.

**Shares.** A stiffness enters the filter with the share y/(1 + y), y = φ″ ∇x·M⁻¹∇x = ω²h². What the change of
parameters since the last two steps has changed in the slope is the motion of a target, but for what a change of gains
has: a drive that is switched off lets go at once.

**Inertia** (rotors.py) is mass that P and M share, also of bodies that are held: with weight a in P, aẋ in the momentum
and, as a ẍ = a (∇x·Q̈ + V̂·∇²x V̂), the curvature that goes with its weight.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.contribution import Start, motion
from dovetail.solver.joint.coordinates import add_outer, compliance, coordinate_at, gather_rows, second_rate
from dovetail.solver.joint.function import call_law
from dovetail.solver.joint.laws import EXCESS, Laws, locate_law
from dovetail.solver.natural import natural
from dovetail.typing import Array, Flags

__all__ = ["accept_start", "bend_of", "curve_laws", "rate_along", "rate_slope", "start_laws", "start_of"]


@kernel
def _with_gain(past: Array, now: Array, otherwise: float) -> float:
    """A past slope φ′ as it would have been with the present gain φ″, or otherwise another one: if it had none.

    One without gain may be that of a servo at the end of its strength: it is what it was, up to the present strength.
    """
    if past[1] > 0.0 and now[1] > 0.0:
        return past[0] * now[1] / past[1]
    if past[1] == 0.0 and now[1] == 0.0 and past[0] * now[0] < 0.0:
        return math.copysign(min(abs(past[0]), abs(now[0])), past[0])
    return otherwise


@kernel
def _call(laws: Laws, m: int, p: Array, x: float, start: float, step: float, room: Array, d: Array) -> None:
    """d ← φ′, φ″ of law m at x with parameters from p, in which a rate law has another xₙ and h; room is scratch.

    φ″ of a rate law is at least that of its parabola.
    """
    at = laws.at[m]
    d[0] = 0.0
    d[1] = 0.0
    if laws.start[m] < 0:
        call_law(laws.address[m], x, p, at, d)
        return
    end = laws.at[m + 1] if m + 1 < len(laws.at) else len(p)
    for i in range(at, end):
        room[i - at] = p[i]
    room[laws.start[m] - at] = start
    if laws.step[m] >= 0:
        room[laws.step[m] - at] = step
    d[2] = 0.0
    call_law(laws.address[m], x, room, 0, d)
    d[1] = max(d[1], d[2])


@kernel
def _recall(
    laws: Laws, m: int, steps: int, x: float, start: float, step: float, room: Array, now: Array, d: Array
) -> None:
    """The same with the parameters of so many steps before the last one, of a law with φ′, φ″ `now`.

    Most targets rest, so that this is known. The h of a law that does not depend on the rate is one of its parameters.
    """
    p, past, has_rate = laws.p, laws.past[steps], laws.start[m] >= 0
    at, end = natural(laws.at[m]), laws.at[m + 1] if m + 1 < len(laws.at) else len(p)
    for i in range(at, end):
        if p[i] != past[i] and not (has_rate and (i == laws.start[m] or i == laws.step[m])):
            _call(laws, m, past, x, start, step, room, d)
            return
    d[0], d[1] = now[0], now[1]


@kernel
def rate_along(J: Array, left: int, right: int, V: Array) -> float:
    """∇x·V."""
    total = 0.0
    for i in range(4):
        for a in range(3):
            total += J[0, 3 * i + a] * V[left, i, a] + J[1, 3 * i + a] * V[right, i, a]
    return total


@kernel
def start_of(
    laws: Laws, i: int, x: float, rate: float, yields: float, held: int, h: float, ratio: float, room: Array, d: Array
) -> tuple[float, float, float]:
    """Weight of ∇x∇xᵀ, slope along ∇x, and drift along it, of acting coordinate i at x; room, d (4, 3) are scratch.

    Where bodies are held, that of inertia alone.
    """
    now, last, earlier, whole = d[0], d[1], d[2], d[3]
    weight = slope = moved = 0.0
    for n in range(laws.first[i], laws.first[i + 1]):
        m = laws.law[n]
        if laws.aim[m] >= 0:
            weight += laws.p[laws.at[m]]
            moved -= h * laws.p[laws.at[m]] * (rate + laws.p[laws.aim[m] + EXCESS])
            continue
        if held:
            continue
        has_rate = laws.start[m] >= 0
        if has_rate and laws.step[m] < 0:
            continue  # knows no h, so its bodies take their steps as bdf1
        before, half = x - 0.5 * h * rate, 0.5 * h
        _call(laws, m, laws.p, x, before, half, room, now)
        scale, damping, stiffness = 1.0, 0.0, now[1]
        if has_rate:
            scale = 4.0
            _call(laws, m, laws.p, x, x - h * rate, h, room, whole)
            stiffness = max(2.0 * whole[1] - 4.0 * now[1], 0.0)
            damping = max(4.0 * now[1] - whole[1], 0.0)
            damping *= damping * yields / (1.0 + damping * yields)
        elif now[0] == 0.0 and now[1] == 0.0:
            continue
        _recall(laws, m, 0, x, before, half, room, now, last)
        _recall(laws, m, 1, x, before, half, room, now, earlier)
        last[0] = _with_gain(last, now, now[0])
        earlier[0] = _with_gain(earlier, now, last[0])
        share = stiffness * yields / (1.0 + stiffness * yields)
        velocity, acceleration = motion(ratio, scale * (now[0] - last[0]), scale * (last[0] - earlier[0]))
        weight += share * stiffness + damping
        slope += share * acceleration + (0.0 if has_rate else last[0])
        moved += share * velocity - h * damping * rate
    return weight, slope, moved


@kernel
def rate_slope(laws: Laws, i: int, x: float, rate: float, h: float, room: Array, d: Array) -> float:
    """Slope of the rate laws of acting coordinate i at x with this rate, and with the targets of the last step."""
    now, last, slope = d[0], d[1], 0.0
    for n in range(laws.first[i], laws.first[i + 1]):
        m = laws.law[n]
        if laws.start[m] >= 0 and laws.step[m] >= 0:
            before = x - 0.5 * h * rate
            _call(laws, m, laws.p, x, before, 0.5 * h, room, now)
            _recall(laws, m, 0, x, before, 0.5 * h, room, now, last)
            slope += 4.0 * _with_gain(last, now, now[0])
    return slope


@kernel
def start_laws(laws: Laws, start: Start, g: Array, D: Array, U: Array, weight: Array) -> None:
    """g += gradient with the targets of the last step, D, U += Gauss–Newton Hessian, drift += what moving targets add.

    weight (a,) ← that of ∇x∇xᵀ. The gradient of rate laws needs V̂, and is added by `curve_laws`.
    """
    c, h = laws.coordinates, start.h
    size = 3 * c.widest
    F, dx, d2x, weighed = np.empty(size), np.empty(size), np.zeros(size * size), np.empty((2, 12))
    room, d = np.empty(laws.longest + 1), np.zeros((4, 3))
    for i in range(len(laws.acting)):
        locate_law(laws, i, start.Q, F, dx, d2x)
        k, x, J = laws.acting[i], laws.x[i], laws.J[i]
        left, right = c.left[k], c.right[k]
        held = max(start.held[left], start.held[right])
        rate = rate_along(J, left, right, start.V)
        yields = compliance(J, left, right, start.mass_inverse)
        weight[i], slope, moved = start_of(laws, i, x, rate, yields, held, h, start.ratio, room, d)
        if weight[i] == 0.0 and slope == 0.0 and moved == 0.0:
            continue
        add_outer(weight[i], left, right, c.block[k], J, weighed, D, U)
        for e in range(12):
            g[left, e] += slope * J[0, e]
            g[right, e] += slope * J[1, e]
            start.drift[left, e] += moved * J[0, e]
            start.drift[right, e] += moved * J[1, e]


@kernel
def bend_of(
    laws: Laws, start: Start, i: int, weight: float, held: int, F: tuple[Array, Array], dx: Array, d2x: Array,
    room: Array, d: Array,
) -> float:  # fmt: skip
    """h² weight (Ḟ·∇²x Ḟ) along V̂ of acting coordinate i, and its slope of rate laws unless bodies are held.

    The arrays are scratch.
    """
    c, k, slope = laws.coordinates, laws.acting[i], 0.0
    if weight != 0.0:
        n = gather_rows(c, k, start.Q, F[0])
        gather_rows(c, k, start.V, F[1])
        coordinate_at(c, k, 1.0, F[0], n, dx, d2x)
        slope += start.h * start.h * weight * second_rate(n, d2x, F[1])
    if not held:
        rate = rate_along(laws.J[i], c.left[k], c.right[k], start.V)
        slope += rate_slope(laws, i, laws.x[i], rate, start.h, room, d)
    return slope


@kernel
def curve_laws(laws: Laws, start: Start, weight: Array, g: Array) -> None:
    """g += h² weight (Ḟ·∇²x Ḟ) ∇x along V̂, and the gradient of rate laws with the targets of the last step."""
    c = laws.coordinates
    size = 3 * c.widest
    F, dx, d2x = (np.empty(size), np.empty(size)), np.empty(size), np.empty(size * size)
    room, d = np.empty(laws.longest + 1), np.zeros((2, 3))
    for i in range(len(laws.acting)):
        k, J = laws.acting[i], laws.J[i]
        left, right = c.left[k], c.right[k]
        held = max(start.held[left], start.held[right])
        slope = bend_of(laws, start, i, weight[i], held, F, dx, d2x, room, d)
        if slope != 0.0:
            for e in range(12):
                g[left, e] += slope * J[0, e]
                g[right, e] += slope * J[1, e]


@kernel
def accept_start(laws: Laws, h: float, V: Array, smooth: Flags) -> None:
    """Give rate laws the xₙ and h of a step that begins with V̂ on the smooth bodies (n,), or of one of bdf1.

    Where bodies are smooth, `start_laws` has linearised their laws.
    """
    c = laws.coordinates
    for i in range(len(laws.acting)):
        k = laws.acting[i]
        left, right = c.left[k], c.right[k]
        value, step, scale = c.value[k], h, 1.0
        if smooth[left] and smooth[right]:
            value += 0.5 * h * rate_along(laws.J[i], left, right, V)
            step, scale = 0.5 * h, 4.0
        for n in range(laws.first[i], laws.first[i + 1]):
            m = laws.law[n]
            if laws.start[m] < 0:
                continue
            laws.p[laws.start[m]] = value
            if laws.step[m] >= 0:
                laws.p[laws.step[m]] = step
            laws.scale[m] = scale
