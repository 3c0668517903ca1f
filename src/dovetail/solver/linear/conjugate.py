"""Conjugate gradients with an incomplete block Cholesky factor, for body graphs whose factor would fill up.

Where every body touches all its neighbours, as in a dense pile, the factor of H has many times the blocks of H. The
incomplete factor keeps the blocks of H alone and drops the rest: on a tree it is exact, elsewhere it leads conjugate
gradients to 10⁻⁴ in some tens of rounds. H must be positive definite.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.solver.kernel import kernel
from dovetail.solver.linear.block12 import subtract_times, subtract_transposed_times
from dovetail.solver.linear.cholesky import solve
from dovetail.typing import Array, Indices

__all__ = ["conjugate_gradients", "symmetrise"]


@kernel
def symmetrise(D: Array) -> None:
    """Copy the upper triangle of every block into the lower one."""
    for k in range(len(D)):
        for i in range(12):
            for j in range(i):
                D[k, i, j] = D[k, j, i]


@kernel
def _subtract_product(
    row_start: Indices, column: Indices, active: Indices, D: Array, U: Array, x: Array, out: Array
) -> None:
    """out (n, 12) −= H x."""
    for k in range(len(D)):
        if not active[k]:
            continue
        subtract_times(out, k, D, k, x, k)
        for s in range(row_start[k], row_start[k + 1]):
            subtract_times(out, k, U, s, x, column[s])
            subtract_transposed_times(out, column[s], U, s, x, k)


@kernel
def _dot(active: Indices, a: Array, b: Array) -> float:
    total = 0.0
    for k in range(len(a)):
        if active[k]:
            for i in range(12):
                total += a[k, i] * b[k, i]
    return total


@kernel
def conjugate_gradients(
    row_start: Indices, column: Indices, active: Indices, D: Array, U: Array, factor_D: Array, factor_U: Array,
    factor_R: Array, tolerance: float, most: int, y: Array,
) -> int:  # fmt: skip
    """y (n, 12) ← H⁻¹ y on the active rows, to a relative residual; returns the number of rounds.

    The residual is measured as √(rᵀ P⁻¹ r), P the product of the incomplete factors.
    """
    r, x = y.copy(), np.zeros_like(y)
    z = r.copy()
    solve(row_start, column, active, factor_D, factor_U, factor_R, z)
    p, product = z.copy(), np.empty_like(y)
    rz = _dot(active, r, z)
    goal = tolerance * tolerance * rz
    rounds = 0
    while rounds < most and not rz <= goal:
        rounds += 1
        product[:] = 0.0
        _subtract_product(row_start, column, active, D, U, p, product)
        curvature = -_dot(active, p, product)
        if not curvature > 0.0:
            # not a number, or H was not positive definite after all: what there is of x will do, if there is any
            if rounds == 1:
                x[:] = math.nan
            break
        alpha = rz / curvature
        for k in range(len(y)):
            for i in range(12):
                x[k, i] += alpha * p[k, i]
                r[k, i] += alpha * product[k, i]
                z[k, i] = r[k, i]
        solve(row_start, column, active, factor_D, factor_U, factor_R, z)
        before, rz = rz, _dot(active, r, z)
        for k in range(len(y)):
            for i in range(12):
                p[k, i] = z[k, i] + (rz / before) * p[k, i]
    for k in range(len(y)):
        if active[k]:
            for i in range(12):
                y[k, i] = x[k, i]
    return rounds
