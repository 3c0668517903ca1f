"""Adjoint of the rows of joints: gradients by their weights W and stiffnesses K.

With F = W Q, dF = W x of the adjoint x, and C(F) of a row, λ·∂ of a step's equations is

    s = (m + K C)·J dF + ν·C          K = 0 for exact rows, m = ν = 0 for penalties

which is differentiated by F and dF; W̄ = s_F ⊗ Q + s_dF ⊗ x.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.joint.rows import Rows
from dovetail.solver.joint.stencil import gather
from dovetail.typing import Array

__all__ = ["points_back", "row_adjoints", "stacked"]


def stacked(rows: Rows, Q: Array) -> Array:
    """[Q_i; Q_j] (k, 8, 3) of the bodies of all rows."""
    return np.concatenate([Q[rows.left], Q[rows.right]], axis=1)


@kernel
def _add_cross(a: Array, i: int, b: Array, j: int, out: Array, k: int) -> None:
    """out[k : k + 3] += a[i : i + 3] × b[j : j + 3]."""
    out[k] += a[i + 1] * b[j + 2] - a[i + 2] * b[j + 1]
    out[k + 1] += a[i + 2] * b[j] - a[i] * b[j + 2]
    out[k + 2] += a[i] * b[j + 1] - a[i + 1] * b[j]


@kernel
def row_adjoints(rows: Rows, nu: Array, first: int, Q: Array, x: Array, W_bar: Array, K_bar: Array) -> None:
    """W_bar (k, m, 8), K_bar (e,) −= derivatives of s; nu[first:] are the ν of exact rows."""
    W, m = rows.W, rows.W.shape[1]
    F, dF, by_F, by_dF = np.empty(3 * m), np.empty(3 * m), np.empty(3 * m), np.empty(3 * m)
    C, rate, pull, turn = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for k in range(len(rows.left)):
        left, right, K = rows.left[k], rows.right[k], rows.K[k]
        gather(W, k, left, right, Q, F)
        gather(W, k, left, right, x, dF)
        for i in range(3):
            C[i], rate[i] = (F[i], dF[i]) if m == 1 else (0.0, 0.0)
        if m == 2:
            _add_cross(F, 0, F, 3, C, 0)
            _add_cross(dF, 0, F, 3, rate, 0)
            _add_cross(F, 0, dF, 3, rate, 0)
        if k < rows.exact:
            for i in range(3):
                pull[i], turn[i] = K * C[i], K * rate[i]
                K_bar[k] -= C[i] * rate[i]
        else:
            for i in range(3):
                pull[i], turn[i] = rows.multiplier[k, i], nu[first + k - rows.exact, i]
            if m == 2:  # along v exact slides say nothing
                square = F[3] * F[3] + F[4] * F[4] + F[5] * F[5]
                along = (F[3] * pull[0] + F[4] * pull[1] + F[5] * pull[2]) / square
                turned = (F[3] * turn[0] + F[4] * turn[1] + F[5] * turn[2]) / square
                for i in range(3):
                    pull[i] -= along * F[3 + i]
                    turn[i] -= turned * F[3 + i]
        for i in range(3 * m):
            by_F[i], by_dF[i] = (turn[i], pull[i]) if m == 1 else (0.0, 0.0)
        if m == 2:
            _add_cross(F, 3, turn, 0, by_F, 0)
            _add_cross(dF, 3, pull, 0, by_F, 0)
            _add_cross(turn, 0, F, 0, by_F, 3)
            _add_cross(pull, 0, dF, 0, by_F, 3)
            _add_cross(F, 3, pull, 0, by_dF, 0)
            _add_cross(pull, 0, F, 0, by_dF, 3)
        for r in range(m):
            for i in range(4):
                for z in range(3):
                    W_bar[k, r, i] -= by_F[3 * r + z] * Q[left, i, z] + by_dF[3 * r + z] * x[left, i, z]
                    W_bar[k, r, 4 + i] -= by_F[3 * r + z] * Q[right, i, z] + by_dF[3 * r + z] * x[right, i, z]


@kernel
def points_back(
    rows: Rows, penalties: int, at: bool, motions: tuple[Array, Array], held: tuple[Array, Array], Q: Array,
    Q_bar: Array, W_bar: Array, K_bar: Array,
) -> None:  # fmt: skip
    """Q_bar, W_bar, K_bar += derivatives of the part of points in a consistent start, for motions μ and y:

    −K Wμ·W(y − Q) of the first rows, which are penalties, Q where they are asked to close (`at`), and −m·Wμ − ν·Wy of
    exact ones, held = m, ν.
    """
    (mu, y), (m, nu), W, d, z = motions, held, rows.W, np.empty(3), np.empty(3)
    share = 1.0 if at else 0.0
    for k in range(len(rows.left)):
        left, right, K = rows.left[k], rows.right[k], rows.K[k]
        for x in range(3):
            d[x] = z[x] = 0.0
            for i in range(8 if k < penalties else 0):
                b, e = (left, i) if i < 4 else (right, i - 4)
                d[x] += W[k, 0, i] * mu[b, e, x]
                z[x] += W[k, 0, i] * (y[b, e, x] - share * Q[b, e, x])
        if k < rows.exact:
            K_bar[k] -= d[0] * z[0] + d[1] * z[1] + d[2] * z[2]
        for i in range(8):
            b, e = (left, i) if i < 4 else (right, i - 4)
            for x in range(3):
                if k < penalties:
                    W_bar[k, 0, i] -= K * (z[x] * mu[b, e, x] + d[x] * (y[b, e, x] - share * Q[b, e, x]))
                    Q_bar[b, e, x] += share * K * W[k, 0, i] * d[x]
                if k >= rows.exact:
                    W_bar[k, 0, i] -= m[k - rows.exact, x] * mu[b, e, x] + nu[k - rows.exact, x] * y[b, e, x]
