"""Rank-one Hessian terms of contacts, gathered twelve at a time per body pair and added through the SIMD products.

A term s² (ξ_a ⊗ n, −ξ_b ⊗ n)(…)ᵀ adds to the diagonal blocks of both bodies and to the block between them. Contacts of
one pair follow each other, so most terms share their blocks: writing them as rows of 12×12 matrices A, B, the blocks change by
AᵀA, BᵀB and −AᵀB.
"""

from __future__ import annotations

from dovetail.solver.kernel import kernel
from dovetail.solver.linear.block12 import add_gram, subtract_product
from dovetail.solver.linear.ordering import find_block
from dovetail.typing import Array, Indices

__all__ = ["flush", "put"]


@kernel
def put(W: Array, row: int, contacts: Array, k: int, swapped: bool, x: float, y: float, z: float) -> None:
    """Row of W[0] and W[1] ← ξ ⊗ (x, y, z) of the two bodies of contact k, the body of lower number first."""
    for side in range(2):
        offset = 4 * side if not swapped else 4 - 4 * side
        for i in range(4):
            weight = contacts[k, offset + i]
            W[side, row, 3 * i] = weight * x
            W[side, row, 3 * i + 1] = weight * y
            W[side, row, 3 * i + 2] = weight * z


@kernel
def flush(
    W: Array, rows: int, a: int, b: int, position: Indices, row_start: Indices, column: Indices, D: Array, U: Array
) -> None:
    """Add the gathered rows of the pair a, b (b < 0: half-plane; a = b: a body with itself) to the blocks."""
    for side in range(2):
        for row in range(rows, 12):
            for i in range(12):
                W[side, row, i] = 0.0
    if a == b:
        for row in range(rows):
            for i in range(12):
                W[0, row, i] -= W[1, row, i]
    pa = position[a]
    pb = position[b] if b >= 0 and b != a else -1
    if pa >= 0:
        add_gram(D, pa, W, 0)
    if pb >= 0:
        add_gram(D, pb, W, 1)
    if pa >= 0 and pb >= 0:
        if pa < pb:
            subtract_product(U, find_block(row_start, column, pa, pb), W, 0, W, 1)
        else:
            subtract_product(U, find_block(row_start, column, pb, pa), W, 1, W, 0)
