"""Bodies at a consistent start: derivatives of their part of ℓ (start.py); equations in solver/assembly/start.py.

With B(y)_ij = y_i·a_j of a motion y, rows a_i of A, the filter of a shape is y·P z = f B(y):(B(z) + B(z)ᵀ), f a share
of its weight k. Along the spin ω of V̂, v_i = ω × a_i, its curvature on a row is 2h²f Σ_j (v_i·v_j) a_j.
"""

from __future__ import annotations

import numpy as np

from dovetail.gradient.bodies import shape_gradients
from dovetail.gradient.sums import Sums
from dovetail.gradient.vectors import cross
from dovetail.solver.bodies import ORTHO
from dovetail.solver.model import Model
from dovetail.typing import Array, Indices

__all__ = ["body_adjoints"]

_STEP = 1e-6  # of differences of the gradient of ARAP, beside 1


def body_adjoints(
    model: Model, active: Indices, h: float, motions: tuple[Array, ...], Q: Array, sums: Sums | None
) -> tuple[Array, Array]:
    """Derivatives by Qₙ and V̂ (n, 4, 3); with `sums` those by stiffness and mass. motions are μ₁, V̂, μ₂, x.

    Those by V̂ do not depend on μ₁; without `sums` no others are found.
    """
    bodies, w = model.bodies, model.potential.weights.w
    on, A = active != 0, Q[:, 1:]
    mu1, V, mu2, x = (each[:, 1:] for each in motions)
    k = np.where(bodies.model == ORTHO, 4.0 * w, w)
    L = bodies.largest_moment
    f = np.where(on, 2.0 * k * k / (L + 2.0 * k), 0.0)
    f_bar, A_bar, V_bar, S_bar = _curvature(h, bodies.mass, Q, motions[1], mu2)
    A_bar, V_bar, S_bar = (f[:, None, None] * each for each in (A_bar, V_bar, S_bar))
    Q_bar, V_hat_bar = np.zeros_like(Q), np.zeros_like(Q)
    V_hat_bar[:, 1:] = V_bar
    if sums is None:
        return Q_bar, V_hat_bar
    for y, z in ((mu1, V), (mu2, x)):
        B, both = y @ A.swapaxes(1, 2), z @ A.swapaxes(1, 2)
        C, both = B + B.swapaxes(1, 2), both + both.swapaxes(1, 2)
        f_bar = f_bar - (B * both).sum(axis=(1, 2))
        A_bar -= f[:, None, None] * (both @ y + C @ z)
    A_bar += np.where(on, w, 0.0)[:, None, None] * _shape_product(model, Q, mu2)
    Q_bar[:, 1:] = A_bar
    f_bar = np.where(on, f_bar, 0.0)
    by_k = np.where(bodies.model == ORTHO, 4.0, 1.0) * 4.0 * k * (L + k) / (L + 2.0 * k) ** 2
    shapes = (mu2 * shape_gradients(bodies, Q)[:, 1:]).sum(axis=(1, 2))
    sums.constant["stiffness"] += h * h * np.where(on, f_bar * by_k + shapes, 0.0)
    axis = np.linalg.eigh(_second(bodies.mass))[1][:, :, -1]
    by_L = -f_bar * 2.0 * k * k / (L + 2.0 * k) ** 2
    sums.constant["mass"] += _of_second(bodies.mass, S_bar + by_L[:, None, None] * axis[:, :, None] * axis[:, None])
    return Q_bar, V_hat_bar


def _second(mass: Array) -> Array:
    """Second moments (n, 3, 3) about the centre of mass, in the body."""
    return np.asarray(mass[:, 1:, 1:] - mass[:, 1:, :1] * mass[:, :1, 1:] / mass[:, :1, :1])


def _of_second(mass: Array, S_bar: Array) -> Array:
    """Adjoint of M̂ (n, 4, 4) from that of the second moments about the centre of mass."""
    c = mass[:, 1:, 0] / mass[:, :1, 0]
    out = np.zeros_like(mass)
    out[:, 1:, 1:] = S_bar
    both = S_bar + S_bar.swapaxes(1, 2)
    out[:, 1:, 0] = -np.einsum("bij,bj->bi", both, c)
    out[:, 0, 0] = np.einsum("bij,bi,bj->b", S_bar, c, c)
    return out


def _shape_product(model: Model, Q: Array, y: Array) -> Array:
    """Hessian of the shapes with weight 1 (n, 3, 3), times y."""
    A, transposed = Q[:, 1:], Q[:, 1:].swapaxes(1, 2)
    B = y @ transposed
    out: Array = 4.0 * ((B + B.swapaxes(1, 2)) @ A + (A @ transposed - np.eye(3)) @ y)
    others = model.bodies.model != ORTHO
    if others.any():
        size = _STEP / (np.abs(y).max(axis=(1, 2), keepdims=True) + 1e-300)
        moved = np.zeros((2, *Q.shape))
        moved[0], moved[1] = Q, Q
        moved[0, :, 1:] += size * y
        moved[1, :, 1:] -= size * y
        change = (shape_gradients(model.bodies, moved[0]) - shape_gradients(model.bodies, moved[1]))[:, 1:] / (
            2.0 * size
        )
        out[others] = change[others]
    return out


def _curvature(h: float, mass: Array, Q: Array, V_hat: Array, mu: Array) -> tuple[Array, Array, Array, Array]:
    """μ₂·curvature for f = 1 (n,), and its derivatives by rows 1 to 3 of Qₙ and V̂ and by second moments (n, 3, 3)."""
    A, V, S = Q[:, 1:], V_hat[:, 1:], _second(mass)
    r = S @ V
    world = A.swapaxes(1, 2) @ S @ A
    inertia = np.trace(world, axis1=1, axis2=2)[:, None, None] * np.eye(3) - world
    omega = np.linalg.solve(inertia, cross(A, r).sum(axis=1)[:, :, None])[:, :, 0]
    v = cross(omega[:, None], A)
    c, vv, scale = mu @ A.swapaxes(1, 2), v @ v.swapaxes(1, 2), 2.0 * h * h
    value = scale * (vv * c).sum(axis=(1, 2))
    v_bar = scale * (c + c.swapaxes(1, 2)) @ v
    A_bar = scale * vv @ mu + cross(v_bar, omega[:, None])
    omega_bar = cross(A, v_bar).sum(axis=1)
    t = np.linalg.solve(inertia, omega_bar[:, :, None])[:, :, 0]
    I_bar = -t[:, :, None] * omega[:, None]
    world_bar = np.trace(I_bar, axis1=1, axis2=2)[:, None, None] * np.eye(3) - I_bar
    A_bar += S @ A @ (world_bar + world_bar.swapaxes(1, 2)) + cross(r, t[:, None])
    r_bar = cross(t[:, None], A)
    S_bar = A @ world_bar @ A.swapaxes(1, 2) + r_bar @ V.swapaxes(1, 2)
    return value, A_bar, S @ r_bar, S_bar
