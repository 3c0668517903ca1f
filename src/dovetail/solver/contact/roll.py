"""Rolling is not slip: a body that rolls touches with another of its points at the end of a step than at its start.

Lagged friction measures how far two material points have moved apart along the tangents, and acts on them. On a body
that rolls by ρ = x e the point that touches at the end is the right one: there friction acts with its whole lever ℓ,
from the core or the axis that it is round about to the contact. At the start of the step it stood at R(−θe) ℓ. In
rolling without slip it moves by δ, since a chord is not the arc that the body advances by; ω is the spin at the start:

    θ = 2 arctan(x/2)        δ = (sin θ − x) e × ℓ − (1 − cos θ) e × (e × ℓ) − ½ (hω − ρ) × (ρ × ℓ) + hω_n n × s

Tᵀδ, of body a less that of b, is no slip. θ is the angle that the trapezoidal rule turns by; the advance x is that of
the spin itself, so that v = ω r however fast a ball rolls. What of hω is no rolling turns the way −ρ × ℓ that the
contact goes: on average over the step by half of it, to second order.

A ball rolls by ρ = hω − n(n·hω), the rest is pivoting. A body round about an axis k that leans, c = n·k, pivots by β
and tips by γ besides: of hω = ρ_k k + β n + γ k × n it rolls by ρ_k = hω·k − c (hω·n − c hω·k)/(1 − c²). Its rim is
made of corners, of which those that touch lie by s before and behind where a rim would; to pivot is no slip for them.
"""

from __future__ import annotations

import math

from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import Record, f8
from dovetail.typing import Array

__all__ = ["Turning", "move", "roll"]

_FLAT = 0.75  # (n·k)² from which on a body lies on its end more than it stands on its rim


class Turning(Record):
    """turn (n, 3): hω of each body that rolls, 0 for all else.

    axis (n, 3): the unit axis through its origin that it is round about, 0 for what is a core with a radius.
    """

    turn: Array = f8(2)
    axis: Array = f8(2)


@kernel
def move(Q: Array, b: int, d0: float, d1: float, d2: float, xi: Array, k: int, first: int) -> None:
    """ξ in xi[k, first … first + 3] += A⁻¹ d: the material point of body b that lies by d farther [m]."""
    c00 = Q[b, 2, 1] * Q[b, 3, 2] - Q[b, 2, 2] * Q[b, 3, 1]
    c01 = Q[b, 2, 2] * Q[b, 3, 0] - Q[b, 2, 0] * Q[b, 3, 2]
    c02 = Q[b, 2, 0] * Q[b, 3, 1] - Q[b, 2, 1] * Q[b, 3, 0]
    c10 = Q[b, 3, 1] * Q[b, 1, 2] - Q[b, 3, 2] * Q[b, 1, 1]
    c11 = Q[b, 3, 2] * Q[b, 1, 0] - Q[b, 3, 0] * Q[b, 1, 2]
    c12 = Q[b, 3, 0] * Q[b, 1, 1] - Q[b, 3, 1] * Q[b, 1, 0]
    c20 = Q[b, 1, 1] * Q[b, 2, 2] - Q[b, 1, 2] * Q[b, 2, 1]
    c21 = Q[b, 1, 2] * Q[b, 2, 0] - Q[b, 1, 0] * Q[b, 2, 2]
    c22 = Q[b, 1, 0] * Q[b, 2, 1] - Q[b, 1, 1] * Q[b, 2, 0]
    inverse = 1.0 / (Q[b, 1, 0] * c00 + Q[b, 1, 1] * c01 + Q[b, 1, 2] * c02)
    xi[k, first + 1] += inverse * (c00 * d0 + c01 * d1 + c02 * d2)
    xi[k, first + 2] += inverse * (c10 * d0 + c11 * d1 + c12 * d2)
    xi[k, first + 3] += inverse * (c20 * d0 + c21 * d1 + c22 * d2)


@kernel
def roll(
    turning: Turning, b: int, n: tuple[float, float, float], far: float, Q: Array, xi: Array, k: int, first: int
) -> tuple[float, float, float]:
    """ξ in xi[k, first … first + 3] ← the point of body b that will touch in the end; returns its δ [m].

    far n is the lever of what is a core with a radius.
    """
    turn, axis = turning.turn[b], turning.axis[b]
    along = turn[0] * n[0] + turn[1] * n[1] + turn[2] * n[2]
    o0 = o1 = o2 = 0.0
    if axis[0] == 0.0 and axis[1] == 0.0 and axis[2] == 0.0:
        e0, e1, e2 = turn[0] - along * n[0], turn[1] - along * n[1], turn[2] - along * n[2]
        l0, l1, l2 = far * n[0], far * n[1], far * n[2]
    else:
        c = axis[0] * n[0] + axis[1] * n[1] + axis[2] * n[2]
        if c * c > _FLAT:
            return 0.0, 0.0, 0.0
        x = axis[0] * turn[0] + axis[1] * turn[1] + axis[2] * turn[2]
        x -= c / (1.0 - c * c) * (along - c * x)
        e0, e1, e2 = x * axis[0], x * axis[1], x * axis[2]
        l0 = l1 = l2 = 0.0
        for i in range(1, 4):
            l0 += xi[k, first + i] * Q[b, i, 0]
            l1 += xi[k, first + i] * Q[b, i, 1]
            l2 += xi[k, first + i] * Q[b, i, 2]
        # s = f (f·ℓ)/|f|², f = k × n, the way that the rim goes on
        f0, f1, f2 = axis[1] * n[2] - axis[2] * n[1], axis[2] * n[0] - axis[0] * n[2], axis[0] * n[1] - axis[1] * n[0]
        s = along * (f0 * l0 + f1 * l1 + f2 * l2) / (1.0 - c * c)
        o0, o1, o2 = s * (n[1] * f2 - n[2] * f1), s * (n[2] * f0 - n[0] * f2), s * (n[0] * f1 - n[1] * f0)
    x = math.sqrt(e0 * e0 + e1 * e1 + e2 * e2)
    if not x > 1e-6:  # an arc differs from its chord by 1e-18 of the radius then
        return o0, o1, o2
    p0, p1, p2 = 0.5 * (turn[0] - e0), 0.5 * (turn[1] - e1), 0.5 * (turn[2] - e2)
    e0, e1, e2 = e0 / x, e1 / x, e2 / x
    # e × ℓ and e × (e × ℓ); sin θ and 1 − cos θ of twice an arctangent
    c0, c1, c2 = e1 * l2 - e2 * l1, e2 * l0 - e0 * l2, e0 * l1 - e1 * l0
    d0, d1, d2 = e1 * c2 - e2 * c1, e2 * c0 - e0 * c2, e0 * c1 - e1 * c0
    q = 0.25 * x * x
    s, c = x / (1.0 + q), 2.0 * q / (1.0 + q)
    move(Q, b, c * d0 - s * c0, c * d1 - s * c1, c * d2 - s * c2, xi, k, first)
    return (
        o0 + (s - x) * c0 - c * d0 - x * (p1 * c2 - p2 * c1),
        o1 + (s - x) * c1 - c * d1 - x * (p2 * c0 - p0 * c2),
        o2 + (s - x) * c2 - c * d2 - x * (p0 * c1 - p1 * c0),
    )
