"""What one Newton iteration does to islands: measure a step, take it, compare energies.

Steps are −y with y (n, 12) by body, 0 for those that do not move; α is the share of it that an island takes.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernel.kernel import jit_enabled, kernel
from dovetail.solver.assembly.bodies import Weights
from dovetail.solver.body_rows import move_of_one
from dovetail.solver.islands import Islands
from dovetail.solver.natural import natural
from dovetail.solver.polar import determinant
from dovetail.typing import Array

__all__ = [
    "SLACK",
    "damp",
    "keep_from_inverting",
    "measure",
    "move",
    "move_some",
    "set_limits",
    "shorten",
    "total_by_island",
    "unstretch",
]

_TURN = -0.5  # cosine between two directions below which the second one turns back
_ROUND_OFF = 1e-14  # relative error of a position after the hundred operations behind it
SLACK = 1e-12  # relative rise of an energy that is round-off: some 1e4 sums of terms with 1e-16 each


@kernel
def measure(centre: Array, half: Array, s: Islands, y: Array, step_tol: float, rate_tol: float) -> tuple[float, float]:
    """size, step, rate ← of the full step of each island, α ← 1, changing ← 0; the largest step [m] and rate.

    A step is the largest motion of a corner of a body's box along an axis, a rate the largest change of an entry of A.
    Islands that have converged keep the step and the rate of their last one. Infinite where y is not finite. centre,
    half (n, 3) are the boxes.
    """
    largest_step = largest_rate = 0.0
    # fields of records are taken out of loops: kernels would load them again after each write
    of, running, sizes, steps, rates, alpha = s.of, s.running, s.size, s.step, s.rate, s.alpha
    changing = s.changing
    for m in range(s.count):
        sizes[m], alpha[m], changing[m] = 0.0, 1.0, 0
        if running[m]:
            steps[m] = rates[m] = 0.0
            s.taken[m] += 1
    for b in range(len(of)):
        if of[b] < 0:
            continue
        m = natural(of[b])
        step = rate = total = 0.0
        for x in range(3):
            middle, spread = y[b, x], 0.0
            for i in range(3):
                entry = y[b, 3 + 3 * i + x]
                middle += centre[b, i] * entry
                spread += half[b, i] * abs(entry)
                rate = max(rate, abs(entry))
                total += entry
            total += middle
            step = max(step, abs(middle) + spread)
        if not abs(total) < math.inf:
            step = rate = math.inf
        sizes[m] = max(sizes[m], max(step / step_tol, rate / rate_tol))
        if running[m]:
            steps[m], rates[m] = max(steps[m], step), max(rates[m], rate)
        largest_step, largest_rate = max(largest_step, step), max(largest_rate, rate)
    return largest_step, largest_rate


@kernel
def keep_from_inverting(s: Islands, Q: Array) -> bool:
    """α ← 0 in islands where a body would be turned inside out; True if there are any.

    A flattened body may be so by round-off in the last step, which no energy tests.
    """
    found = False
    for b in range(len(s.of)):
        if s.of[b] >= 0 and not determinant(Q, b) > 0.0:
            s.alpha[s.of[b]] = 0.0
            found = True
    return found


@kernel
def total_by_island(s: Islands, E: Array) -> None:
    """total ← sum of the energies E (n,) over the bodies of each island."""
    of, total = s.of, s.total
    for m in range(s.count):
        total[m] = 0.0
    for b in range(len(of)):
        if of[b] >= 0:
            total[natural(of[b])] += E[b]


@kernel
def set_limits(weights: Weights, s: Islands, Q: Array, E: Array) -> None:
    """limit ← what the energies of islands must not exceed, E (n,) being those at Q; round-off is no rise.

    An energy changes by ε √(2E Σ (m|p|² + h²κV)), noise, because positions and axes are rounded.
    """
    total_by_island(s, E)
    c, w, mass, of, noise, total = weights.c, weights.w, weights.bodies.mass, s.of, s.noise, s.total
    for m in range(s.count):
        noise[m] = 0.0
    for b in range(len(of)):
        if of[b] >= 0:
            squared = Q[b, 0, 0] * Q[b, 0, 0] + Q[b, 0, 1] * Q[b, 0, 1] + Q[b, 0, 2] * Q[b, 0, 2]
            noise[natural(of[b])] += c[b] * mass[b, 0, 0] * squared + w[b]
    for m in range(s.count):
        noise[m] = _ROUND_OFF * math.sqrt(2.0 * max(total[m], 0.0) * noise[m])
        s.limit[m] = total[m] * (1.0 + SLACK) + noise[m]


@kernel
def shorten(s: Islands, halve: bool) -> int:
    """How many searching islands have energies above their limit; their α is halved."""
    rising = 0
    for m in range(s.count):
        if s.running[m] and not s.done[m] and not s.bends[m] and not s.total[m] <= s.limit[m]:
            rising += 1
            if halve:
                s.alpha[m] *= 0.5
    return rising


@kernel
def unstretch(y: Array, alpha: float, b: int, Q: Array, at: int) -> None:
    """A ← A (1 − G/(2 + tr G)), G = α²yᵀy of body b, A that of Q[at]: see `move`."""
    y0, y1, y2 = y[b, 3:6], y[b, 6:9], y[b, 9:12]
    xx = y0[0] * y0[0] + y0[1] * y0[1] + y0[2] * y0[2]
    yy = y1[0] * y1[0] + y1[1] * y1[1] + y1[2] * y1[2]
    zz = y2[0] * y2[0] + y2[1] * y2[1] + y2[2] * y2[2]
    xy = y0[0] * y1[0] + y0[1] * y1[1] + y0[2] * y1[2]
    xz = y0[0] * y2[0] + y0[1] * y2[1] + y0[2] * y2[2]
    yz = y1[0] * y2[0] + y1[1] * y2[1] + y1[2] * y2[2]
    part = alpha * alpha / (2.0 + alpha * alpha * (xx + yy + zz))
    for x in range(3):
        a0, a1, a2 = Q[at, 1, x], Q[at, 2, x], Q[at, 3, x]
        Q[at, 1, x] = a0 - part * (xx * a0 + xy * a1 + xz * a2)
        Q[at, 2, x] = a1 - part * (xy * a0 + yy * a1 + yz * a2)
        Q[at, 3, x] = a2 - part * (xz * a0 + yz * a1 + zz * a2)


@kernel
def move(s: Islands, y: Array, Q: Array, out: Array) -> None:
    """out ← Q − α y; where the step is curved, without the stretch of it.

    A turn ω along a straight line stretches a body: AᵀA − 1 grows by G = α²yᵀy, of the size ω², beyond what the step
    asks for. On a stiff body that is a large stress, by which the next iteration would go astray. To first order in G

        A ← A (1 − G/(2 + tr G))

    takes it out, and turns no body inside out. Points move by terms of second order, so that joints open by these:
    it is for steps that another one follows.
    """
    move_some(s, y, Q, out, 0, len(s.of))


@kernel
def move_some(s: Islands, y: Array, Q: Array, out: Array, start: int, stop: int) -> None:
    """`move` of bodies from `start` up to `stop`."""
    factors = np.empty(1)
    for b in range(start, stop):
        b = natural(b)
        m = s.of[b]
        share = s.alpha[m] if m >= 0 else 0.0
        if jit_enabled:
            factors[0] = share
            move_of_one(b, factors, y, Q, out)
        for i in range(0 if jit_enabled else 4):
            for x in range(3):
                out[b, i, x] = Q[b, i, x] - share * y[b, 3 * i + x]
        if m >= 0 and s.curved[m]:
            unstretch(y, share, b, out, b)


@kernel
def damp(s: Islands, y: Array, before: Array) -> None:
    """Shorten steps that turn back: α ≤ |y₀|/(|y₀| + |y|) in guarded islands where y points against the last one, y₀.

    Contact changes stiffness within a step so much that full steps can swing about a minimum without getting nearer.
    `before` (n, 12) holds the last direction by body and receives this one. Uses total and limit as scratch.
    """
    # |y₀|² and |y|² by island, then their product
    old, new, both = s.total, s.limit, s.shortest
    for m in range(s.count):
        old[m] = new[m] = both[m] = 0.0
    of = s.of
    for b in range(len(of)):
        if of[b] < 0:
            continue
        m = natural(of[b])
        product = last = now = 0.0
        for i in range(12):
            product += y[b, i] * before[b, i]
            last += before[b, i] * before[b, i]
            now += y[b, i] * y[b, i]
        for i in range(12):
            before[b, i] = y[b, i]
        both[m], old[m], new[m] = both[m] + product, old[m] + last, new[m] + now
    for m in range(s.count):
        last, now = math.sqrt(old[m]), math.sqrt(new[m])
        if s.guarded[m] and not s.done[m] and both[m] < _TURN * last * now:
            s.alpha[m] = min(s.alpha[m], last / (last + now))
