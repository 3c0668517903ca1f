"""The 12×12 block operations as straight-line vector code, emitted as LLVM IR through Numba intrinsics.

Everything an operation touches more than once stays in registers; loops over the twelve rows are unrolled while the
code is emitted. `block12_plain` defines what each operation means; this module only says it faster (about six times on
a core with 256-bit vectors). Without JIT the operations are those of `block12_plain`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types

from dovetail.solver.linear import block12_plain as plain
from dovetail.solver.linear.vector_code import DOUBLE, GROUPS, LANES, Block, Emitter, N, operation

__all__ = [
    "add_dyad",
    "add_gram",
    "cholesky",
    "signed_cholesky",
    "subtract_gram",
    "subtract_product",
    "subtract_times",
    "subtract_transposed_times",
    "upper_solve",
    "upper_transposed_solve",
    "upper_transposed_solve_block",
]


def _product(sign: float, symmetric: bool) -> Callable[..., None]:
    """C ± AᵀB by panels of four rows; with `symmetric` only the groups on and right of the diagonal."""

    def emit(e: Emitter, C: Block, A: Block, B: Block) -> None:
        for panel in range(GROUPS):
            groups = range(panel if symmetric else 0, GROUPS)
            rows = range(LANES * panel, LANES * panel + LANES)
            total = {(i, g): C.lanes(i, g) for i in rows for g in groups}
            for p in range(N):
                right = {g: B.lanes(p, g) for g in groups}
                for i in rows:
                    a = A.scalar(p, i)
                    weight = e.spread(e.ir.fneg(a) if sign < 0 else a)
                    for g in groups:
                        total[i, g] = e.multiply_add(weight, right[g], total[i, g])
            for (i, g), value in total.items():
                C.set_lanes(i, g, value)

    return emit


def _gram(sign: float) -> Callable[..., None]:
    product = _product(sign, symmetric=True)
    return lambda e, C, A: product(e, C, A, A)


def _cholesky(e: Emitter, D: Block, R: Block, G: Block | None = None) -> Any:
    """With G for the signs of pivots, these may be negative."""
    row = [{g: D.lanes(p, g) for g in range(p // LANES, GROUPS)} for p in range(N)]
    smallest = None
    for p in range(N):
        pivot = e.entry(row[p], p)
        size = pivot if G is None else e.size(pivot)
        if smallest is None:
            smallest = size
        else:
            smaller = e.ir.fcmp_unordered("<", size, smallest)
            smallest = e.ir.select(smaller, size, smallest)
        inverse = e.ir.fdiv(ir.Constant(DOUBLE, 1.0), e.square_root(size))
        R.set_scalar(0, p, inverse)
        sign = None if G is None else e.sign(pivot)
        if G is not None:
            G.set_scalar(0, p, sign)
        scale = e.spread(inverse if G is None else e.ir.fmul(inverse, sign))
        for g in row[p]:
            row[p][g] = e.ir.fmul(row[p][g], scale)
            D.set_lanes(p, g, row[p][g])
        for i in range(p + 1, N):
            entry = e.entry(row[p], i)
            weight = e.spread(e.ir.fneg(entry if G is None else e.ir.fmul(sign, entry)))
            for g in row[i]:
                row[i][g] = e.multiply_add(weight, row[p][g], row[i][g])
    return smallest


@operation(plain.upper_transposed_solve_block, 3)
def upper_transposed_solve_block(e: Emitter, U: Block, R: Block, X: Block) -> None:
    row = [[X.lanes(p, g) for g in range(GROUPS)] for p in range(N)]
    for p in range(N):
        scale = e.spread(R.scalar(0, p))
        for g in range(GROUPS):
            row[p][g] = e.ir.fmul(row[p][g], scale)
            X.set_lanes(p, g, row[p][g])
        for i in range(p + 1, N):
            weight = e.spread(e.ir.fneg(U.scalar(p, i)))
            for g in range(GROUPS):
                row[i][g] = e.multiply_add(weight, row[p][g], row[i][g])


@operation(plain.add_dyad, 3)
def add_dyad(e: Emitter, C: Block, X: Block, Y: Block) -> None:
    y = [Y.lanes(0, g) for g in range(GROUPS)]
    weights = [e.spread(X.scalar(0, i)) for i in range(N)]
    for i in range(N):
        for g in range(GROUPS):
            C.set_lanes(i, g, e.multiply_add(weights[i], y[g], C.lanes(i, g)))


@operation(plain.subtract_transposed_times, 3)
def subtract_transposed_times(e: Emitter, Y: Block, A: Block, X: Block) -> None:
    total = [Y.lanes(0, g) for g in range(GROUPS)]
    for p in range(N):
        weight = e.spread(e.ir.fneg(X.scalar(0, p)))
        for g in range(GROUPS):
            total[g] = e.multiply_add(weight, A.lanes(p, g), total[g])
    for g in range(GROUPS):
        Y.set_lanes(0, g, total[g])


@operation(plain.subtract_times, 3)
def subtract_times(e: Emitter, Y: Block, A: Block, X: Block) -> None:
    x = [X.lanes(0, g) for g in range(GROUPS)]
    for panel in range(GROUPS):
        totals = []
        for i in range(LANES * panel, LANES * panel + LANES):
            total = e.ir.fmul(A.lanes(i, 0), x[0])
            for g in range(1, GROUPS):
                total = e.multiply_add(A.lanes(i, g), x[g], total)
            totals.append(total)
        Y.set_lanes(0, panel, e.ir.fsub(Y.lanes(0, panel), e.lane_sums(totals)))


@operation(plain.upper_transposed_solve, 3)
def upper_transposed_solve(e: Emitter, U: Block, R: Block, Y: Block) -> None:
    # one entry after the other waits for the last: no lanes to be taken apart and filled again
    y = [Y.scalar(0, p) for p in range(N)]
    for p in range(N):
        y[p] = e.ir.fmul(y[p], R.scalar(0, p))
        Y.set_scalar(0, p, y[p])
        weight = e.ir.fneg(y[p])
        for i in range(p + 1, N):
            y[i] = e.multiply_add(weight, U.scalar(p, i), y[i])


@operation(plain.upper_solve, 3)
def upper_solve(e: Emitter, U: Block, R: Block, Y: Block) -> None:
    y = [Y.scalar(0, p) for p in range(N)]
    for p in range(N - 1, -1, -1):
        y[p] = e.ir.fmul(y[p], R.scalar(0, p))
        weight = e.ir.fneg(y[p])
        for i in range(p):
            y[i] = e.multiply_add(weight, U.scalar(i, p), y[i])
    for g in range(GROUPS):
        # which is read in lanes next: those of single stores would have to wait for the cache
        Y.set_lanes(0, g, e.together(y[LANES * g : LANES * g + LANES]))


add_gram = operation(plain.add_gram, 2)(_gram(+1.0))
cholesky = operation(plain.cholesky, 2, types.float64)(_cholesky)
signed_cholesky = operation(plain.signed_cholesky, 3, types.float64)(_cholesky)
subtract_gram = operation(plain.subtract_gram, 2)(_gram(-1.0))
subtract_product = operation(plain.subtract_product, 3)(_product(-1.0, symmetric=False))
