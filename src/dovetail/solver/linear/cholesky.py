"""Block Cholesky H = UᵀU on the structure of the body graph, and the two triangular solves.

D (n, 12, 12) holds the diagonal blocks by body, U (m, 12, 12) the off-diagonal blocks of the upper triangle row by row
in the order of elimination; both are overwritten by the factor. R (n, 12) receives the reciprocals of U's diagonal.
Right-looking: each row, once final, is subtracted from the rows it touches. Row k's later columns are all present in
the rows it updates (that is what fill means), so a walk along the two sorted lists finds every target. On a structure
without fill the targets that have no place are dropped: that is the incomplete factor of conjugate.py.

Parts that no block connects are independent of each other. Where there is enough of them their rows follow each other
(`by_parts` in ordering.py), and spans of whole parts may be factored and solved at the same time.
"""

from __future__ import annotations

from dovetail.kernel.kernel import kernel, mapped
from dovetail.kernel.threads import Span
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
from dovetail.solver.natural import natural
from dovetail.typing import Array, Indices

__all__ = ["factor", "factor_row", "solve", "subtract_row"]


@kernel
def factor_row(order: Indices, row_start: Indices, D: Array, U: Array, R: Array, k: int) -> bool:
    """Make row k final, from which all rows before it were subtracted; False where it is not positive definite."""
    k = natural(k)
    body = order[k]
    if not cholesky(D, body, R, body) > 0.0:
        return False
    for s in range(row_start[k], row_start[k + 1]):
        upper_transposed_solve_block(D, body, R, body, U, s)
    return True


@kernel
def subtract_row(
    order: Indices, row_start: Indices, column: Indices, D: Array, U: Array, k: int, start: int, stop: int
) -> None:
    """Subtract row k, which is final, from those of the rows it touches that are from `start` up to `stop`."""
    k = natural(k)
    last = row_start[k + 1]
    for s in range(row_start[k], last):
        row = column[s]
        if not start <= row < stop:
            continue
        subtract_gram(D, order[row], U, s)
        target, end = row_start[row], row_start[row + 1]
        for t in range(s + 1, last):
            while target < end and column[target] < column[t]:
                target += 1
            if target < end and column[target] == column[t]:
                subtract_product(U, target, U, s, U, t)


@mapped
def factor(
    order: Indices, row_start: Indices, column: Indices, active: Indices, D: Array, U: Array, R: Array, span: Span
) -> int:
    """Factor some rows in place, leaving out bodies whose `active` is 0: they are coupled to no active one.

    No row of a span has a block in a column beyond it. Returns −1, or the first body whose block is not positive
    definite.
    """
    for k in range(span[1], span[2]):
        k = natural(k)
        if active[order[k]]:
            if not factor_row(order, row_start, D, U, R, k):
                return order[k]
            subtract_row(order, row_start, column, D, U, k, span[1], span[2])
    return -1


@mapped
def solve(
    order: Indices, row_start: Indices, column: Indices, active: Indices, D: Array, U: Array, R: Array, y: Array,
    span: Span,
) -> None:  # fmt: skip
    """y (n, 12) ← H⁻¹ y of the active bodies in some rows, as those of `factor`; the others are left alone."""
    for k in range(span[1], span[2]):
        k = natural(k)
        body = order[k]
        if not active[body]:
            continue
        upper_transposed_solve(D, body, R, body, y, body)
        for s in range(row_start[k], row_start[k + 1]):
            subtract_transposed_times(y, order[column[s]], U, s, y, body)
    for k in range(span[2] - 1, span[1] - 1, -1):
        k = natural(k)
        body = order[k]
        if not active[body]:
            continue
        for s in range(row_start[k], row_start[k + 1]):
            subtract_times(y, body, U, s, y, order[column[s]])
        upper_solve(D, body, R, body, y, body)
