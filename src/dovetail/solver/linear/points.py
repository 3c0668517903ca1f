"""Points that join bodies, and nothing else does: their part of the matrix, factored by the forces in them."""

from __future__ import annotations

import numpy as np

from dovetail.solver.kernel import kernel
from dovetail.solver.linear.dual import IN_BLOCK, assemble_forces, factor_forces, solve_points
from dovetail.solver.linear.least_fill import MOST, least_fill
from dovetail.solver.linear.ordering import Structure, find_block, structure_of
from dovetail.typing import Array, Indices

__all__ = ["Points", "neighbours"]

_WEAKEST = 1e-60  # [kg], stands for a stiffness of zero


def neighbours(bodies: Indices) -> Indices:
    """Pairs (m, 2) of points that share a body; bodies (t, 2) are those of the points, negative where there is none."""
    point, body = np.repeat(np.arange(len(bodies)), 2), bodies.reshape(-1)
    order = np.argsort(body, kind="stable")
    order = order[body[order] >= 0]
    point, body = point[order], body[order]
    first = np.flatnonzero(np.diff(body, prepend=-1))
    count = np.diff(first, append=len(body))
    found = [np.zeros((0, 2), np.int64)]
    for size in np.unique(count):
        a, b = np.triu_indices(size, 1)
        groups = point[first[count == size][:, None] + np.arange(size)]
        found.append(np.stack([groups[:, a], groups[:, b]], axis=2).reshape(-1, 2))
    return np.concatenate(found)


@kernel
def _targets(start: Indices, place: Indices, row_start: Indices, column: Indices, into: Indices) -> None:
    """into ← blocks of the pairs of points of every body."""
    at = 0
    for i in range(len(start) - 1):
        for m in range(start[i], start[i + 1]):
            for n in range(m + 1, start[i + 1]):
                into[at] = find_block(row_start, column, place[m], place[n])
                at += 1


class Points:
    """Bodies that nothing but points couples, and the factor of their part of the matrix.

    rows (t, 2) are the rows of D that belong to the two bodies of every point, −1 for a fixed one.
    """

    def __init__(self, rows: Indices) -> None:
        order = least_fill if len(rows) <= MOST else structure_of
        self.structure: Structure = order(len(rows), neighbours(rows))
        position = self.structure.position
        body, place = rows.reshape(-1), np.repeat(position, 2)
        by_body = np.lexsort((place, body))
        self._order = by_body[body[by_body] >= 0]
        self._place = place[self._order]
        self._row, first = np.unique(body[self._order], return_index=True)
        self._start = np.append(first, len(self._order))
        counts = np.diff(self._start)
        blocks = -(-counts // IN_BLOCK)
        self._block_start = np.cumsum(blocks) - blocks
        self._into = np.empty(int((counts * (counts - 1) // 2).sum()), np.int64)
        _targets(self._start, self._place, self.structure.row_start, self.structure.column, self._into)
        self._owner = np.empty(len(rows), np.int64)
        self._owner[position] = rows.max(axis=1)
        self._W, self._yields = np.zeros((len(rows), 8)), np.zeros(len(rows))
        self._filled = 0
        n, longest = int(self._row.max()) + 1, int(np.diff(self.structure.row_start).max(initial=0))
        self._R, self._G = np.zeros((n, 12)), np.zeros((n, 12))
        self._Z = np.zeros((int(blocks.sum()), 12, 12))
        self._P, self._V = np.zeros((len(rows), 12)), np.zeros((len(self.structure.column), 12))
        self._scaled = np.zeros((longest, 12))
        self._force, self._change = np.zeros((len(rows), 4)), np.zeros((len(rows), 4))

    def clear(self) -> None:
        """Forget weights and stiffness of all points."""
        self._filled = 0

    def add(self, W: Array, K: Array) -> None:
        """Weights W (k, 8) on the two bodies and stiffness K (k,) of the next points."""
        here = slice(self._filled, self._filled + len(W))
        self._W[here] = W
        self._yields[self.structure.position[here]] = 1.0 / np.maximum(K, _WEAKEST)
        self._filled = here.stop
        if self._filled == len(self._W):
            self._weights = np.ascontiguousarray(self._W.reshape(-1, 4)[self._order])

    def factor(self, active: Indices, D: Array) -> int:
        """Factor the blocks D of the bodies with the points. −1, or a row at which that is not positive definite."""
        below = assemble_forces(
            self._row, self._start, self._place, self._weights, self._block_start, self._into, active, self._yields, D,
            self._R, self._G, self._Z, self._P, self._V,
        )  # fmt: skip
        if below < 0:
            return -1 - int(below)
        s = self.structure
        found = factor_forces(s.row_start, s.column, self._owner, active, self._P, self._V, self._scaled)
        if found < 0:
            return int(self._owner[-1 - found])
        return -1 if found == below else int(self._row[0])

    def solve(self, active: Indices, D: Array, y: Array) -> None:
        """y (n, 12) ← solution on the active rows of the bodies."""
        s = self.structure
        solve_points(
            self._row, self._start, self._place, self._weights, self._block_start, s.row_start, s.column, self._owner,
            active, self._yields, D, self._R, self._G, self._Z, self._P, self._V, self._force, self._change, y,
        )  # fmt: skip
