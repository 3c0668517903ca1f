"""What one Newton iteration does to islands: measure a step, shorten it, take it.

Steps are −y with y (free, 12) by position in the elimination order; α (m,) is the share of it that an island takes.
"""

from __future__ import annotations

import math

from dovetail.solver.kernel import kernel
from dovetail.solver.polar import determinant
from dovetail.typing import Array, Flags, Indices

__all__ = ["SLACK", "damp", "keep_from_inverting", "measure", "move", "settle", "shorten", "stop_rising"]

_TURN = -0.5  # cosine between two directions below which the second one turns back
SLACK = 1e-12  # relative rise of an energy that is round-off: some 1e4 sums of terms with 1e-16 each


@kernel
def measure(
    position: Indices, centre: Array, half: Array, island: Indices, active: Indices, y: Array, step_tol: float,
    rate_tol: float, size: Array,
) -> tuple[float, float]:  # fmt: skip
    """size (m,) ← full step of each island in units of the tolerances; returns the largest step [m] and rate.

    A step is the largest motion of a corner of a body's box along an axis, a rate the largest change of an entry of A.
    NaN is passed on: comparisons are written so that it wins.
    """
    largest_step = 0.0
    largest_rate = 0.0
    for m in range(len(size)):
        size[m] = 0.0
    for b in range(len(position)):
        k = position[b]
        if k < 0 or not active[k]:
            continue
        step = 0.0
        rate = 0.0
        for x in range(3):
            middle = y[k, x]
            spread = 0.0
            for i in range(3):
                entry = y[k, 3 + 3 * i + x]
                middle += centre[b, i] * entry
                spread += half[b, i] * abs(entry)
                if not abs(entry) <= rate:
                    rate = abs(entry)
            reach = abs(middle) + spread
            if not reach <= step:
                step = reach
        m = island[b]
        for value in (step / step_tol, rate / rate_tol):
            if not value <= size[m]:
                size[m] = value
        if not step <= largest_step:
            largest_step = step
        if not rate <= largest_rate:
            largest_rate = rate
    return largest_step, largest_rate


@kernel
def settle(size: Array, alpha: Array, ccd_tol: float, running: Indices, done: Flags) -> int:
    """done ← islands whose full step is within the tolerances and free; returns how many run on."""
    left = 0
    for m in range(len(size)):
        done[m] = running[m] != 0 and size[m] <= 1.0 and alpha[m] >= ccd_tol
        if running[m] and not done[m]:
            left += 1
    return left


@kernel
def keep_from_inverting(island: Indices, Q: Array, alpha: Array) -> bool:
    """α ← 0 in islands where a body would be turned inside out; True if there are any.

    A flattened body may be so by round-off in the last step, which no energy tests.
    """
    found = False
    for b in range(len(island)):
        if island[b] >= 0 and not determinant(Q, b) > 0.0:
            alpha[island[b]] = 0.0
            found = True
    return found


@kernel
def stop_rising(E: Array, E_before: Array, alpha: Array) -> int:
    """α ← 0 in islands that would gain energy (or whose energy is no number); returns how many there are."""
    rising = 0
    for m in range(len(E)):
        if not E[m] <= E_before[m] * (1.0 + SLACK):
            alpha[m] = 0.0
            rising += 1
    return rising


@kernel
def shorten(E: Array, limit: Array, running: Indices, done: Flags, alpha: Array, halve: bool) -> int:
    """How many searching islands have energies above their limit; their α is halved."""
    rising = 0
    for m in range(len(E)):
        if running[m] and not done[m] and not E[m] <= limit[m]:
            rising += 1
            if halve:
                alpha[m] *= 0.5
    return rising


@kernel
def _unstretch(y: Array, k: int, alpha: float, b: int, Q: Array) -> None:
    """A ← A (1 − G/(2 + tr G)), G = α²yᵀy, of one body: see `move`."""
    y0, y1, y2 = y[k, 3:6], y[k, 6:9], y[k, 9:12]
    xx = y0[0] * y0[0] + y0[1] * y0[1] + y0[2] * y0[2]
    yy = y1[0] * y1[0] + y1[1] * y1[1] + y1[2] * y1[2]
    zz = y2[0] * y2[0] + y2[1] * y2[1] + y2[2] * y2[2]
    xy = y0[0] * y1[0] + y0[1] * y1[1] + y0[2] * y1[2]
    xz = y0[0] * y2[0] + y0[1] * y2[1] + y0[2] * y2[2]
    yz = y1[0] * y2[0] + y1[1] * y2[1] + y1[2] * y2[2]
    part = alpha * alpha / (2.0 + alpha * alpha * (xx + yy + zz))
    for x in range(3):
        a0, a1, a2 = Q[b, 1, x], Q[b, 2, x], Q[b, 3, x]
        Q[b, 1, x] = a0 - part * (xx * a0 + xy * a1 + xz * a2)
        Q[b, 2, x] = a1 - part * (xy * a0 + yy * a1 + yz * a2)
        Q[b, 3, x] = a2 - part * (xz * a0 + yz * a1 + zz * a2)


@kernel
def move(
    position: Indices, island: Indices, active: Indices, turns: Flags, y: Array, alpha: Array, Q: Array, out: Array
) -> None:
    """out ← Q − α y, α by island, on the bodies of islands that run; where turns (m,), without the stretch of it.

    A turn ω along a straight line stretches a body: AᵀA − 1 grows by G = α²yᵀy, of the size ω², beyond what the step
    asks for. On a stiff body that is a large stress, by which the next iteration would go astray. To first order in G

        A ← A (1 − G/(2 + tr G))

    takes it out, and turns no body inside out. Points move by terms of second order, so that joints open by these:
    it is for steps that another one follows.
    """
    for b in range(len(position)):
        k = position[b]
        if k < 0 or not active[k]:
            for i in range(4):
                for x in range(3):
                    out[b, i, x] = Q[b, i, x]
            continue
        share = alpha[island[b]]
        for i in range(4):
            for x in range(3):
                out[b, i, x] = Q[b, i, x] - share * y[k, 3 * i + x]
        if turns[island[b]]:
            _unstretch(y, k, share, b, out)


@kernel
def damp(
    position: Indices, island: Indices, active: Indices, done: Flags, y: Array, before: Array, sums: Array, alpha: Array
) -> None:
    """Shorten steps that turn back: α ≤ |y₀|/(|y₀| + |y|) in islands where y points against the direction y₀ before it.

    Contact changes stiffness within a step so much that full steps can swing about a minimum without getting nearer.
    `before` (n, 12)
    holds the last direction by body and receives this one; sums (m, 3) is scratch.
    """
    for m in range(len(alpha)):
        for i in range(3):
            sums[m, i] = 0.0
    for b in range(len(position)):
        k = position[b]
        if k < 0 or not active[k]:
            continue
        m = island[b]
        for i in range(12):
            sums[m, 0] += y[k, i] * before[b, i]
            sums[m, 1] += before[b, i] * before[b, i]
            sums[m, 2] += y[k, i] * y[k, i]
            before[b, i] = y[k, i]
    for m in range(len(alpha)):
        old, new = math.sqrt(sums[m, 1]), math.sqrt(sums[m, 2])
        if not done[m] and sums[m, 0] < _TURN * old * new:
            alpha[m] = min(alpha[m], old / (old + new))
