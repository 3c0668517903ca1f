"""Adjoint of the rows of joints: gradients by their weights W and stiffnesses K.

With F = W Q, dF = W x of the adjoint x, and C(F) of a row, λ·∂ of a step's equations is

    s = (m + K C)·J dF + ν·C          K = 0 for exact rows, m = ν = 0 for penalties

which is differentiated by F and dF; W̄ = s_F ⊗ Q + s_dF ⊗ x.
"""

from __future__ import annotations

import numpy as np

from dovetail.gradient.vectors import cross
from dovetail.solver.joint.rows import Rows
from dovetail.typing import Array

__all__ = ["row_adjoints", "stacked"]


def stacked(rows: Rows, Q: Array) -> Array:
    """[Q_i; Q_j] (k, 8, 3) of the bodies of all rows."""
    return np.concatenate([Q[rows.left], Q[rows.right]], axis=1)


def row_adjoints(rows: Rows, nu: Array, Q: Array, x: Array) -> tuple[Array, Array]:
    """W̄ (k, m, 8) and K̄ (k,) of one step; nu (e, 3) are those of its exact rows."""
    both, moved = stacked(rows, Q), stacked(rows, x)
    F, dF = rows.W @ both, rows.W @ moved
    exact = np.arange(rows.count) >= rows.exact
    K = np.where(exact, 0.0, rows.K)[:, None]
    held = np.zeros((rows.count, 3))
    held[rows.exact :] = nu
    if rows.W.shape[1] == 1:
        C, JdF = F[:, 0], dF[:, 0]
        pull = rows.multiplier + K * C
        by_F, by_dF = (K * JdF + held)[:, None], pull[:, None]
    else:
        (u, v), (du, dv) = F.swapaxes(0, 1), dF.swapaxes(0, 1)
        C, JdF = cross(u, v), cross(du, v) + cross(u, dv)
        pull = rows.multiplier + K * C
        turn = K * JdF + held
        by_F = np.stack([cross(v, turn) + cross(dv, pull), cross(turn, u) + cross(pull, du)], axis=1)
        by_dF = np.stack([cross(v, pull), cross(pull, u)], axis=1)
    W_bar = by_F @ both.swapaxes(1, 2) + by_dF @ moved.swapaxes(1, 2)
    return -W_bar, -np.where(exact, 0.0, (C * JdF).sum(axis=1))
