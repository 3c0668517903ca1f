"""Newton's direction for bodies joined in trees, with the forces in their joints."""

from __future__ import annotations

import numpy as np

from dovetail.solver.articulated.chunks import Chunks
from dovetail.solver.articulated.layout import FRAME, KEPT, PLACES, entries
from dovetail.solver.articulated.rows import Rows
from dovetail.solver.articulated.sweeps import sweep
from dovetail.solver.articulated.tree import Forest
from dovetail.solver.buffers import aligned
from dovetail.solver.emit import LANES
from dovetail.typing import Array, Indices

__all__ = ["Articulated"]

_SPARE = 8  # triples beyond the last one, where lanes may read
_FAR = 10**6  # doubles from one way of the sweep to the other, 8 MB, from which on caches only lose by keeping them


class Articulated:
    """The dual sweep on a forest.

    weights (t, 2, 4), compliance (t, 3), special (t,) are given in the order of `rows`: those of the near and the far
    body, K⁻¹, and −1 or the number of a row that is linearised anew in every iteration (covectors, residual).
    multiplier (t, 3) receives λ, in that order. lane_body (8n,) are the bodies in the lanes of chunks. far is 1 where
    what the way up leaves to the way down is written past the caches.
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
        self._R, self._L, self._u = np.zeros((plain, 3, 3)), np.zeros((plain, 3, 3)), np.zeros((plain, 2, 12))
        self._frame = aligned(chunks.fast_chunks * FRAME * LANES)
        self._constants = aligned(chunks.table.shape[1], LANES)
        self._C, self._lines = aligned(entries(4) + 12, LANES), aligned(12, LANES, LANES)
        self._starts = np.zeros((PLACES, LANES), np.int64)
        self._Phi, self._Y = aligned(rows.phi_size), aligned(chunks.y_size)
        self.far = int(len(self._frame) + len(self._Y) > _FAR)
        self._multiplier = np.zeros((rows.count + _SPARE, 3))
        # of a second right-hand side, which consistent starts alone have
        self._second, self._kept = self._multiplier[:0], self._frame[:0]

    @property
    def multiplier(self) -> Array:
        return self._multiplier[: self.rows.count]

    def weigh(self, c: Array, w: Array) -> None:
        """Set the weights c of the kinetic and w of the shape terms, by body."""
        self._weights = self._weighed(c, w, w)

    def weigh_response(self, w: Array) -> None:
        """Set the weight w of the shape terms for `respond`, whose bodies have no stress and 1 as c."""
        self._free_weights = self._weighed(np.ones_like(w), w, np.zeros_like(w))

    def _weighed(self, c: Array, w: Array, stress: Array) -> tuple[Array, Array, Array, Array]:
        return c, w, stress, self.chunks.weighed(self._mass, self._inertia, c, w, stress)

    def direction(
        self, Q: Array, Q_tilde: Array, position: Indices, lane_position: Indices, active: Indices, y: Array
    ) -> int:
        """y[position] ← Newton step (Q − y) of the bodies where active[position]; lane_position = position[lane_body].

        Returns −1, or a body whose rows depend on each other.
        """
        return self._sweep(self._weights, Q, Q_tilde, position, lane_position, active, y, None, y)

    def respond(
        self, Q: Array, Q_tilde: Array, push: Array, position: Indices, lane_position: Indices, active: Indices,
        y: Array, y_push: Array,
    ) -> int:  # fmt: skip
        """Like `direction` for bodies without stress, and y_push[position] ← P⁻¹ M push, P the same matrix.

        Gaps count in y, and with the other sign in y_push: there joints pull bodies together.
        """
        if not len(self._second):
            self._second, self._kept = np.zeros_like(self._multiplier), aligned(self.chunks.fast_chunks * KEPT * LANES)
        return self._sweep(self._free_weights, Q, Q_tilde, position, lane_position, active, y, push, y_push)

    def _sweep(
        self, weights: tuple[Array, Array, Array, Array], Q: Array, Q_tilde: Array, position: Indices,
        lane_position: Indices, active: Indices, y: Array, push: Array | None, y_push: Array,
    ) -> int:  # fmt: skip
        f, r, n = self.forest, self.rows, self.chunks
        c, w, stress, table = weights
        two, push = (0, Q) if push is None else (1, push)
        bad: int = sweep(
            n.balls, n.hinges, n.upwards, n.case, n.first, n.size, n.uniform, n.store, n.points_at, n.lanes_at, n.rigid,
            self.lane_body, lane_position, n.kind, self._lane_child, self._lane_own, n.points, table, f.body,
            f.children, r.upward, r.ground, r.other, r.phi_start, r.y_start, r.widest, self.weights, self.special,
            self._mass, self._inertia, c, w, stress, self.covectors, self.compliance, self.residual, active, position,
            Q, Q_tilde, two, push, self._constants, self._C, self._lines, self._starts, self._frame, self._kept,
            self._R, self._L, self._u, self._Phi, self._Y, self._multiplier, self._second, y, y_push, self.far,
        )  # fmt: skip
        return bad
