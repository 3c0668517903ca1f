"""Hessian and gradient of contacts, body by body: rank-one terms gathered twelve at a time for the SIMD products.

A term (ξ_a ⊗ s, −ξ_b ⊗ s)(…)ᵀ adds to the diagonal blocks of both bodies and to the block between them. Written as rows
of 12×12 matrices A and B, twelve of them change the blocks by AᵀA, BᵀB and −AᵀB. Each body adds to its own diagonal
block, and the one that is eliminated first to the block between the two.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import Record, f8, i8
from dovetail.solver.blocks import Blocks
from dovetail.solver.contact.runs import Runs, add_force
from dovetail.solver.linear.block12 import add_gram, subtract_product
from dovetail.solver.linear.ordering import find_block
from dovetail.solver.natural import natural
from dovetail.typing import Array, Indices

__all__ = ["Terms", "add_terms"]


class Terms(Record):
    """What contacts add, row by row.

    force (k, 3)              −∂E/∂x_b = ∂E/∂x_a, times h²
    s (k, 2, 3), number (k,)  directions of the terms, and how many there are; −1 where nothing is to be added
    """

    force: Array = f8(2)
    s: Array = f8(3)
    number: Indices = i8(1)

    def __init__(self) -> None:
        super().__init__(force=np.empty((0, 3)), s=np.empty((0, 2, 3)), number=np.empty(0, np.int64))

    def make_room(self, size: int) -> None:
        """Room for so many contacts."""
        if size > len(self.force):
            self.s, self.number = np.empty((2 * size, 2, 3)), np.empty(2 * size, np.int64)
            self.force = np.empty((2 * size, 3))


@kernel
def _set_row(xi: Array, k: int, first: int, s: Array, term: int, W: Array, side: int, row: int) -> None:
    """A row of a side of W ← ξ ⊗ s of contact k, ξ from xi[k, first] on."""
    s0, s1, s2 = s[k, term, 0], s[k, term, 1], s[k, term, 2]
    for i in range(4):
        w = xi[k, first + i]
        W[side, row, 3 * i] = w * s0
        W[side, row, 3 * i + 1] = w * s1
        W[side, row, 3 * i + 2] = w * s2


@kernel
def _flush(D: Array, b: int, U: Array, block: int, W: Array, rows: int) -> None:
    """D[b] += AᵀA, U[block] −= AᵀB if there is one, of the first rows of W (2, 12, 12); others ← 0."""
    for side in range(2 if block >= 0 else 1):
        for row in range(rows, 12):
            for i in range(12):
                W[side, row, i] = 0.0
    add_gram(D, b, W, 0)
    if block >= 0:
        subtract_product(U, block, W, 0, W, 1)


@kernel
def add_terms(xi: Array, bodies: Indices, terms: Terms, runs: Runs, b: int, blocks: Blocks, W: Array) -> None:
    """Add to gradient and diagonal block of body b, and to the blocks with those that are eliminated after it.

    xi (k, 8) are ξ_a, ξ_b, bodies (k, 2) a and b: −1 for a half-plane, a for a body itself. W (2, 12, 12) is room.
    """
    D, U, g, position = blocks.D, blocks.U, blocks.g, blocks.position
    first, of, start, number, force, s = runs.first, runs.of, runs.start, terms.number, terms.force, terms.s
    here, rows, end, block, waiting = position[b], 0, start[b + 1], -1, -1
    for e in range(start[b], end + 1):
        low, high, other = 0, 1, -1  # after the last run, once more: what waits is added at one place, of long code
        if e < end:
            run = natural(of[e])
            low, high = first[run], first[run + 1]
            other = bodies[low, 0] if bodies[low, 1] == b else bodies[low, 1]
            there = position[other] if other >= 0 and other != b else -1
            block = find_block(blocks.row_start, blocks.column, here, there) if 0 <= here < there else -1
        for k in range(low, high):
            k = natural(k)
            if e < end:
                if number[k] < 0:
                    continue
                add_force(xi, bodies, k, force, 1.0, b, g)
                if here < 0:
                    continue
            for term in range(number[k] if e < end else 1):
                if rows > 0 and (rows == 12 or block != waiting or e == end):
                    _flush(D, b, U, waiting, W, rows)
                    rows = 0
                if e == end:
                    break
                rows, waiting, mine = natural(rows), block, 0 if bodies[k, 0] == b else 4
                _set_row(xi, k, mine, s, term, W, 0, rows)
                if block >= 0 or other == b:
                    _set_row(xi, k, 4 - mine, s, term, W, 1, rows)
                if other == b:
                    for i in range(12):
                        W[0, rows, i] -= W[1, rows, i]
                rows += 1
