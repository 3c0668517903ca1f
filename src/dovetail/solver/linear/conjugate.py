"""Conjugate gradients with an incomplete block Cholesky factor, for body graphs whose factor would fill up.

Where every body touches all its neighbours, as in a dense pile, the factor of H has many times the blocks of H. The
incomplete factor keeps the blocks of H alone and drops the rest: on a tree it is exact, elsewhere it leads conjugate
gradients to 10⁻⁴ in some tens of rounds. H must be positive definite.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.linear.block12 import subtract_times, subtract_transposed_times
from dovetail.solver.linear.cholesky import solve
from dovetail.typing import Array, Indices

if TYPE_CHECKING:
    from dovetail.solver.blocks import Blocks

__all__ = ["conjugate_gradients", "symmetrise"]


@kernel
def symmetrise(D: Array) -> None:
    """Copy the upper triangle of every block into the lower one."""
    for k in range(len(D)):
        for i in range(12):
            for j in range(i):
                D[k, i, j] = D[k, j, i]


@kernel
def _subtract_product(blocks: Blocks, active: Indices, x: Array, out: Array) -> None:
    """out (n, 12) −= H x."""
    order, row_start, column, D, U = blocks.order, blocks.row_start, blocks.column, blocks.D, blocks.U
    for k in range(len(order)):
        body = order[k]
        if not active[body]:
            continue
        subtract_times(out, body, D, body, x, body)
        for s in range(row_start[k], row_start[k + 1]):
            other = order[column[s]]
            subtract_times(out, body, U, s, x, other)
            subtract_transposed_times(out, other, U, s, x, body)


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
    blocks: Blocks, active: Indices, factor_D: Array, factor_U: Array, tolerance: float, most: int, y: Array
) -> int:
    """y (n, 12) ← H⁻¹ y of the active bodies, to a relative residual; returns the number of rounds.

    The residual is measured as √(rᵀ P⁻¹ r), P the product of the incomplete factors.
    """
    order, row_start, column, R = blocks.order, blocks.row_start, blocks.column, blocks.R
    r, x, z, p, product = y.copy(), np.zeros_like(y), y.copy(), np.zeros_like(y), np.empty_like(y)
    before = goal = 0.0
    rounds = 0
    while True:
        solve(order, row_start, column, active, factor_D, factor_U, R, z, (0, 0, len(order)))
        rz = _dot(active, r, z)
        if rounds == 0:
            goal = tolerance * tolerance * rz
        ratio = rz / before if rounds else 0.0
        for k in range(len(y)):
            for i in range(12):
                p[k, i] = z[k, i] + ratio * p[k, i]
        if rounds == most or rz <= goal:
            break
        rounds += 1
        before = rz
        product[:] = 0.0
        _subtract_product(blocks, active, p, product)
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
    for k in range(len(y)):
        if active[k]:
            for i in range(12):
                y[k, i] = x[k, i]
    return rounds
