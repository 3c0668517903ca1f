"""Bodies at the consistent start of a step: their share of the filter P, and the curvature of their shape constraint.

A stiff shape energy is a constraint G(Q) = AᵀA − 1 = 0 with weight w = h²κV. Its Gauss–Newton Hessian 4w JᵀJ,
J = ∂G/∂Q, resists every change of shape and no rotation; the stress term, which would also weigh rotations, is left
out. The rate J V = 0 has the rate J A + (∂J/∂Q V) V = 0, whose second part is the curvature: on a row a_i

    4w Σ_j 2(v_i·v_j) a_j          (a_i, v_i: rows 1 to 3 of Q and V)

which for a body that turns with ω makes the centripetal acceleration. It is taken along the spin of Vₙ, v_i = ω × a_i,
with ω by angular momentum: that of the filtered velocity where nothing else holds a body, and O(h²) from it on smooth
motions of mechanisms, so that both right-hand sides are known at once.

ARAP, w‖A − R‖² = w‖S − 1‖² with S² = AᵀA, is w/4 ‖G‖² to second order in the strain, so it takes the same form with a
quarter of the weight.
"""

from __future__ import annotations

import numpy as np

from dovetail.solver.assembly.bodies import ORTHO
from dovetail.solver.body_lanes import start_of_eight
from dovetail.solver.emit import LANES
from dovetail.solver.energy.arap import add_arap_gradient
from dovetail.solver.energy.kinetic import add_kinetic_hessian
from dovetail.solver.energy.ortho import add_ortho_gradient, set_gauss_newton
from dovetail.solver.kernel import jit_enabled, kernel
from dovetail.typing import Array, Indices

__all__ = [
    "aim_at_start",
    "assemble_shapes",
    "close_start",
    "scatter",
    "set_momentum",
    "turn_to_acceleration",
]

_BY_EIGHT = jit_enabled


@kernel
def _share(k: float, largest_moment: float) -> float:
    """The share x/(1 + x) of the weight k of a shape.

    A stretch has the curvature 2k, so x = 2k over the largest second moment of the mass is ω²h² of the slowest.
    """
    return k * 2.0 * k / (largest_moment + 2.0 * k)


@kernel
def _spin(mass: Array, Q: Array, V: Array, b: int) -> tuple[float, float, float]:
    """ω of body b: turning as it is, strained or not, it has the angular momentum of V about its centre."""
    xx = yy = zz = xy = xz = yz = tx = ty = tz = 0.0
    for i in range(1, 4):
        x, y, z = Q[b, i, 0], Q[b, i, 1], Q[b, i, 2]
        for j in range(1, 4):
            S = mass[b, i, j] - mass[b, 0, i] * mass[b, 0, j] / mass[b, 0, 0]
            p, q, r = S * Q[b, j, 0], S * Q[b, j, 1], S * Q[b, j, 2]
            u, v, w = S * V[b, j, 0], S * V[b, j, 1], S * V[b, j, 2]
            xx, yy, zz = xx + y * q + z * r, yy + x * p + z * r, zz + x * p + y * q
            xy, xz, yz = xy - x * q, xz - x * r, yz - y * r
            tx, ty, tz = tx + y * w - z * v, ty + z * u - x * w, tz + x * v - y * u
    c0, c1, c2 = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    d = 1.0 / (xx * c0 + xy * c1 + xz * c2)
    return (
        d * (c0 * tx + c1 * ty + c2 * tz),
        d * (c1 * tx + (xx * zz - xz * xz) * ty + (xy * xz - xx * yz) * tz),
        d * (c2 * tx + (xy * xz - xx * yz) * ty + (xx * yy - xy * xy) * tz),
    )


@kernel
def _add_curvature(weight: float, h: float, mass: Array, Q: Array, V: Array, b: int, g: Array, k: int) -> None:
    """g[k] += h² curvature of the shape of body b along the spin of V."""
    wx, wy, wz = _spin(mass, Q, V, b)
    ww = wx * wx + wy * wy + wz * wz
    for i in range(1, 4):
        along = wx * Q[b, i, 0] + wy * Q[b, i, 1] + wz * Q[b, i, 2]
        for j in range(1, 4):
            # (ω × a_i)·(ω × a_j)
            vv = ww * (Q[b, i, 0] * Q[b, j, 0] + Q[b, i, 1] * Q[b, j, 1] + Q[b, i, 2] * Q[b, j, 2])
            vv -= along * (wx * Q[b, j, 0] + wy * Q[b, j, 1] + wz * Q[b, j, 2])
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
def _aim(
    mass: Array, mass_inverse: Array, stiffness: Array, filtered: Array, h: float, scale: float, a: Array, Q: Array,
    V: Array, b: int, k: int, g: Array, aims: Array, push: Array,
) -> None:  # fmt: skip
    """Aim and push of one body."""
    add_ortho_gradient(stiffness[b], Q, b, g, k)
    _add_curvature(filtered[b], h, mass, Q, V, b, g, k)
    for i in range(4):
        for x in range(3):
            value = h * h * a[b, i, x]
            for j in range(4):
                value -= mass_inverse[b, i, j] * g[k, 3 * j + x]
            push[b, i, x] = value
            aims[b, i, x] = Q[b, i, x] - scale * V[b, i, x]


@kernel
def aim_at_start(
    position: Indices, active: Indices, mass: Array, mass_inverse: Array, largest_moment: Array, w: Array, h: float,
    scale: float, a: Array, Q: Array, V: Array, g: Array, aims: Array, push: Array,
) -> None:  # fmt: skip
    """aims ← Q − scale · V, push ← h²a − M⁻¹(g + shapes), of bodies with active rows; aims ← Q of the others.

    The shapes, all with the OrthoPotential, have their gradient and h² times their curvature. g is scratch afterwards.
    """
    stiffness, filtered, lengths = np.empty(len(Q)), np.empty(len(Q)), np.array([h * h, scale])
    for first in range(0, len(Q), LANES):
        last = min(first + LANES, len(Q))
        acting = 0
        for b in range(first, last):
            k = position[b]
            stiffness[b] = 4.0 * w[b]
            filtered[b] = _share(stiffness[b], largest_moment[b])
            acting += k >= 0 and active[k] != 0
        if _BY_EIGHT and acting == LANES:
            start_of_eight(first, position, mass, mass_inverse, stiffness, filtered, lengths, a, Q, V, g, aims, push)
            continue
        for b in range(first, last):
            k = position[b]
            if k >= 0 and active[k]:
                _aim(mass, mass_inverse, stiffness, filtered, h, scale, a, Q, V, b, k, g, aims, push)
            else:
                for i in range(4):
                    for x in range(3):
                        aims[b, i, x] = Q[b, i, x]


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
    """g ← g − h² M a + h² curvature of the shapes along Vₙ, in active rows."""
    for b in range(len(V)):
        k = position[b]
        if k < 0 or not active[k]:
            continue
        for i in range(4):
            for x in range(3):
                for j in range(4):
                    g[k, 3 * i + x] -= h * h * mass[b, i, j] * a[b, j, x]
        _add_curvature(filtered[b], h, mass, Q, V, b, g, k)


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
    """Of bodies with active rows, whose Â is scale · y/h²: a ← Â + a_end, inner ← Â − a_end."""
    for b in range(len(position)):
        k = position[b]
        if k >= 0 and active[k]:
            for i in range(4):
                for x in range(3):
                    A = scale * y[k, 3 * i + x] / (h * h)
                    a[b, i, x] = A + a_end[b, i, x]
                    inner[b, i, x] = A - a_end[b, i, x]
