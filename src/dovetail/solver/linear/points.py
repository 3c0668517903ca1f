"""Points that join bodies, and nothing else does: their part of the matrix, factored by the forces in them."""

from __future__ import annotations

import numpy as np

from dovetail.errors import SolverError
from dovetail.kernel.kernel import kernel
from dovetail.solver.linear.dual import IN_BLOCK, Points, assemble_forces, factor_forces
from dovetail.solver.linear.least_fill import MOST, least_fill
from dovetail.solver.linear.ordering import Structure, find_block, structure_of
from dovetail.typing import Array, Indices

__all__ = ["Net", "neighbours"]

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


class Net(Points):
    """Bodies that nothing but points couples, and the factor of their part of the matrix.

    bodies (t, 2) are the two of every point, −1 for a fixed one.
    """

    def __init__(self, bodies: Indices) -> None:
        order = least_fill if len(bodies) <= MOST else structure_of
        self.structure: Structure = order(len(bodies), neighbours(bodies))
        position = self.structure.position
        body, place = bodies.reshape(-1), np.repeat(position, 2)
        by_body = np.lexsort((place, body))
        self._order = by_body[body[by_body] >= 0]
        rows, first = np.unique(body[self._order], return_index=True)
        start = np.append(first, len(self._order)).astype(np.int64)
        counts = np.diff(start)
        blocks = -(-counts // IN_BLOCK)
        s, places = self.structure, np.ascontiguousarray(place[self._order])
        into = np.empty(int((counts * (counts - 1) // 2).sum()), np.int64)
        _targets(start, places, s.row_start, s.column, into)
        if (into < 0).any():
            raise SolverError("two points of a body have no block in the net that joins it; please report the scene")
        owner = np.empty(len(bodies), np.int64)
        owner[position] = bodies.max(axis=1)
        self._W, self._filled = np.zeros((len(bodies), 8)), 0
        n, longest, t = int(rows.max()) + 1, int(np.diff(s.row_start).max(initial=0)), len(bodies)
        super().__init__(
            body=rows, start=start, place=places, weights=np.zeros((len(self._order), 4)),
            block_start=np.cumsum(blocks) - blocks, into=into, row_start=s.row_start, column=s.column, owner=owner,
            compliance=np.zeros(t), R=np.zeros((n, 12)), G=np.zeros((n, 12)), Z=np.zeros((int(blocks.sum()), 12, 12)),
            P=np.zeros((t, 12)), V=np.zeros((len(s.column), 12)), scaled=np.zeros((longest, 12)),
            force=np.zeros((t, 4)), change=np.zeros((t, 4)),
        )  # fmt: skip

    def clear(self) -> None:
        """Forget weights and stiffness of all points."""
        self._filled = 0

    def add(self, W: Array, K: Array) -> None:
        """Weights W (k, 8) on the two bodies and stiffness K (k,) of the next points."""
        here = slice(self._filled, self._filled + len(W))
        self._W[here] = W
        self.compliance[self.structure.position[here]] = 1.0 / np.maximum(K, _WEAKEST)
        self._filled = here.stop
        if self._filled == len(self._W):
            self.weights[:] = self._W.reshape(-1, 4)[self._order]

    def factor(self, active: Indices, D: Array) -> int:
        """Factor the blocks D of active bodies with the points. −1, or a body at which they are not definite."""
        below = int(assemble_forces(self, active, D))
        if below < 0:
            return -1 - below
        found = int(factor_forces(self, active))
        if found < 0:
            return int(self.owner[-1 - found])
        return -1 if found == below else int(self.body[0])
