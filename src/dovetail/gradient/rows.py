"""Adjoint of the rows of joints: gradients by their weights W and stiffnesses K.

With F = W Q, dF = W x of the adjoint x, and C(F) of a row, λ·∂ of a step's equations is

    s = (m + K C)·J dF + ν·C          K = 0 for exact rows, m = ν = 0 for penalties

which is differentiated by F and dF; W̄ = s_F ⊗ Q + s_dF ⊗ x.
"""

from __future__ import annotations

import numpy as np

from dovetail.gradient.vectors import across, cross
from dovetail.solver.joint.rows import Rows
from dovetail.typing import Array

__all__ = ["RowAdjoints", "stacked"]


_TOGETHER = 64  # steps whose gradients are found at once


def stacked(rows: Rows, Q: Array) -> Array:
    """[Q_i; Q_j] (…, k, 8, 3) of the bodies of all rows, for Q (…, n, 4, 3)."""
    return np.concatenate([Q[..., rows.left, :, :], Q[..., rows.right, :, :]], axis=-2)


class RowAdjoints:
    """Adds up the gradients by W and K of some rows, many steps at a time."""

    def __init__(self, rows: Rows, W_bar: Array, K_bar: Array) -> None:
        self._rows, self._W_bar, self._K_bar = rows, W_bar, K_bar
        self._steps: list[tuple[Array, Array, Array, Array]] = []

    def add(self, nu: Array, Q: Array, x: Array) -> None:
        """One step more, with the multipliers that the rows have now; nu (e, 3) are those of its exact rows."""
        self._steps.append((self._rows.multiplier.copy(), nu, Q, x))
        if len(self._steps) == _TOGETHER:
            self.finish()

    def finish(self) -> None:
        """Have everything in the sums."""
        if self._steps and self._rows.count:
            W_bar, K_bar = _row_adjoints(self._rows, *(np.array(part) for part in zip(*self._steps, strict=True)))
            self._W_bar += W_bar
            self._K_bar += K_bar[: self._rows.exact]
        self._steps.clear()


def _row_adjoints(rows: Rows, multiplier: Array, nu: Array, Q: Array, x: Array) -> tuple[Array, Array]:
    """W̄ (k, m, 8) and K̄ (k,), summed over steps, the first axis of multipliers, ν, states and adjoints."""
    both, moved = stacked(rows, Q), stacked(rows, x)
    F, dF = rows.W @ both, rows.W @ moved
    exact = np.arange(rows.count) >= rows.exact
    K = np.where(exact, 0.0, rows.K)[:, None]
    held = np.zeros_like(multiplier)
    held[:, rows.exact :] = nu
    if rows.W.shape[1] == 1:
        C, JdF = F[:, :, 0], dF[:, :, 0]
        pull = multiplier + K * C
        by_F, by_dF = (K * JdF + held)[:, :, None], pull[:, :, None]
    else:
        u, v, du, dv = F[:, :, 0], F[:, :, 1], dF[:, :, 0], dF[:, :, 1]
        C, JdF = cross(u, v), cross(du, v) + cross(u, dv)
        multiplier, held = across(v, multiplier), across(v, held)  # along v exact slides say nothing
        pull = multiplier + K * C
        turn = K * JdF + held
        by_F = np.stack([cross(v, turn) + cross(dv, pull), cross(turn, u) + cross(pull, du)], axis=2)
        by_dF = np.stack([cross(v, pull), cross(pull, u)], axis=2)
    W_bar = by_F @ both.swapaxes(2, 3) + by_dF @ moved.swapaxes(2, 3)
    return -W_bar.sum(axis=0), -np.where(exact, 0.0, (C * JdF).sum(axis=(0, 2)))
