"""Adjoint of loads: a = g + M⁻¹F(Q), with forces and torques along the axes of joints."""

from __future__ import annotations

import numpy as np

from dovetail.gradient.vectors import cross
from dovetail.solver.joint.stencil import Stencils
from dovetail.solver.load import JointForces, JointTorques
from dovetail.typing import Array

__all__ = ["load_adjoints"]


def load_adjoints(load: JointForces | JointTorques, Q: Array, F_bar: Array, Q_bar: Array) -> tuple[Array, Array]:
    """Adjoints of values (k,) and weights W (k, m, 8) of a load at Q from that of F (n, 4, 3); Q_bar += its part."""
    s = load.stencils
    both = np.concatenate([Q[s.left], Q[s.right]], axis=1)
    axes: Array = s.W @ both
    if isinstance(load, JointForces):
        apart = F_bar[s.right, 0] - F_bar[s.left, 0]
        values = (axes[:, 0] * apart).sum(axis=1)
        by_axes = (load.values[:, None] * apart)[:, None]
    else:
        values, by_axes = _torques(load, s, axes, Q, F_bar, Q_bar)
    back = np.einsum("kmi,kmx->kix", s.W, by_axes)
    np.add.at(Q_bar, s.left, back[:, :4])
    np.add.at(Q_bar, s.right, back[:, 4:])
    return values, by_axes @ both.swapaxes(1, 2)


def _torques(load: JointTorques, s: Stencils, axes: Array, Q: Array, F_bar: Array, Q_bar: Array) -> tuple[Array, Array]:
    """Adjoints of torques (k,) and of their axes (k, 2, 3), Q_bar += what the reciprocal vectors R = A⁻ᵀ pass on.

    F_i = ±½ τ e × R_i with e the mean of both unit axes; N̄ = −R R̄ᵀ R for R = N⁻ᵀ, N the rows 1 to 3 of Q.
    """
    length = np.linalg.norm(axes, axis=2, keepdims=True)
    unit = axes / length
    e, tau = unit.mean(axis=1), load.values
    values, e_bar = np.zeros(len(tau)), np.zeros_like(e)
    for body, sign in ((s.left, -0.5), (s.right, 0.5)):
        R = np.linalg.inv(Q[body, 1:]).swapaxes(1, 2)
        f = F_bar[body, 1:]
        spin = sign * cross(R, f).sum(axis=1)
        values += (e * spin).sum(axis=1)
        e_bar += tau[:, None] * spin
        R_bar = sign * tau[:, None, None] * cross(f, e[:, None])
        np.add.at(Q_bar[:, 1:], body, -R @ R_bar.swapaxes(1, 2) @ R)
    along = (unit * e_bar[:, None]).sum(axis=2, keepdims=True)
    return values, 0.5 * (e_bar[:, None] - unit * along) / length
