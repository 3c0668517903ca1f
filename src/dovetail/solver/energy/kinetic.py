"""Kinetic term: half the squared distance to the predicted state Q̃, measured by the mass moments.

    E = ½ tr((Q − Q̃)ᵀ M̂ (Q − Q̃)) · c          g = c M̂ (Q − Q̃)          H = c M̂ ⊗ I₃

Q (4×3) = [p; A e₁; A e₂; A e₃]; M̂ = ∫ρ (1,x̄)(1,x̄)ᵀ dV [kg, kg·m, kg·m²]; c by integrator, see predict.py.
"""

from __future__ import annotations

from dovetail.kernel.kernel import kernel
from dovetail.typing import Array

__all__ = ["add_kinetic_hessian", "kinetic_energy", "set_kinetic_gradient"]

# A body without a kinetic term keeps this share of its mass in the Hessian (never in the gradient), so that a motion
# that nothing else resists stays zero instead of undefined.
_GHOST_MASS = 1e-8


@kernel
def kinetic_energy(mass: Array, c: float, Q: Array, Q_tilde: Array, b: int) -> float:
    """E of body b [J·s²]: the incremental potential carries no 1/h²."""
    total = 0.0
    for i in range(4):
        for a in range(3):
            row = 0.0
            for j in range(4):
                row += mass[b, i, j] * (Q[b, j, a] - Q_tilde[b, j, a])
            total += row * (Q[b, i, a] - Q_tilde[b, i, a])
    return 0.5 * c * total


@kernel
def set_kinetic_gradient(mass: Array, c: float, Q: Array, Q_tilde: Array, b: int, g: Array) -> None:
    """g[b] ← c M̂ (Q − Q̃) of body b."""
    for i in range(4):
        for a in range(3):
            row = 0.0
            for j in range(4):
                row += mass[b, i, j] * (Q[b, j, a] - Q_tilde[b, j, a])
            g[b, 3 * i + a] = c * row


@kernel
def add_kinetic_hessian(mass: Array, c: float, b: int, D: Array) -> None:
    """D[b] += c M̂ ⊗ I₃ of body b (upper triangle)."""
    weight = max(c, _GHOST_MASS)
    for i in range(4):
        for j in range(i, 4):
            for a in range(3):
                D[b, 3 * i + a, 3 * j + a] += weight * mass[b, i, j]
