"""Newton's direction for bodies joined in trees, with the forces in their joints."""

from __future__ import annotations

import numpy as np

from dovetail.solver.articulated.chunks import Chunks
from dovetail.solver.articulated.layout import FRAME, entries
from dovetail.solver.articulated.rows import Rows
from dovetail.solver.articulated.sweeps import sweep
from dovetail.solver.articulated.tree import Forest
from dovetail.solver.buffers import aligned
from dovetail.solver.emit import LANES
from dovetail.typing import Array, Indices

__all__ = ["Articulated"]

_SPARE = 8  # triples beyond the last one, where lanes may read


class Articulated:
    """The dual sweep on a forest.

    weights (t, 2, 4), compliance (t, 3), special (t,) are given in the order of `rows`: those of the near and the far
    body, K⁻¹, and −1 or the number of a row that is linearised anew in every iteration (covectors, residual).
    multiplier (t, 3) receives λ, in that order. lane_body (8n,) are the bodies in the lanes of chunks.
    """

    def __init__(
        self, forest: Forest, rows: Rows, weights: Array, compliance: Array, special: Indices, mass: Array,
        inertia: Array, stiffness: Array, kinetic: Array, fast: bool = True,
    ) -> None:  # fmt: skip
        self.forest, self.rows = forest, rows
        self.weights, self.special = weights, special
        self.compliance = np.concatenate([compliance, np.zeros((_SPARE, 3))])
        self._mass, self._inertia = mass, inertia
        self.covectors, self.residual = np.zeros((0, 2, 3, 4, 3)), np.zeros((0, 3))
        self.chunks = chunks = Chunks(forest, rows, weights, compliance, special, mass, stiffness, kinetic, fast)
        self.lane_body = forest.body[chunks.lane]
        self._lane_own = 3 * rows.upward[chunks.lane]
        self._lane_child = 3 * rows.upward[forest.children[chunks.lane]]
        plain = chunks.plain_places
        self._R, self._L, self._u = np.zeros((plain, 3, 3)), np.zeros((plain, 3, 3)), np.zeros((plain, 12))
        self._frame = aligned(chunks.fast_chunks, FRAME, LANES)
        self._constants = aligned(chunks.table.shape[1], LANES)
        self._C, self._lines = aligned(entries(4), LANES), aligned(12, LANES, LANES)
        self._Phi, self._Y = aligned(rows.phi_size), aligned(int(rows.y_start[-1]))
        self._multiplier = np.zeros((rows.count + _SPARE, 3))

    @property
    def multiplier(self) -> Array:
        return self._multiplier[: self.rows.count]

    def weigh(self, c: Array, w: Array) -> None:
        """Set the weights c of the kinetic and w of the shape terms, by body."""
        self._c, self._w = c, w
        self.chunks.weigh(self._mass, self._inertia, c, w)

    def swap(self, constants: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        """Use other weights c, w with their table of constants, as this returns them for the present ones."""
        present = self._c, self._w, self.chunks.table
        self._c, self._w, self.chunks.table = constants
        return present

    def direction(
        self, Q: Array, Q_tilde: Array, position: Indices, lane_position: Indices, active: Indices, y: Array
    ) -> int:
        """y[position] ← Newton step (Q − y) of the bodies where active[position]; lane_position = position[lane_body].

        Returns −1, or a body whose rows depend on each other.
        """
        f, r, n = self.forest, self.rows, self.chunks
        bad: int = sweep(
            n.case, n.first, n.size, n.uniform, n.store, n.points_at, n.rigid, self.lane_body, lane_position, n.kind,
            self._lane_child, self._lane_own, n.points, n.table, f.body, f.children, r.upward, r.ground, r.other,
            r.phi_start, r.y_start, r.widest, self.weights, self.special, self._mass, self._inertia, self._c, self._w,
            self.covectors, self.compliance, self.residual, active, position, Q, Q_tilde, self._constants, self._C,
            self._lines, self._frame, self._R, self._L, self._u, self._Phi, self._Y, self._multiplier, y,
        )  # fmt: skip
        return bad
