"""Rank-one Hessian terms of contacts, gathered twelve at a time per body pair and added through the SIMD products.

A term (ξ_a ⊗ s, −ξ_b ⊗ s)(…)ᵀ adds to the diagonal blocks of both bodies and to the block between them. Terms of
one pair follow each other, so most share their blocks: written as rows of 12×12 matrices A and B, they change the
blocks by AᵀA, BᵀB and −AᵀB.

Rows of `terms` (k, 11):  ξ_a (4), ξ_b (4), s (3)
Rows of `bodies` (k, 2):  a, b (−1: half-plane; b = a: a body with itself)
"""

from __future__ import annotations

import numpy as np

from dovetail.solver.kernel import kernel
from dovetail.solver.linear.block12 import add_gram, subtract_product
from dovetail.solver.linear.ordering import find_block
from dovetail.typing import Array, Indices

__all__ = ["add_terms", "set_term"]


@kernel
def set_term(
    terms: Array, bodies: Indices, k: int, xi: Array, row: int, a: int, b: int, x: float, y: float, z: float
) -> None:
    """Term k ← rows ξ_a, ξ_b in the first eight columns of xi[row], s = (x, y, z)."""
    for i in range(8):
        terms[k, i] = xi[row, i]
    terms[k, 8] = x
    terms[k, 9] = y
    terms[k, 10] = z
    bodies[k, 0] = a
    bodies[k, 1] = b


@kernel
def add_terms(
    count: int,
    terms: Array,
    bodies: Indices,
    position: Indices,
    row_start: Indices,
    column: Indices,
    D: Array,
    U: Array,
) -> None:
    """Add the terms to the block system."""
    W = np.zeros((2, 12, 12))
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
                place = low if side == 0 else high
                if place >= 0:
                    add_gram(D, place, W, side)
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
                    W[side, rows, 3 * i + x] = terms[k, offset + i] * terms[k, 8 + x]
        if a == b:
            for i in range(12):
                W[0, rows, i] -= W[1, rows, i]
        rows += 1
