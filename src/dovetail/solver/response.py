"""What bodies and joints make of impulses at contacts: rigid motions, W = P⁻¹Jᵀ.

Each body that nothing is tied to moves by itself. Others move with all that joints connect to them, by the filter P of
a start (consistent.py) of a long step, in which shapes and joints are stiff and laws have no part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dovetail.solver.consistent import filter_of, solve_filter
from dovetail.solver.impulses import Impulses
from dovetail.solver.joint.constraints import CLOSED
from dovetail.solver.rigid import rigid, rows_of
from dovetail.typing import Array, Flags, Indices

if TYPE_CHECKING:
    from dovetail.solver.contact.readback import Survey
    from dovetail.solver.integrator import Methods
    from dovetail.solver.model import Model
    from dovetail.solver.state import State

__all__ = ["LONG", "Response", "rigid_motions", "rigid_rows"]

LONG = 30.0  # steps: what yields in a step is stiffer by the square of that


class Response:
    """Of some contacts (m,) at the end of a step of length h, in islands (n,) of bodies, −1 for none.

    Those that are asked for against rolling (m,) have directions for their points.

    xi (m, 8), along (m, 3, 3)   weights of rows of Q at both surfaces; n, t₁, t₂
    moves (n, 1, 1)              bodies that impulses may move
    """

    def __init__(
        self, model: Model, state: State, h: float, methods: Methods, survey: Survey, chosen: Indices, rolls: Flags,
        island: Indices,
    ) -> None:  # fmt: skip
        bodies = model.bodies
        self._mass, self._inverse, self._Q = bodies.mass, bodies.mass_inverse, state.Q
        self.moves: Flags = ((island >= 0) & (bodies.is_free != 0))[:, None, None]
        self._bodies, self.along = survey.bodies[chosen], survey.frames(chosen)
        self.xi = survey.on_surfaces(chosen, self.along[:, 0], rolls)
        tied = (bodies.is_free - model.lone.among(bodies.is_free)) * (island >= 0)
        self._tied: Flags = tied != 0
        self._mechanism = model.islands.mechanism
        lone = self._of_lone_bodies()
        self._solve: Callable[[Array], Array] | None = None
        if not self._tied.any():
            self._motions = _by_contact(3 * len(chosen), *lone)
            return
        exact = model.potential.exact
        if exact is not None:  # whose forces are those of the step
            model.directions.export_multipliers()
            self._forces, self._worst = exact.release(), exact.worst
        model.prepare(LONG * h, np.ones(bodies.count))
        model.start.begin(state.Q, state.V, ~model.nobody, LONG * h, 1.0)
        if exact is not None:
            exact.begin_start()
        filter_of(model, tied)

        def solve(F: Array) -> Array:
            x = solve_filter(model, tied, model.directions.blocks, F.reshape(-1, 12) * tied[:, None], CLOSED)
            return x.reshape(F.shape)

        self._solve = solve
        tied_parts = self._of_mechanisms(solve)
        both = (np.concatenate(parts) for parts in zip(lone, tied_parts, strict=True))
        self._motions = _by_contact(3 * len(chosen), *both)
        self._model, self._step = model, (h, methods.weight)

    def close(self) -> None:
        """Have the model as it was."""
        if self._solve is None:
            return
        self._model.prepare(*self._step)
        if (exact := self._model.potential.exact) is not None:
            exact.resume(self._forces)
            exact.worst = self._worst

    def _patterns(self) -> Array:
        """Generalised forces (m, 3, 2, 4, 3) of unit impulses on both bodies."""
        sign = np.array([1.0, -1.0])[:, None] * self.xi.reshape(-1, 2, 4)
        return sign[:, None, :, :, None] * self.along[:, :, None, None]

    def _of_lone_bodies(self) -> tuple[Indices, Indices, Array]:
        """Rows 3k + d of contacts, the bodies that they move, and how (r, 12)."""
        b = self._bodies
        k, side = np.nonzero((b >= 0) & self.moves[b, 0, 0] & ~self._tied[b])
        rows, F = (3 * k[:, None] + np.arange(3)).ravel(), self._patterns()[k, :, side].reshape(-1, 4, 3)
        body = np.repeat(b[k, side], 3)
        motion = rigid_motions(self._mass[body], self._Q[body], self._inverse[body] @ F)
        return rows, body, motion.reshape(-1, 12)

    def _of_mechanisms(self, solve: Callable[[Array], Array]) -> tuple[Indices, Indices, Array]:
        """The same of bodies that joints tie."""
        rows, moved, motions, patterns = list[Indices](), list[Indices](), list[Array](), self._patterns()
        for k, pair in enumerate(self._bodies):
            there = (pair >= 0) & self._tied[pair]
            if not there.any():
                continue
            together = np.flatnonzero(np.isin(self._mechanism, self._mechanism[pair[there]]) & self._tied)
            for d in range(3):
                F = np.zeros_like(self._Q)
                for side in np.flatnonzero(there):
                    F[pair[side]] += patterns[k, d, side]
                x = solve(F)[together]
                motions.append(rigid_motions(self._mass[together], self._Q[together], x).reshape(-1, 12))
                rows.append(np.full(len(together), 3 * k + d))
                moved.append(together)
        if not rows:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 12))
        return np.concatenate(rows), np.concatenate(moved), np.concatenate(motions)

    def rigid_motion(self, V: Array, otherwise: Array) -> Array:
        """P⁻¹ M V (n, 4, 3) as of rigid bodies, for those that impulses may move; others have another one."""
        found, free = V.copy(), self.moves[:, 0, 0]
        if self._solve is not None:
            found[self._tied] = self._solve(self._mass @ V)[self._tied]
        result = otherwise.copy()
        result[free] = rigid_motions(self._mass[free], self._Q[free], found[free])
        return result

    def impulses(self, V: Array, given: dict[str, Array]) -> Impulses:
        """The contacts, with rates V (n, 4, 3) before; the rest by name, see there."""
        m = len(self._bodies)
        rows = np.ascontiguousarray(V.reshape(-1, 12)).copy()
        copies = {name: np.ascontiguousarray(value).copy() for name, value in given.items()}
        return Impulses.of(
            np.ascontiguousarray(self._bodies), self.xi, self.along.reshape(m, 9), self._motions, rows, **copies
        )

    def after(self, V: Array, p: Array) -> Array:
        """V (n, 4, 3) with the impulses p (m, 3) besides."""
        begin, moves, motion = self._motions
        change = np.repeat(p.ravel(), np.diff(begin))[:, None] * motion
        found = V.reshape(-1, 12).copy()
        np.add.at(found, moves, change)
        return found.reshape(V.shape)

    def rates(self, V: Array) -> Array:
        """n·(v_a − v_b) (m,) of rates V (n, 12)."""
        V, xi, (i, j) = V.reshape(-1, 4, 3), self.xi.reshape(-1, 2, 4), self._bodies.T
        v = np.einsum("mi,mix->mx", xi[:, 0], V[i])
        v[j >= 0] -= np.einsum("mi,mix->mx", xi[j >= 0, 1], V[j[j >= 0]])
        return np.einsum("mx,mx->m", v, self.along[:, 0])

    def forces(self, p: Array) -> Array:
        """Generalised forces (n, 12) of p (m, 3), on fixed bodies too."""
        found = np.zeros((len(self._Q), 12))
        for side in range(2):
            there = self._bodies[:, side] >= 0
            F = np.einsum("md,mdix->mix", p, self._patterns()[:, :, side])[there]
            np.add.at(found, self._bodies[there, side], F.reshape(-1, 12))
        return found


def rigid_motions(mass: Array, Q: Array, V: Array) -> Array:
    """Rates (r, 4, 3) of rigid bodies with the momentum of V."""
    w, out = np.empty((len(Q), 6)), np.empty_like(Q)
    mass, Q = np.ascontiguousarray(mass), np.ascontiguousarray(Q)
    rigid(mass, Q, np.ascontiguousarray(V), w)
    rows_of(mass, Q, w, out)
    return out


def rigid_rows(mass: Array, Q: Array, w: Array) -> Array:
    """Rates (r, 4, 3) of rigid bodies that w (r, 6) moves, see rigid.py."""
    out = np.empty_like(Q)
    rows_of(np.ascontiguousarray(mass), np.ascontiguousarray(Q), np.ascontiguousarray(w), out)
    return out


def _by_contact(count: int, rows: Indices, moves: Indices, motion: Array) -> tuple[Indices, Indices, Array]:
    """Motions in the order of the `count` rows, and where those of each begin."""
    order = np.argsort(rows, kind="stable")
    begin = np.searchsorted(rows[order], np.arange(count + 1))
    return begin, np.ascontiguousarray(moves[order]), np.ascontiguousarray(motion[order])
