"""Rank-one Hessian terms of contacts, gathered twelve at a time per body pair and added through the SIMD products.

A term (ξ_a ⊗ s, −ξ_b ⊗ s)(…)ᵀ adds to the diagonal blocks of both bodies and to the block between them. Terms of
one pair follow each other, so most share their blocks: written as rows of 12×12 matrices A and B, they change the
blocks by AᵀA, BᵀB and −AᵀB.
"""

from __future__ import annotations

import numpy as np

from dovetail.solver.blocks import Blocks
from dovetail.solver.kernel import kernel
from dovetail.solver.linear.block12 import add_gram, subtract_product
from dovetail.solver.linear.ordering import find_block
from dovetail.solver.record import Record, f8, i8
from dovetail.typing import Array, Indices

__all__ = ["HessianTerms", "add_terms", "set_term"]


class HessianTerms(Record):
    """Terms: xi (k, 8) are ξ_a, ξ_b, s (k, 3), bodies (k, 2) a and b: −1 for a half-plane, a for a body itself."""

    xi: Array = f8(2)
    s: Array = f8(2)
    bodies: Indices = i8(2)

    def __init__(self) -> None:
        super().__init__(xi=np.empty((0, 8)), s=np.empty((0, 3)), bodies=np.empty((0, 2), np.int64))

    def make_room(self, size: int) -> None:
        """Room for so many terms."""
        if size > len(self.xi):
            self.xi, self.s = np.empty((2 * size, 8)), np.empty((2 * size, 3))
            self.bodies = np.empty((2 * size, 2), np.int64)


@kernel
def set_term(terms: HessianTerms, k: int, xi: Array, row: int, a: int, b: int, x: float, y: float, z: float) -> None:
    """Term k ← rows ξ_a, ξ_b in xi[row], s = (x, y, z)."""
    into, s, bodies = terms.xi, terms.s, terms.bodies
    for i in range(8):
        into[k, i] = xi[row, i]
    s[k, 0], s[k, 1], s[k, 2] = x, y, z
    bodies[k, 0], bodies[k, 1] = a, b


@kernel
def add_terms(count: int, terms: HessianTerms, blocks: Blocks) -> None:
    """Add the terms to the block system."""
    W = np.zeros((2, 12, 12))
    D, U, position, row_start, column = blocks.D, blocks.U, blocks.position, blocks.row_start, blocks.column
    bodies, xi, directions = terms.bodies, terms.xi, terms.s
    rows = 0
    one, other = -1, -2
    for k in range(count + 1):
        a, b = (bodies[k, 0], bodies[k, 1]) if k < count else (-1, -2)
        swapped = 0 <= b < a
        if swapped:
            a, b = b, a
        if rows > 0 and (a != one or b != other or rows == 12):
            low, high = position[one], position[other] if other >= 0 and other != one else -1
            for side in range(2):
                if (low if side == 0 else high) >= 0:
                    add_gram(D, one if side == 0 else other, W, side)
            if low >= 0 and high >= 0:
                first = 0
                if low > high:
                    low, high, first = high, low, 1
                subtract_product(U, find_block(row_start, column, low, high), W, first, W, 1 - first)
            for side in range(2):
                for row in range(rows):
                    for i in range(12):
                        W[side, row, i] = 0.0
            rows = 0
        if k == count:
            break
        one, other = a, b
        for side in range(2):
            offset = 4 - 4 * side if swapped else 4 * side
            for i in range(4):
                for x in range(3):
                    W[side, rows, 3 * i + x] = xi[k, offset + i] * directions[k, x]
        if a == b:
            for i in range(12):
                W[0, rows, i] -= W[1, rows, i]
        rows += 1
