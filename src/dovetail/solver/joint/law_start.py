"""Laws at the consistent start of a step (consistent.py): their share of the filter, the motion of targets, curvature.

**Rates.** φ(x; xₙ, h) of a damper, a servo or dry friction is h² times a potential of x and of the rate (x − xₙ)/h,
which is the rate at the end of a step of bdf1. A step of ctr that begins with the rate ẋ ends with 2(x − xₙ)/h − ẋ.
That is the rate of half a step from xₙ + hẋ/2; and as φ has a factor h²,

    at the end     4 φ(x;  xₙ + hẋ/2, h/2)
    at the start   4 φ(xₙ; xₙ − hẋ/2, h/2)

are h² times the same potential with the rates there. With a stiffness K and a damping C, both times h², 4φ″ = K + 2C/h
for half a step and φ″ = K + C/h for a whole one, which tells them apart. At a consistent start C/h counts as mass that
P and M share: V̂ is not filtered by it and Â that of an implicit step, so that stiff dampers stop a body within a step,
slow ones are of second order, and a steady motion under a load stays what it is.

**Shares.** A stiffness enters the filter with the share y/(1 + y), y = φ″ ∇x·M⁻¹∇x = ω²h². What the change of
parameters since the last two steps has changed in the slope is the motion of a target, but for what a change of gains
has: a drive that is switched off lets go at once.

**Caps.** What a drive exerts on average over a step is bounded by its cap f, and that is its effort:

    F̄ = S + F/σ,   |F̄| ≤ f

F is the effort at the end, S what the start has exerted. A start gives the momentum −w ẋ̂ − m/h by its filter, of
weight w, drift m and the rate ẋ̂ along V̂, and for half of the step the force −(s + h²w ẍ̂)/h², of slope s and the
acceleration ẍ̂ along Â:

    S = −(h w ẋ̂ + m)/h² − (s + h²w ẍ̂)/(2h²)

and F acts for the other half, so σ = 2: without a cap, F̄ is the change of momentum that it always was. With one, F is
cut off where F̄ reaches ±f (servo.py). At its strongest a drive has no stiffness, φ″ = 0: it resists nothing and no
velocity is consistent with it. Then its force is not known before the end of the step: it has w = m = s = 0, so S = 0,
and F acts for the whole step, σ = 1, by twice the scale (8). It so is a constant force as long as it is at its
strongest, and implicit in the step in which it is no longer. The filter takes no more out of a motion than the drive
can in a step: w ≤ h f/|ẋ − u| for a target of speed u. That leaves F what is within ±f in most steps; the bound on F̄
is exact in all.

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
from dovetail.solver.joint.laws import EXCESS, LINE, NEARER, Laws, locate_law
from dovetail.solver.natural import natural
from dovetail.typing import Array, Flags, Indices

__all__ = ["accept_start", "bend_of", "curve_laws", "exerted_of", "rate_along", "rate_slope", "start_laws", "start_of"]


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

    One with a cap has exerted nothing.
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
    if laws.exerted[m] >= 0:
        room[laws.exerted[m] - at] = 0.0
        room[laws.exerted[m] - at + 1] = 1.0
    call_law(laws.address[m], x, room, 0, d)


@kernel
def _recall(
    laws: Laws, m: int, steps: int, x: float, start: float, step: float, room: Array, now: Array, d: Array
) -> None:
    """The same with the parameters of so many steps before the last one, of a law with φ′, φ″ `now`.

    Most targets rest, so that this is known. The h of a law that does not depend on the rate is one of its parameters.
    """
    p, past, has_rate = laws.p, laws.past[steps], laws.start[m] >= 0
    at, end = natural(laws.at[m]), laws.at[m + 1] if m + 1 < len(laws.at) else len(p)
    if laws.exerted[m] >= 0:
        end = laws.exerted[m]  # what comes then is memory
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
        laws.weight[m] = laws.push[m] = laws.moved[m] = 0.0
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
            if laws.exerted[m] >= 0 and now[1] == 0.0:
                continue  # at its strongest
        elif now[0] == 0.0 and now[1] == 0.0:
            continue
        _recall(laws, m, 0, x, before, half, room, now, last)
        _recall(laws, m, 1, x, before, half, room, now, earlier)
        last[0] = _with_gain(last, now, now[0])
        earlier[0] = _with_gain(earlier, now, last[0])
        share = stiffness * yields / (1.0 + stiffness * yields)
        velocity, acceleration = motion(ratio, scale * (now[0] - last[0]), scale * (last[0] - earlier[0]))
        if laws.exerted[m] >= 0 and share > 0.0:
            # h times the momentum that the filter takes out, and that the law can
            taken, most = share * abs(h * stiffness * rate + velocity), h * h * laws.p[laws.exerted[m] - 1]
            if taken > most:
                share *= most / taken
        laws.weight[m] = share * stiffness + damping
        laws.push[m] = share * acceleration + (0.0 if has_rate else last[0])
        laws.moved[m] = share * velocity - h * damping * rate
        weight += laws.weight[m]
        slope += laws.push[m]
        moved += laws.moved[m]
    return weight, slope, moved


@kernel
def rate_slope(laws: Laws, i: int, x: float, rate: float, h: float, room: Array, d: Array) -> float:
    """Slope of the rate laws of acting coordinate i at x with this rate, and with the targets of the last step.

    Those with a cap have none at their strongest.
    """
    now, last, slope = d[0], d[1], 0.0
    for n in range(laws.first[i], laws.first[i + 1]):
        m = laws.law[n]
        if laws.start[m] >= 0 and laws.step[m] >= 0:
            before = x - 0.5 * h * rate
            _call(laws, m, laws.p, x, before, 0.5 * h, room, now)
            if laws.exerted[m] >= 0 and now[1] == 0.0:
                continue
            _recall(laws, m, 0, x, before, 0.5 * h, room, now, last)
            push = 4.0 * _with_gain(last, now, now[0])
            laws.push[m] += push
            slope += push
    return slope


@kernel
def start_laws(laws: Laws, start: Start, active: Indices, g: Array, D: Array, U: Array, weight: Array) -> None:
    """g += gradient with the targets of the last step, D, U += Gauss–Newton Hessian, drift += what moving targets add.

    Of active bodies (n,). weight (a,) ← that of ∇x∇xᵀ. The gradient of rate laws needs V̂, and is added by
    `curve_laws`.
    """
    c, h = laws.coordinates, start.h
    size = 3 * c.widest
    F, dx, d2x, weighed = np.empty(size), np.empty(size), np.zeros(size * size), np.empty((2, 12))
    room, d = np.empty(laws.longest + 1), np.zeros((4, 3))
    for i in range(len(laws.acting)):
        k = laws.acting[i]
        left, right = c.left[k], c.right[k]
        weight[i] = 0.0
        if not (active[left] or active[right]):
            continue
        locate_law(laws, i, start.Q, F, dx, d2x)
        x, J = laws.x[i], laws.J[i]
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
        bend = start.h * start.h * second_rate(n, d2x, F[1])
        slope += weight * bend
        for m in range(laws.first[i], laws.first[i + 1]):
            laws.push[laws.law[m]] += laws.weight[laws.law[m]] * bend
    if not held:
        rate = rate_along(laws.J[i], c.left[k], c.right[k], start.V)
        slope += rate_slope(laws, i, laws.x[i], rate, start.h, room, d)
    return slope


@kernel
def curve_laws(laws: Laws, start: Start, active: Indices, weight: Array, g: Array) -> None:
    """g += h² weight (Ḟ·∇²x Ḟ) ∇x along V̂, and the gradient of rate laws with the targets of the last step.

    Of active bodies (n,).
    """
    c = laws.coordinates
    size = 3 * c.widest
    F, dx, d2x = (np.empty(size), np.empty(size)), np.empty(size), np.empty(size * size)
    room, d = np.empty(laws.longest + 1), np.zeros((2, 3))
    for i in range(len(laws.acting)):
        k, J = laws.acting[i], laws.J[i]
        left, right = c.left[k], c.right[k]
        if not (active[left] or active[right]):
            continue
        held = max(start.held[left], start.held[right])
        slope = bend_of(laws, start, i, weight[i], held, F, dx, d2x, room, d)
        if slope != 0.0:
            for e in range(12):
                g[left, e] += slope * J[0, e]
                g[right, e] += slope * J[1, e]


@kernel
def _is_strongest(laws: Laws, m: int, x: float, rate: float, h: float, room: Array, d: Array) -> bool:
    """Whether law m has a cap, and is at its strongest where a step begins with this rate."""
    if laws.exerted[m] < 0:
        return False
    _call(laws, m, laws.p, x, x - 0.5 * h * rate, 0.5 * h, room, d)
    return bool(d[1] == 0.0)


@kernel
def accept_start(
    laws: Laws, h: float, V: Array, total: Array, inner: Array, free: Indices, smooth: Flags
) -> None:  # fmt: skip
    """Give rate laws the xₙ and h of a step that begins with V̂ on the smooth bodies (n,), or of one of bdf1.

    Where bodies are smooth, `start_laws` has linearised their laws; total and inner are Â + a and Â − a of bodies that
    are free (n,). Laws with a cap are told what they have exerted.
    """
    c = laws.coordinates
    room, d, h2 = np.empty(laws.longest + 1), np.zeros(3), h * h
    for i in range(len(laws.acting)):
        k = laws.acting[i]
        left, right = c.left[k], c.right[k]
        starts = smooth[left] and smooth[right]
        rate = ahead = 0.0
        if starts:
            rate = rate_along(laws.J[i], left, right, V)
            for side in range(2):
                b = right if side else left
                for e in range(12 if free[b] else 0):
                    ahead += 0.5 * laws.J[i, side, e] * (total[b, e // 3, e % 3] + inner[b, e // 3, e % 3])
        for n in range(laws.first[i], laws.first[i + 1]):
            m = laws.law[n]
            if laws.start[m] < 0:
                continue
            value, step, scale, exerted, share = c.value[k], h, 1.0, 0.0, 1.0
            if starts:
                value, step, scale, share = value + 0.5 * h * rate, 0.5 * h, 4.0, 2.0
                if _is_strongest(laws, m, laws.x[i], rate, h, room, d):
                    scale, share = 8.0, 1.0
                exerted = exerted_of(laws, m, h, rate, h2 * ahead)
            laws.p[laws.start[m]] = value
            if laws.step[m] >= 0:
                laws.p[laws.step[m]] = step
            if laws.exerted[m] >= 0:
                laws.p[laws.exerted[m]] = exerted
                laws.p[laws.exerted[m] + 1] = share
                laws.begins[m] = LINE if share == 2.0 else NEARER
            laws.scale[m] = scale


@kernel
def exerted_of(laws: Laws, m: int, h: float, rate: float, ahead: float) -> float:
    """S of law m, whose start was asked for last, with ∇x·V̂ and h²∇x·Â; curvature is in its slope."""
    weight: float = laws.weight[m]
    given: float = h * weight * rate + laws.moved[m] + 0.5 * (laws.push[m] + weight * ahead)
    return -given / (h * h)
