"""Newton's direction for bodies joined in trees, with the forces in their joints."""

from __future__ import annotations

import numpy as np

from dovetail.kernel.buffers import aligned
from dovetail.kernel.emit import LANES
from dovetail.kernel.program import Program
from dovetail.solver.articulated.arrays import SweepArrays, SweepWeights
from dovetail.solver.articulated.chunks import Chunks
from dovetail.solver.articulated.layout import FRAME, KEPT, PLACES, entries
from dovetail.solver.articulated.rows import Rows
from dovetail.solver.articulated.sweeps import sweep
from dovetail.solver.articulated.tree import Forest
from dovetail.solver.bodies import Bodies
from dovetail.typing import Array, Indices

__all__ = ["Articulated"]

_SPARE = 8  # triples beyond the last one, where lanes may read
_FAR = 10**6  # doubles from one way of the sweep to the other, 8 MB, from which on caches only lose by keeping them


class Articulated:
    """The dual sweep on a forest.

    weights (t, 2, 4), compliance (t, 3), special (t,) are given in the order of `rows`: those of the near and the far
    body, K⁻¹, and −1 or the number of a row that is linearised anew in every iteration (covectors, residual).
    multiplier (t, 3) receives λ, in that order.
    """

    def __init__(
        self, forest: Forest, rows: Rows, weights: Array, compliance: Array, special: Indices, bodies: Bodies,
        fast: bool = True,
    ) -> None:  # fmt: skip
        self.forest, self.rows, self._bodies = forest, rows, bodies
        self.chunks = n = Chunks(
            forest, rows, weights, compliance, special, bodies.mass, bodies.stiffness, bodies.kinetic, fast
        )
        plain, specials = n.plain_places, int(special.max(initial=-1)) + 1
        frame, Y = aligned(n.fast_chunks * FRAME * LANES), aligned(n.y_size)
        self.arrays = SweepArrays(
            upwards=n.upwards, case=n.case, first=n.first, size=n.size, known=n.known, store=n.store,
            points_at=n.points_at, lanes_at=n.lanes_at, rigid=n.rigid, lane_body=forest.body[n.lane],
            lane_child=3 * rows.upward[forest.children[n.lane]], lane_own=3 * rows.upward[n.lane], lane_law=n.laws,
            points=n.points, body=forest.body, children=forest.children, upward=rows.upward, ground=rows.ground,
            other=rows.other,
            row_at=rows.row_at, phi_start=rows.phi_start, y_start=rows.y_start, widest=rows.widest, weights=weights,
            special=special, covectors=np.zeros((specials, 2, 3, 4, 3)), residual=np.zeros((specials, 3)),
            compliance=np.concatenate([compliance, np.zeros((_SPARE, 3))]),
            C=aligned(entries(4) + 12 if n.fast_chunks else 0, LANES),
            lines=aligned(14 if n.hinges or n.driven else 0, LANES, LANES),
            starts=np.zeros((PLACES, LANES), np.int64), frame=frame, kept=frame[:0], R=np.zeros((plain, 3, 3)),
            L=np.zeros((plain, 3, 3)), u=np.zeros((plain, 2, 12)),
            Phi=aligned(rows.phi_size), Y=Y, multiplier=np.zeros((rows.count + _SPARE, 3)), second=np.zeros((0, 3)),
            far=int(len(frame) + len(Y) > _FAR),
        )  # fmt: skip

    @property
    def multiplier(self) -> Array:
        return self.arrays.multiplier[: self.rows.count]

    def weigh(self, c: Array, w: Array) -> None:
        """Set the weights c of the kinetic and w of the shape terms, by body."""
        self.weights = self._weighed(c, w, w)

    def weigh_response(self, w: Array) -> None:
        """Set the weight w of the shape terms for `respond`, whose bodies have no stress and 1 as c."""
        self._free_weights = self._weighed(np.ones_like(w), w, np.zeros_like(w))

    def _weighed(self, c: Array, w: Array, stress: Array) -> SweepWeights:
        tables = self.chunks.weighed(self._bodies.mass, self._bodies.inertia, c, w, stress)
        return SweepWeights(c=c.copy(), w=w.copy(), stress=stress.copy(), tables=tables)

    def direction(self, Q: Array, Q_tilde: Array, active: Indices, y: Array) -> int:
        """y (n, 12) ← Newton step (Q − y) of active bodies (n,); −1, or a body whose rows depend on each other."""
        return int(sweep(*self._kinds, self.weights, active, Q, Q_tilde, 0, Q, (y, y)))

    def respond(self, Q: Array, Q_tilde: Array, push: Array, active: Indices, y: Array, y_push: Array) -> int:
        """Like `direction` for bodies without stress in trees without laws; y_push ← P⁻¹ M push, P the same matrix.

        Gaps count in y, and with the other sign in y_push: there joints pull bodies together.
        """
        self._make_room_for_response()
        return int(sweep(*self._kinds, self._free_weights, active, Q, Q_tilde, 1, push, (y, y_push)))

    def bind_response(
        self, program: Program, Q: Array, Q_tilde: Array, push: Array, active: Indices, y: Array, y_push: Array
    ) -> int:
        """The place of `respond` with these arrays and the present weights."""
        self._make_room_for_response()
        return program.add(sweep, *self._kinds, self._free_weights, active, Q, Q_tilde, 1, push, (y, y_push))

    def direct_freely(self, Q: Array, Q_tilde: Array, active: Indices, y: Array) -> int:
        """Like `direction` for bodies without stress."""
        return int(sweep(*self._kinds, self._free_weights, active, Q, Q_tilde, 0, Q, (y, y)))

    def bind_freely(self, program: Program, Q: Array, Q_tilde: Array, active: Indices, y: Array) -> int:
        """The place of `direct_freely` with these arrays and the present weights."""
        return program.add(sweep, *self._kinds, self._free_weights, active, Q, Q_tilde, 0, Q, (y, y))

    def _make_room_for_response(self) -> None:
        if not len(self.arrays.second):
            self.arrays.kept = aligned(self.chunks.fast_chunks * KEPT * LANES)
            self.arrays.second = np.zeros_like(self.arrays.multiplier)  # the last one: its length tells of both

    @property
    def _kinds(self) -> tuple[int | None, int | None, int | None, SweepArrays, Bodies]:
        return self.chunks.balls, self.chunks.hinges, self.chunks.driven, self.arrays, self._bodies

    def bind(self, program: Program, Q: Array, Q_tilde: Array, active: Indices, y: Array) -> tuple[int, int]:
        """The place of `direction` with these arrays in a program, and that of the weights, as they are now."""
        place = program.add(sweep, *self._kinds, self.weights, active, Q, Q_tilde, 0, Q, (y, y))
        return place, program.argument(place, len(self._kinds))
