"""Block Cholesky H = UᵀU on the structure of the body graph, and the two triangular solves.

D (n, 12, 12) holds the diagonal blocks, U (m, 12, 12) the off-diagonal blocks of the upper triangle row by row;
both are overwritten by the factor. R (n, 12) receives the reciprocals of U's diagonal. Right-looking: each row,
once final, is subtracted from the rows it touches. Row k's later columns are all present in the rows it updates
(that is what fill means), so a walk along the two sorted lists finds every target. On a structure without fill the
targets that have no place are dropped: that is the incomplete factor of conjugate.py.
"""

from __future__ import annotations

from dovetail.solver.kernel import kernel
from dovetail.solver.linear.block12 import (
    cholesky,
    subtract_gram,
    subtract_product,
    subtract_times,
    subtract_transposed_times,
    upper_solve,
    upper_transposed_solve,
    upper_transposed_solve_block,
)
from dovetail.typing import Array, Indices

__all__ = ["factor", "solve"]


@kernel
def factor(row_start: Indices, column: Indices, active: Indices, D: Array, U: Array, R: Array) -> int:
    """Factor in place, leaving out rows whose `active` is 0: they are coupled to no active one.

    Returns −1, or the position of the first block that is not positive definite.
    """
    for k in range(len(D)):
        if not active[k]:
            continue
        if not cholesky(D, k, R, k) > 0.0:
            return k
        first, last = row_start[k], row_start[k + 1]
        for s in range(first, last):
            upper_transposed_solve_block(D, k, R, k, U, s)
        for s in range(first, last):
            row = column[s]
            subtract_gram(D, row, U, s)
            target, end = row_start[row], row_start[row + 1]
            for t in range(s + 1, last):
                while target < end and column[target] < column[t]:
                    target += 1
                if target < end and column[target] == column[t]:
                    subtract_product(U, target, U, s, U, t)
    return -1


@kernel
def solve(row_start: Indices, column: Indices, active: Indices, D: Array, U: Array, R: Array, y: Array) -> None:
    """y (n, 12) ← H⁻¹ y on the active rows."""
    for k in range(len(D)):
        if not active[k]:
            continue
        upper_transposed_solve(D, k, R, k, y, k)
        for s in range(row_start[k], row_start[k + 1]):
            subtract_transposed_times(y, column[s], U, s, y, k)
    for k in range(len(D) - 1, -1, -1):
        if not active[k]:
            continue
        for s in range(row_start[k], row_start[k + 1]):
            subtract_times(y, k, U, s, y, column[s])
        upper_solve(D, k, R, k, y, k)
