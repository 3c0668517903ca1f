"""The linear system of one Newton iteration: a symmetric matrix of 12×12 blocks over the bodies that can move.

It is factored as long as the factor has not many more blocks than the matrix; else conjugate gradients solve it. Nets
(nets.py) have no blocks off the diagonal; they are factored by the forces in their points.
"""

from __future__ import annotations

import numpy as np

from dovetail.solver.buffers import aligned
from dovetail.solver.linear.cholesky import factor, solve
from dovetail.solver.linear.conjugate import conjugate_gradients, symmetrise
from dovetail.solver.linear.ordering import Structure, find_block, structure_of, without_fill
from dovetail.solver.linear.points import Points
from dovetail.typing import Array, Indices

__all__ = ["Blocks"]

# A factor with more than so many blocks per block of the matrix, on more bodies than that, costs more than conjugate
# gradients (benchmarks/linear.py).
_FILL = 2.0
_BODIES = 400

_TOLERANCE = 1e-4  # of conjugate gradients: Newton's method needs no more
_ROUNDS = 500
_NONE: Indices = np.zeros((0, 2), np.int64)
_SHIFTS = (0.0, 1e-3, 1e-2, 0.1, 1.0)  # of the diagonal, where an incomplete factor breaks down


class Blocks:
    """Gradient, diagonal and off-diagonal blocks in elimination order, on a fixed structure.

    position (n,)            place of each body in the elimination order; −1 for a fixed body
    g (m, 12)                gradient, to be overwritten by the solution
    D (m, 12, 12)            diagonal blocks (upper triangles), overwritten by the factor if direct
    U (k, 12, 12)            off-diagonal blocks, overwritten by the factor if direct
    direct                   whether the matrix is factored; only then may it be indefinite, which `factor` tells
    active (m,)              1 for rows that take part; the others belong to islands that have converged
    base_D, base_U           what never changes between iterations: linear joints
    in_net (n,)              whether points join a body, and nothing else
    points                   these points, if there are nets

    Without pairs there are no blocks yet (`laid_out`), and positions are in the order of the bodies.
    """

    def __init__(self, is_fixed: Indices, pairs: Indices | None, may_iterate: bool = False) -> None:
        self._may_iterate = may_iterate
        self._free = np.flatnonzero(np.asarray(is_fixed) == 0)
        self._node = np.full(len(is_fixed), -1)
        self._node[self._free] = np.arange(len(self._free))
        self.position = self._node.copy()
        self.g = aligned(len(self._free), 12)
        self.g.fill(0.0)
        self.active: Indices = np.ones(len(self._free), np.int64)
        self.laid_out = False
        self.direct = True
        self.in_net = np.zeros(len(is_fixed), np.bool_)
        self.points: Points | None = None
        if pairs is not None:
            self.restructure(pairs)

    def restructure(self, pairs: Indices, joined: Indices = _NONE) -> None:
        """Lay the blocks out anew for these body pairs (k, 2); positions change, base blocks must be filled again.

        joined (t, 2) are the bodies of the points of nets. `add_points` is to follow in the same order.
        """
        if not self.laid_out:
            self.laid_out = True
            self.D = np.zeros((len(self._free), 12, 12))
            self.base_D = np.zeros_like(self.D)
            self._R = np.zeros((len(self._free), 12))
        edges = self._node[np.asarray(pairs, np.int64).reshape(-1, 2)]
        edges = edges[(edges >= 0).all(axis=1)]
        structure = structure_of(len(self._free), edges)
        sparse = without_fill(structure, edges) if self._may_iterate and len(self._free) > _BODIES else structure
        self.direct = len(structure.column) <= _FILL * len(sparse.column)
        if not self.direct:
            structure = sparse
        self.structure: Structure = structure
        self.position[self._free] = structure.position
        self.row_start, self.column = structure.row_start, structure.column
        self.U = np.zeros((len(structure.column), 12, 12))
        self.base_U = np.zeros_like(self.U)
        self.in_net[:] = False
        self.in_net[joined] = True
        self.in_net[self.position < 0] = False
        self._by_blocks = np.ones(len(self._free), np.int64)
        self._by_blocks[self.position[self.in_net]] = 0
        self.points = Points(self.position[joined]) if len(joined) else None

    def clear_base(self) -> None:
        """Forget what never changes."""
        self.base_D[:] = 0.0
        self.base_U[:] = 0.0
        if self.points is not None:
            self.points.clear()

    def add_points(self, pairs: Indices, W: Array, K: Array) -> None:
        """Add K WᵀW ⊗ I₃ with weights W (k, 8) on body pairs (k, 2), of those that are in nets."""
        if self.points is not None:
            inside = self.in_net[pairs].any(axis=1)
            self.points.add(W[inside], K[inside])

    def block_of(self, left: int, right: int) -> int:
        """Off-diagonal block that couples two bodies; −1 if either is fixed. Rows are of the earlier position."""
        row, column = int(self.position[left]), int(self.position[right])
        if row < 0 or column < 0:
            return -1
        return int(find_block(self.row_start, self.column, min(row, column), max(row, column)))

    def factor(self) -> int:
        """Factor the matrix. Returns −1, or the body at which it is not positive definite."""
        if self.direct:
            bad, active = -1, self.active
            if self.points is not None:
                bad, active = self.points.factor(active, self.D), active * self._by_blocks
            if bad < 0:
                bad = factor(self.row_start, self.column, active, self.D, self.U, self._R)
            return -1 if bad < 0 else int(np.flatnonzero(self.position == bad)[0])
        symmetrise(self.D)
        diagonal = np.einsum("kii->ki", self.D)
        for shift in _SHIFTS:
            self._factor_D, self._factor_U = self.D.copy(), self.U.copy()
            np.einsum("kii->ki", self._factor_D)[:] += shift * diagonal
            bad = factor(self.row_start, self.column, self.active, self._factor_D, self._factor_U, self._R)
            if bad < 0:
                return -1
        return int(np.flatnonzero(self.position == bad)[0])

    def solve(self, b: Array, tolerance: float = _TOLERANCE) -> Array:
        """b (m, 12) ← H⁻¹ b with the factor in place; with b = g the Newton direction is −b.

        The tolerance is that of conjugate gradients.
        """
        if self.direct:
            active = self.active
            if self.points is not None:
                self.points.solve(active, self.D, b)
                active = active * self._by_blocks
            solve(self.row_start, self.column, active, self.D, self.U, self._R, b)
        else:
            conjugate_gradients(
                self.row_start, self.column, self.active, self.D, self.U, self._factor_D, self._factor_U, self._R,
                tolerance, _ROUNDS, b,
            )  # fmt: skip
        return b
