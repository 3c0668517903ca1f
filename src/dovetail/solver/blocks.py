"""The linear system of one Newton iteration: a symmetric matrix of 12×12 blocks over the bodies that can move."""

from __future__ import annotations

import numpy as np

from dovetail.solver.linear.cholesky import factor, solve
from dovetail.solver.linear.ordering import Structure, find_block, structure_of
from dovetail.typing import Array, Indices

__all__ = ["Blocks"]


class Blocks:
    """Gradient, diagonal and off-diagonal blocks in elimination order, on a fixed structure.

    position (n,)            place of each body in the elimination order; −1 for a fixed body
    g (m, 12)                gradient, to be overwritten by the solution
    D (m, 12, 12)            diagonal blocks (upper triangles), overwritten by the factor
    U (k, 12, 12)            off-diagonal blocks, overwritten by the factor
    active (m,)              1 for rows that take part; the others belong to islands that have converged
    base_D, base_U           what never changes between iterations: masses and linear joints
    """

    def __init__(self, is_fixed: Indices, pairs: Indices) -> None:
        self._free = np.flatnonzero(np.asarray(is_fixed) == 0)
        self._node = np.full(len(is_fixed), -1)
        self._node[self._free] = np.arange(len(self._free))
        self.position = np.full(len(is_fixed), -1)
        self.g = np.zeros((len(self._free), 12))
        self.D = np.zeros((len(self._free), 12, 12))
        self.base_D = np.zeros_like(self.D)
        self.active = np.ones(len(self._free), np.int64)
        self._R = np.zeros((len(self._free), 12))
        self.restructure(pairs)

    def restructure(self, pairs: Indices) -> None:
        """Lay the blocks out anew for these body pairs (k, 2); positions change, base blocks must be filled again."""
        edges = self._node[np.asarray(pairs, np.int64).reshape(-1, 2)]
        structure = structure_of(len(self._free), edges[(edges >= 0).all(axis=1)])
        self.structure: Structure = structure
        self.position[self._free] = structure.position
        self.row_start, self.column = structure.row_start, structure.column
        self.U = np.zeros((len(structure.column), 12, 12))
        self.base_U = np.zeros_like(self.U)

    def block_of(self, left: int, right: int) -> int:
        """Off-diagonal block that couples two bodies; −1 if either is fixed. Rows are of the earlier position."""
        row, column = int(self.position[left]), int(self.position[right])
        if row < 0 or column < 0:
            return -1
        return int(find_block(self.row_start, self.column, min(row, column), max(row, column)))

    def factor(self) -> int:
        """Cholesky in place. Returns −1, or the body at which the matrix is not positive definite."""
        bad = factor(self.row_start, self.column, self.active, self.D, self.U, self._R)
        return -1 if bad < 0 else int(np.flatnonzero(self.position == bad)[0])

    def solve(self, b: Array) -> Array:
        """b (m, 12) ← H⁻¹ b with the factor in place; with b = g the Newton direction is −b."""
        solve(self.row_start, self.column, self.active, self.D, self.U, self._R, b)
        return b
