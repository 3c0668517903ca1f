"""Friction, lagged: normal forces, tangents and contact points are those at the start of the step.

    E = μ λ f₀(|u|),   u = Tᵀ(x_a − x_b moved since the start of the step),   λ = −∂b/∂d (with h²)
    f₀(y) = y for y ≥ ε,  y²(ε − y/3)/ε² + ε/3 below,   ε = eps_velocity · h

Below ε the force grows smoothly from zero: a body at rest creeps by less than eps_velocity. Refreshing λ and T
inside a step does not converge; one lag per step does.

Rows of `frictions` (k, 16):  ξ_a (4), ξ_b (4), t₁ (3), t₂ (3), μλ, candidate       and of `bodies` (k, 2):  a, b
"""

from __future__ import annotations

import math

from dovetail.solver.contact.barrier import barrier
from dovetail.solver.contact.rows import set_term
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["add_friction", "add_friction_gradient", "friction_energy", "friction_slips", "lag_friction"]


@kernel
def lag_friction(
    count: int, contacts: Array, contact_bodies: Indices, numbers: Array, frictions: Array, bodies: Indices
) -> int:
    """Friction contacts of the present active contacts; returns how many there are."""
    kept = 0
    for k in range(count):
        candidate = contact_bodies[k, 2]
        mu = numbers[candidate, 1]
        squared = contacts[k, 11]
        d = math.sqrt(squared)
        _, first, _ = barrier(squared, numbers[candidate, 3], numbers[candidate, 2])
        normal_force = -2.0 * d * first * contacts[k, 12] * contacts[k, 14]
        if not mu * normal_force > 0.0:
            continue
        n0, n1, n2 = contacts[k, 8] / d, contacts[k, 9] / d, contacts[k, 10] / d
        # the axis least along n gives a well-conditioned tangent
        if abs(n0) < 0.6:
            t0, t1, t2 = 0.0, n2, -n1
        else:
            t0, t1, t2 = -n2, 0.0, n0
        length = math.sqrt(t0 * t0 + t1 * t1 + t2 * t2)
        t0, t1, t2 = t0 / length, t1 / length, t2 / length
        for i in range(8):
            frictions[kept, i] = contacts[k, i]
        frictions[kept, 8] = t0
        frictions[kept, 9] = t1
        frictions[kept, 10] = t2
        frictions[kept, 11] = n1 * t2 - n2 * t1
        frictions[kept, 12] = n2 * t0 - n0 * t2
        frictions[kept, 13] = n0 * t1 - n1 * t0
        frictions[kept, 14] = mu * normal_force
        frictions[kept, 15] = candidate
        bodies[kept, 0] = contact_bodies[k, 0]
        bodies[kept, 1] = contact_bodies[k, 1]
        kept += 1
    return kept


@kernel
def _slip(k: int, frictions: Array, a: int, b: int, Q: Array, Q_start: Array) -> tuple[float, float]:
    """u (2): how far the contact has slid since the start of the step [m]."""
    x = y = z = 0.0
    for i in range(4):
        w = frictions[k, i]
        x += w * (Q[a, i, 0] - Q_start[a, i, 0])
        y += w * (Q[a, i, 1] - Q_start[a, i, 1])
        z += w * (Q[a, i, 2] - Q_start[a, i, 2])
        if b >= 0:
            w = frictions[k, 4 + i]
            x -= w * (Q[b, i, 0] - Q_start[b, i, 0])
            y -= w * (Q[b, i, 1] - Q_start[b, i, 1])
            z -= w * (Q[b, i, 2] - Q_start[b, i, 2])
    u = frictions[k, 8] * x + frictions[k, 9] * y + frictions[k, 10] * z
    v = frictions[k, 11] * x + frictions[k, 12] * y + frictions[k, 13] * z
    return u, v


@kernel
def friction_energy(
    count: int, frictions: Array, bodies: Indices, epsilon: float, Q_start: Array, Q: Array, owner: Indices,
    runs: Indices, E: Array,
) -> None:  # fmt: skip
    """E[owner] += μλ f₀(|u|)."""
    for k in range(count):
        a, b = bodies[k, 0], bodies[k, 1]
        if not (runs[a] or (b >= 0 and runs[b])):
            continue
        m = owner[a] if b < 0 else max(owner[a], owner[b])
        u, v = _slip(k, frictions, a, b, Q, Q_start)
        y = math.sqrt(u * u + v * v)
        f0 = y if y >= epsilon else y * y * (epsilon - y / 3.0) / (epsilon * epsilon) + epsilon / 3.0
        E[m] += frictions[k, 14] * f0


@kernel
def friction_slips(
    count: int, frictions: Array, bodies: Indices, epsilon: float, Q_start: Array, Q: Array, force: Array
) -> float:
    """force (k, 3) ← friction force on body a, times h²; returns the energy lost to friction in the step, times h²."""
    lost = 0.0
    for k in range(count):
        u, v = _slip(k, frictions, bodies[k, 0], bodies[k, 1], Q, Q_start)
        y = math.sqrt(u * u + v * v)
        f1 = 1.0 / y if y >= epsilon else (2.0 - y / epsilon) / epsilon
        scale = frictions[k, 14] * f1
        lost += scale * y * y
        for x in range(3):
            force[k, x] = -scale * (u * frictions[k, 8 + x] + v * frictions[k, 11 + x])
    return lost


@kernel
def add_friction_gradient(frictions: Array, bodies: Indices, force: Array, position: Indices, g: Array) -> None:
    """g += gradient, of which the forces (k, 3) on bodies a are known."""
    for k in range(len(frictions)):
        for side in range(2):
            row = position[bodies[k, side]] if bodies[k, side] >= 0 else -1
            if row >= 0:
                for i in range(4):
                    c = -frictions[k, i] if side == 0 else frictions[k, 4 + i]
                    for x in range(3):
                        g[row, 3 * i + x] += c * force[k, x]


@kernel
def add_friction(
    count: int, frictions: Array, bodies: Indices, epsilon: float, stride: Array, Q_start: Array, Q: Array,
    position: Indices, active: Indices, g: Array, terms: Array, term_bodies: Indices,
) -> int:  # fmt: skip
    """g += gradient; the Hessian (positive semi-definite by nature) as terms, see rows.py. Returns how many.

    With e = u/|u|: gradient μλ f₁ u, f₁ = f₀′/y; Hessian μλ (f₁ e⊥e⊥ᵀ + f₀″ e eᵀ). Beyond ε the second term is zero: a
    step may then lead far over the point where the slip turns round, and the next one back. As long as the last step
    of a body, stride (n,) [m], could do so, half of f₁ stands in for f₀″; f₁ itself would never lead over it.
    """
    kept = 0
    for k in range(count):
        a, b = bodies[k, 0], bodies[k, 1]
        pa = position[a]
        pb = position[b] if b >= 0 else -1
        if not ((pa >= 0 and active[pa]) or (pb >= 0 and active[pb])):
            continue
        u, v = _slip(k, frictions, a, b, Q, Q_start)
        y = math.sqrt(u * u + v * v)
        load = frictions[k, 14]
        if y >= epsilon:
            f1, f2 = load / y, 0.0
            if y < max(stride[a], stride[b] if b >= 0 else 0.0):
                f2 = 0.5 * f1
        else:
            f1 = load * (2.0 - y / epsilon) / epsilon
            f2 = load * (2.0 - 2.0 * y / epsilon) / epsilon
        cu, cv = (u / y, v / y) if y > 0.0 else (1.0, 0.0)
        for side in range(2):
            row = pa if side == 0 else pb
            if row < 0:
                continue
            for i in range(4):
                c = f1 * frictions[k, 4 * side + i] if side == 0 else -f1 * frictions[k, 4 * side + i]
                for x in range(3):
                    g[row, 3 * i + x] += c * (u * frictions[k, 8 + x] + v * frictions[k, 11 + x])
        # across the slip, then along it
        for direction in range(2):
            stiffness, cs, ct = (f1, -cv, cu) if direction == 0 else (f2, cu, cv)
            if stiffness > 0.0:
                q = math.sqrt(stiffness)
                set_term(
                    terms, term_bodies, kept, frictions, k, a, b,
                    q * (cs * frictions[k, 8] + ct * frictions[k, 11]),
                    q * (cs * frictions[k, 9] + ct * frictions[k, 12]),
                    q * (cs * frictions[k, 10] + ct * frictions[k, 13]),
                )  # fmt: skip
                kept += 1
    return kept
