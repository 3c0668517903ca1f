"""Hessian and gradient of contacts, body by body.

A contact with the stiffness S (3×3, symmetric) along r = x_a − x_b adds (ξ_a ⊗ 1, −ξ_b ⊗ 1) S (…)ᵀ: (ξ_a ξ_aᵀ) ⊗ S
and (ξ_b ξ_bᵀ) ⊗ S to the diagonal blocks, −(ξ_a ξ_bᵀ) ⊗ S to the block between the two. Of all contacts of two bodies
the sums of (ξ ξᵀ) times each of the six entries of S are taken first, in lanes: 60 and 96 products for a contact, where
blocks have 144, twice for friction in two directions. Each body adds to its own diagonal block, and the one that is
eliminated first to the block between the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.kernel.emit import LANES, Emitter, Number, emitted
from dovetail.kernel.kernel import jit_enabled, kernel
from dovetail.kernel.record import Record, f8
from dovetail.solver.blocks import Blocks
from dovetail.solver.contact import rows_plain as plain
from dovetail.solver.contact.rows_plain import own as own_with_itself
from dovetail.solver.contact.runs import Runs
from dovetail.solver.linear.ordering import find_block
from dovetail.solver.natural import natural
from dovetail.typing import Array, Indices

__all__ = ["Terms", "add_terms"]


class Terms(Record):
    """What contacts add, row by row; there are two rows more than are used, which lanes may read.

    force (k, 3)   −∂E/∂x_b = ∂E/∂x_a, times h²
    S (k, 6)       ∂²E/∂r²: xx, xy, xz, yy, yz, zz
    """

    force: Array = f8(2)
    S: Array = f8(2)

    def __init__(self) -> None:
        super().__init__(force=np.empty((2, 3)), S=np.empty((2, 6)))

    def make_room(self, size: int) -> None:
        """Room for so many contacts."""
        if size + 2 > len(self.force):
            self.force, self.S = np.empty((2 * size + 2, 3)), np.empty((2 * size + 2, 6))


@emitted("xi, bodies, S, force, first, last, b, T")
def own_in_lanes(e: Emitter) -> None:
    def terms(k: Any) -> list[Number]:
        row = e.times(k, 8)
        mine, sign = e.side(1, e.times(k, 2), 6, 4)
        own = e.scalars(0, e.plus(row, mine)).list(0, 4)
        S, force = e.lanes(2, e.times(k, 6)).at(0), e.wide(sign) * e.lanes(3, e.times(k, 3)).at(0)
        products = [e.wide(own[i] * own[j]) * S for i in range(4) for j in range(i, 4)]
        return [*products, *(e.wide(own[i]) * force for i in range(4))]

    T = e.lanes(7, e.integer(0))
    for row, number in enumerate(e.sums(e.index(4), e.index(5), T.list(0, 14), terms)):
        T.put(row, number)


def _put_parts(e: Emitter, array: int, first: Any, parts: Sequence[Sequence[Number]]) -> None:
    """A 12×12 block of an array argument += 3×3 matrices, with entries in the first six lanes of parts[i][j]."""
    rows, rest = e.rows(array, first, 12), e.fours(array, e.plus(first, e.integer(8)), 12)
    for i, t in enumerate(parts):
        for x in range(3):
            m = [x + y + (1 if x and y else 0) for y in range(3)]
            there = [LANES + k for k in m]
            two = e.shuffled(t[0], t[1], [*m, *there, 0, 0])
            eight = e.shuffled(two, t[2], [*range(6), *there[:2]])
            rows.put(3 * i + x, rows.at(3 * i + x) + eight)
            rest.put(3 * i + x, rest.at(3 * i + x) + e.shuffled(t[2], t[3], [m[2], *there]))


@emitted("T, D, b")
def put_own_in_lanes(e: Emitter) -> None:
    sums, first = iter(e.lanes(0, e.integer(0)).list(0, 10)), e.times(e.index(2), 144)
    upper = {(i, j): next(sums) for i in range(4) for j in range(i, 4)}
    parts = [[upper[min(i, j), max(i, j)] for j in range(4)] for i in range(4)]
    _put_parts(e, 1, first, parts)


@emitted("xi, bodies, S, first, last, b, U, block")
def between_in_lanes(e: Emitter) -> None:
    def terms(k: Any) -> list[Number]:
        row = e.times(k, 8)
        mine, _ = e.side(1, e.times(k, 2), 5, 4)
        own = e.scalars(0, e.plus(row, mine)).list(0, 4)
        other, _ = e.side(1, e.plus(e.times(k, 2), e.integer(1)), 5, 4)
        theirs = e.scalars(0, e.plus(row, other)).list(0, 4)
        S = -e.lanes(2, e.times(k, 6)).at(0)
        return [e.wide(own[i] * theirs[j]) * S for i in range(4) for j in range(4)]

    found, first = e.sums(e.index(3), e.index(4), [e.constant(0.0)] * 16, terms), e.times(e.index(7), 144)
    parts = [found[4 * i : 4 * i + 4] for i in range(4)]
    _put_parts(e, 6, first, parts)


own = own_in_lanes if jit_enabled else plain.own
put_own = put_own_in_lanes if jit_enabled else plain.put_own
between = between_in_lanes if jit_enabled else plain.between


@kernel
def add_terms(xi: Array, bodies: Indices, terms: Terms, runs: Runs, b: int, blocks: Blocks, T: Array) -> int:
    """Add to gradient and diagonal block of body b, and to the blocks with those that are eliminated after it.

    Returns how many of these blocks there are not: what belongs there is left out then.

    xi (k, 8) are ξ_a, ξ_b, bodies (k, 2) a and b: −1 for a half-plane, a for a body itself. T (14, 8) is room.
    """
    g, position, first, of, start, S = blocks.g, blocks.position, runs.first, runs.of, runs.start, terms.S
    here, missing = position[b], 0
    for row in range(14):
        for entry in range(8):
            T[row, entry] = 0.0
    for e in range(start[b], start[b + 1]):
        run = natural(of[e])
        low, high = first[run], first[run + 1]
        other = bodies[low, 0] if bodies[low, 1] == b else bodies[low, 1]
        if other == b:
            own_with_itself(xi, bodies, S, terms.force, low, high, b, T)
            continue
        own(xi, bodies, S, terms.force, low, high, b, T)
        there = position[other] if other >= 0 else -1
        if 0 <= here < there:
            block = find_block(blocks.row_start, blocks.column, here, there)
            if block < 0:
                missing += 1
                continue
            between(xi, bodies, S, low, high, b, blocks.U, block)
    for i in range(4):
        for x in range(3):
            g[b, 3 * i + x] += T[10 + i, x]
    if here >= 0:
        put_own(T, blocks.D, b)
    return missing
