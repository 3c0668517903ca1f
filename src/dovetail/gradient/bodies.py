"""Adjoint of bodies: their shapes, and what a step of a linear multistep method does with states and accelerations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import Record, f8
from dovetail.solver.bodies import ORTHO, Bodies
from dovetail.typing import Array, Indices

__all__ = ["BodySums", "Costate", "PastBars", "end_bars", "fall_back", "ortho_product", "shape_gradients", "step_back"]


@dataclass(slots=True)
class PastBars:
    """Adjoints of what the step after the n-th takes from those before it, see `Past` in frame.py."""

    A: Array
    pushed: Array
    rubbing: Array
    turn: Array
    axis: Array
    keys: Indices
    force: Array
    pairs: Indices
    share: Array
    growth: Array


class Costate(Record):
    """Adjoints (n, 4, 3) of Qₙ, Vₙ, and of Qₙ₋₁, Vₙ₋₁ as the step after the n-th sees them; `past` in touch.

    rotors (2, r)      of e of rotors, and of that before it
    """

    Q: Array = f8(3)
    V: Array = f8(3)
    Q_before: Array = f8(3)
    V_before: Array = f8(3)
    past: PastBars | None = None
    rotors: Array | None = None

    @classmethod
    def zero(cls, n: int) -> Costate:
        return cls(**dict(zip(cls.fields, np.zeros((4, n, 4, 3)), strict=True)))


class BodySums(Record):
    """Gradients by moments (n, 4, 4), stiffness (n,) and gravity (n, 3) of bodies."""

    mass: Array = f8(3)
    stiffness: Array = f8(1)
    gravity: Array = f8(2)


def shape_gradients(bodies: Bodies, Q: Array) -> Array:
    """∂s/∂Q (n, 4, 3) of the shape energies s with stiffness 1: ‖AᵀA − 1‖², or ‖A − R‖² of ARAP."""
    A, out = Q[:, 1:], np.zeros_like(Q)
    out[:, 1:] = 4.0 * (A @ A.swapaxes(1, 2) - np.eye(3)) @ A
    others = bodies.model != ORTHO
    if others.any():
        U, _, Vt = np.linalg.svd(A[others])
        U[:, :, -1] *= np.linalg.det(U @ Vt)[:, None]
        out[others, 1:] = 2.0 * (A[others] - U @ Vt)
    return out


@kernel
def ortho_product(Q: Array, x: Array, b: int) -> float:
    """x·∂‖AᵀA − 1‖²/∂A of body b: 4 Σ G_ij a_j·x_i."""
    total = 0.0
    for i in range(1, 4):
        for j in range(1, 4):
            G = -1.0 if i == j else 0.0
            along = 0.0
            for z in range(3):
                G += Q[b, i, z] * Q[b, j, z]
                along += Q[b, j, z] * x[b, i, z]
            total += 4.0 * G * along
    return total


@kernel
def step_back(
    bodies: Bodies, table: Array, c: Array, h: float, Q: Array, Q_tilde: Array, x: Array, after: Costate,
    before: Costate, accelerations: tuple[Array, Array], sums: BodySums,
) -> None:  # fmt: skip
    """before ← adjoints of the start of a step to Q, whose equations have the adjoint x, from those `after` it.

    table (n, 10) has α₀, α₁, β₀, β₁, σ, δ, δ₀, δ₁, ε, η; `accelerations` ← adjoints (n, 4, 3) of a and of what Q̃ takes
    for Vₙ. Shapes of ARAP are left out.
    """
    mass, is_free, model, (a_bar, V_bar) = bodies.mass, bodies.is_free, bodies.model, accelerations
    mass_bar, stiffness_bar, late_Q, late_V = sums.mass, sums.stiffness, after.Q, after.V
    earlier_Q, earlier_V = after.Q_before, after.V_before
    Q_bar, Vn_bar, Q_before, V_before = before.Q, before.V, before.Q_before, before.V_before
    for b in range(len(Q)):
        a0, a1, b0, b1, s, _, d0, d1, carry, push = table[b]
        stays, weight = 0.0 if is_free[b] else 1.0, c[b]
        if model[b] == ORTHO:
            stiffness_bar[b] -= h * h * ortho_product(Q, x, b)
        for j in range(4):
            e0 = weight * (Q[b, j, 0] - Q_tilde[b, j, 0])
            e1 = weight * (Q[b, j, 1] - Q_tilde[b, j, 1])
            e2 = weight * (Q[b, j, 2] - Q_tilde[b, j, 2])
            for i in range(4):
                mass_bar[b, i, j] -= x[b, i, 0] * e0 + x[b, i, 1] * e1 + x[b, i, 2] * e2
        for i in range(4):
            m0, m1, m2, m3 = mass[b, i, 0], mass[b, i, 1], mass[b, i, 2], mass[b, i, 3]
            for z in range(3):
                t = weight * (m0 * x[b, 0, z] + m1 * x[b, 1, z] + m2 * x[b, 2, z] + m3 * x[b, 3, z])
                v = late_V[b, i, z]
                Q_bar[b, i, z] = earlier_Q[b, i, z] + d0 / h * v + a0 * t + stays * late_Q[b, i, z]
                Vn_bar[b, i, z] = earlier_V[b, i, z]
                Q_before[b, i, z] = d1 / h * v + a1 * t
                V_before[b, i, z] = h * b1 * t
                a_bar[b, i, z] = h * h * s * t + h * push * v
                V_bar[b, i, z] = h * b0 * t + carry * v


@kernel
def end_bars(table: Array, h: float, after: Costate, q: Array) -> None:
    """q (n, 4, 3) ← adjoint of Qₙ₊₁, with what Vₙ₊₁ has of it; for the table see `step_back`."""
    late_Q, late_V = after.Q, after.V
    for b in range(len(q)):
        share = table[b, 5] / h
        for i in range(4):
            for z in range(3):
                q[b, i, z] = late_Q[b, i, z] + share * late_V[b, i, z]


@kernel
def fall_back(bodies: Bodies, a_bar: Array, sums: BodySums, F_bar: Array, total: Array) -> None:
    """F_bar (n, 4, 3) ← adjoint of forces on bodies, from that of the accelerations g + M⁻¹F; total += it."""
    inverse, is_free, gravity = bodies.mass_inverse, bodies.is_free, sums.gravity
    for b in range(len(a_bar)):
        if is_free[b]:
            for z in range(3):
                gravity[b, z] += a_bar[b, 0, z]
        for i in range(4):
            m0, m1, m2, m3 = inverse[b, i, 0], inverse[b, i, 1], inverse[b, i, 2], inverse[b, i, 3]
            for z in range(3):
                F = m0 * a_bar[b, 0, z] + m1 * a_bar[b, 1, z] + m2 * a_bar[b, 2, z] + m3 * a_bar[b, 3, z]
                F_bar[b, i, z] = F
                total[b, i, z] += F
