"""The 3×3 block operations as straight-line vector code; `block3_plain` defines each, and stands in without JIT."""

from __future__ import annotations

from dovetail.solver.linear import block3_plain as plain
from dovetail.solver.linear.vector_code import LANES, Block, Emitter, operation

__all__ = ["product", "subtract_product"]

_ROWS = range(3)


@operation(plain.product, 3)
def product(e: Emitter, C: Block, A: Block, B: Block) -> None:
    right = [B.lanes(0, p) for p in _ROWS]
    for i in _ROWS:
        total = e.ir.fmul(e.spread(A.scalar(0, LANES * i)), right[0])
        for p in (1, 2):
            total = e.multiply_add(e.spread(A.scalar(0, LANES * i + p)), right[p], total)
        C.set_lanes(0, i, total)


@operation(plain.subtract_product, 3)
def subtract_product(e: Emitter, C: Block, A: Block, B: Block) -> None:
    right = [B.lanes(0, p) for p in _ROWS]
    total = [C.lanes(0, i) for i in _ROWS]
    for p in _ROWS:
        for i in _ROWS:
            weight = e.spread(e.ir.fneg(A.scalar(0, LANES * p + i)))
            total[i] = e.multiply_add(weight, right[p], total[i])
    for i in _ROWS:
        C.set_lanes(0, i, total[i])
