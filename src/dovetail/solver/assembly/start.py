"""Bodies at the consistent start of a step: their share of the filter P, and the curvature of their shape constraint.

A stiff shape energy is a constraint G(Q) = AᵀA − 1 = 0 with weight w = h²κV. Its Gauss–Newton Hessian 4w JᵀJ,
J = ∂G/∂Q, resists every change of shape and no rotation; the stress term, which would also weigh rotations, is left
out. The rate J V = 0 has the rate J A + (∂J/∂Q V) V = 0, whose second part is the curvature: on a row a_i

    4w Σ_j 2(v_i·v_j) a_j          (a_i, v_i: rows 1 to 3 of Q and V)

which for a body that turns with ω makes the centripetal acceleration. ARAP, w‖A − R‖² = w‖S − 1‖² with S² = AᵀA, is
w/4 ‖G‖² to second order in the strain, so it takes the same form with a quarter of the weight.
"""

from __future__ import annotations

import numpy as np

from dovetail.solver.assembly.bodies import ORTHO
from dovetail.solver.energy.arap import add_arap_gradient
from dovetail.solver.energy.kinetic import add_kinetic_hessian
from dovetail.solver.energy.ortho import add_ortho_gradient, set_gauss_newton
from dovetail.solver.kernel import kernel
from dovetail.solver.polar import polar
from dovetail.typing import Array, Indices

__all__ = [
    "aim_at_acceleration",
    "aim_at_velocity",
    "assemble_shapes",
    "close_start",
    "scatter",
    "set_momentum",
    "turn_to_acceleration",
]


_POLAR = 1e-6  # Newton's last change of a rotation, whose square is the error


@kernel
def _share(k: float, largest_moment: float) -> float:
    """The share x/(1 + x) of the weight k of a shape.

    A stretch has the curvature 2k, so x = 2k over the largest second moment of the mass is ω²h² of the slowest.
    """
    return k * 2.0 * k / (largest_moment + 2.0 * k)


@kernel
def _add_curvature(weight: float, h: float, Q: Array, V: Array, b: int, g: Array, k: int) -> None:
    """g[k] += h² curvature of the shape of body b."""
    for i in range(1, 4):
        for j in range(1, 4):
            vv = V[b, i, 0] * V[b, j, 0] + V[b, i, 1] * V[b, j, 1] + V[b, i, 2] * V[b, j, 2]
            for x in range(3):
                g[k, 3 * i + x] += 2.0 * h * h * weight * vv * Q[b, j, x]


@kernel
def assemble_shapes(
    position: Indices, active: Indices, model: Indices, mass: Array, largest_moment: Array, w: Array, base: Array,
    Q: Array, filtered: Array, g: Array, D: Array,
) -> None:  # fmt: skip
    """g ← gradient of the shapes, D ← M + base + Gauss–Newton Hessian, in active rows.

    filtered (n,) ← its weight, a share of k = 4w, or w for ARAP.
    """
    u, v, R = np.zeros((3, 12)), np.zeros((3, 12)), np.empty((3, 3))
    for b in range(len(Q)):
        k = position[b]
        if k < 0 or not active[k]:
            continue
        for i in range(12):
            g[k, i] = 0.0
        stiffness = w[b]
        if model[b] == ORTHO:
            stiffness *= 4.0
            add_ortho_gradient(stiffness, Q, b, g, k)
        else:
            add_arap_gradient(w[b], Q, b, R, g, k)
        filtered[b] = _share(stiffness, largest_moment[b])
        set_gauss_newton(filtered[b], Q, b, u, v, base, D, k)
        add_kinetic_hessian(mass, 1.0, b, D, k)


@kernel
def aim_at_velocity(
    position: Indices, active: Indices, scale: float, Q: Array, V: Array, upright: Array, aims: Array
) -> None:
    """upright ← Q without its strain, aims ← upright − scale · V of bodies with active rows; both ← Q of the others."""
    R = np.empty((3, 3))
    for b in range(len(Q)):
        k = position[b]
        for i in range(4):
            for x in range(3):
                upright[b, i, x] = Q[b, i, x]
                aims[b, i, x] = Q[b, i, x]
        if k < 0 or not active[k]:
            continue
        polar(Q, b, R, _POLAR)
        for x in range(3):
            for i in range(3):
                upright[b, 1 + i, x] = R[i, x]
            for i in range(4):
                aims[b, i, x] = upright[b, i, x] - scale * V[b, i, x]


@kernel
def aim_at_acceleration(
    position: Indices, active: Indices, mass_inverse: Array, largest_moment: Array, w: Array, h: float, scale: float,
    a: Array, Q: Array, upright: Array, y: Array, g: Array, V: Array, aims: Array,
) -> None:  # fmt: skip
    """V ← y/scale = V̂, aims ← upright + scale · (h²a − M⁻¹(g + shapes)), in active rows.

    The shapes, all with the OrthoPotential, have their gradient, which is added to g, and h² times their curvature.
    """
    for b in range(len(Q)):
        k = position[b]
        if k < 0 or not active[k]:
            continue
        for i in range(4):
            for x in range(3):
                V[b, i, x] = y[k, 3 * i + x] / scale
        stiffness = 4.0 * w[b]
        add_ortho_gradient(stiffness, Q, b, g, k)
        _add_curvature(_share(stiffness, largest_moment[b]), h, Q, V, b, g, k)
        for i in range(4):
            for x in range(3):
                value = h * h * a[b, i, x]
                for j in range(4):
                    value -= mass_inverse[b, i, j] * g[k, 3 * j + x]
                aims[b, i, x] = upright[b, i, x] + scale * value


@kernel
def set_momentum(position: Indices, active: Indices, mass: Array, V: Array, h: float, drift: Array, g: Array) -> None:
    """g ← M V − drift/h in active rows."""
    for b in range(len(V)):
        k = position[b]
        if k < 0 or not active[k]:
            continue
        for i in range(4):
            for x in range(3):
                value = -drift[k, 3 * i + x] / h
                for j in range(4):
                    value += mass[b, i, j] * V[b, j, x]
                g[k, 3 * i + x] = value


@kernel
def turn_to_acceleration(
    position: Indices, active: Indices, mass: Array, filtered: Array, h: float, a: Array, Q: Array, V: Array, g: Array
) -> None:
    """g ← g − h² M a + h² curvature of the shapes, in active rows."""
    for b in range(len(V)):
        k = position[b]
        if k < 0 or not active[k]:
            continue
        for i in range(4):
            for x in range(3):
                for j in range(4):
                    g[k, 3 * i + x] -= h * h * mass[b, i, j] * a[b, j, x]
        _add_curvature(filtered[b], h, Q, V, b, g, k)


@kernel
def scatter(position: Indices, active: Indices, y: Array, scale: float, out: Array) -> None:
    """out[b] ← scale · y[position of b] for bodies with active rows; the others keep theirs."""
    for b in range(len(position)):
        k = position[b]
        if k >= 0 and active[k]:
            for i in range(4):
                for x in range(3):
                    out[b, i, x] = scale * y[k, 3 * i + x]


@kernel
def close_start(
    position: Indices, active: Indices, h: float, y: Array, scale: float, a_end: Array, a: Array, inner: Array
) -> None:
    """Of bodies with active rows, whose Â is −scale · y/h²: a ← Â + a_end, inner ← Â − a_end."""
    for b in range(len(position)):
        k = position[b]
        if k >= 0 and active[k]:
            for i in range(4):
                for x in range(3):
                    A = -scale * y[k, 3 * i + x] / (h * h)
                    a[b, i, x] = A + a_end[b, i, x]
                    inner[b, i, x] = A - a_end[b, i, x]
