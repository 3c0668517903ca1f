"""Rolling is not slip: a body that rolls touches with another of its points at the end of a step than at its start.

Lagged friction measures how far two material points have moved apart along the tangents, and acts on them. On a body
that rolls by θ about an axis e across the normal n, the point that touches at the end is the right one: there friction
acts with its whole lever ℓ, from the centre of mass to the contact. At the start of the step it stood at R(−θe) ℓ. In
rolling without slip it moves by δ, since a chord is not the arc that the body advances by; ω is the spin at the start:

    x e = hω − n(n·hω),   θ = 2 arctan(x/2)        δ = (sin θ − x) e × ℓ − (1 − cos θ) e × (e × ℓ)

Tᵀδ, of body a less that of b, is no slip. θ is the angle that the trapezoidal rule turns by; the advance x is that of
the spin itself, so that v = ω r however fast a ball rolls.
"""

from __future__ import annotations

import math

from dovetail.solver.kernel import kernel
from dovetail.solver.record import Record, f8
from dovetail.typing import Array

__all__ = ["Turning", "move", "roll"]


class Turning(Record):
    """turn (n, 3): hω of each body that rolls, 0 for all else; centre (n, 3): its centre of mass [m]."""

    turn: Array = f8(2)
    centre: Array = f8(2)


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
    turning: Turning, b: int, n: tuple[float, float, float], Q: Array, xi: Array, k: int, first: int
) -> tuple[float, float, float]:
    """ξ in xi[k, first … first + 3] ← the point of body b that will touch in the end; returns its δ [m]."""
    turn, centre = turning.turn, turning.centre
    along = turn[b, 0] * n[0] + turn[b, 1] * n[1] + turn[b, 2] * n[2]
    e0, e1, e2 = turn[b, 0] - along * n[0], turn[b, 1] - along * n[1], turn[b, 2] - along * n[2]
    x = math.sqrt(e0 * e0 + e1 * e1 + e2 * e2)
    if not x > 1e-6:  # an arc differs from its chord by 1e-18 of the radius then
        return 0.0, 0.0, 0.0
    e0, e1, e2 = e0 / x, e1 / x, e2 / x
    l0, l1, l2 = -centre[b, 0], -centre[b, 1], -centre[b, 2]
    for i in range(4):
        l0 += xi[k, first + i] * Q[b, i, 0]
        l1 += xi[k, first + i] * Q[b, i, 1]
        l2 += xi[k, first + i] * Q[b, i, 2]
    # e × ℓ and e × (e × ℓ); sin θ and 1 − cos θ of twice an arctangent
    c0, c1, c2 = e1 * l2 - e2 * l1, e2 * l0 - e0 * l2, e0 * l1 - e1 * l0
    d0, d1, d2 = e1 * c2 - e2 * c1, e2 * c0 - e0 * c2, e0 * c1 - e1 * c0
    q = 0.25 * x * x
    s, c = x / (1.0 + q), 2.0 * q / (1.0 + q)
    move(Q, b, c * d0 - s * c0, c * d1 - s * c1, c * d2 - s * c2, xi, k, first)
    return (s - x) * c0 - c * d0, (s - x) * c1 - c * d1, (s - x) * c2 - c * d2
