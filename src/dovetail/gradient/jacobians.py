"""Jacobians of steps in joint coordinates: A = ∂(qₙ₊₁, vₙ₊₁)/∂(qₙ, vₙ) and B = ∂(qₙ₊₁, vₙ₊₁)/∂u by efforts u.

The state before a step moves with coordinates and rates as the joints let it; after the step coordinates and rates are
what the joints report. Where bodies form trees of joints with one coordinate each, touch nothing, and the step is bdf1
or bdf2, all rows are found together (columns.py); elsewhere a row is an adjoint step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from dovetail.gradient.adjoint import Adjoint
from dovetail.gradient.bodies import Costate
from dovetail.gradient.columns import Room, Start, set_loads, set_rows, set_slopes
from dovetail.gradient.forest import Forest, factor_forest, forest_of
from dovetail.gradient.frame import Frame
from dovetail.gradient.laws import law_slopes, steps_of
from dovetail.gradient.reel import Ends
from dovetail.gradient.screws import Screws, set_twists
from dovetail.solver.load import JointTorques
from dovetail.typing import Array, Indices

if TYPE_CHECKING:
    from dovetail.world.simulation import Simulation

__all__ = ["Coordinated", "Jacobians", "StateJacobians"]


class Coordinated(Protocol):
    """Coordinates (k,) of joints, as world/mechanism_state.py has them."""

    @property
    def simulation(self) -> Simulation: ...

    @property
    def screws(self) -> Screws | None: ...

    @property
    def rows(self) -> Indices: ...

    def lifted(self, Q: Array, V: Array) -> tuple[Array, Array]: ...


class Jacobians:
    """Steps of a simulation, as maps of some coordinates."""

    def __init__(self, simulation: Simulation, coordinated: Coordinated, together: bool = True) -> None:
        """`together`: rows may be found together."""
        self.coordinated, self._model, self._lowered = coordinated, simulation.model, simulation.joints.lowered
        self._rows, n = np.ascontiguousarray(coordinated.rows), simulation.model.bodies.count
        self._room, states = Room(len(self._rows), n), np.zeros((3, n, 4, 3))
        self._start = Start(Q=states[0], V=states[1], F=states[2], table=np.zeros((n, 10)), c=np.zeros(n))
        self._screws = coordinated.screws if together and self._sees_all_laws(coordinated.screws) else None
        if self._screws is not None:
            hangs, j = self._screws.number >= 0, self._screws.number
            left = self._lowered.coordinates.left[self._screws.row]
            self._room.is_left[j[hangs]] = (left == self._screws.child)[hangs]
        self._forest: tuple[Indices, Forest | None] | None = None
        laws = simulation.model.potential.laws
        self._by_start = np.zeros(0 if laws is None else len(laws.p))  # 1 for parameters that are xₙ
        if laws is not None:
            self._by_start[laws.start[laws.start >= 0]] = 1.0
        self._loads, c = [], self._lowered.coordinates
        of_joint = {(int(c.joint[row]), bool(c.period[row] > 0.0)): j for j, row in enumerate(self._rows)}
        for load in self._lowered.loads:
            turns, of = isinstance(load, JointTorques), np.full(load.stencils.count, -1)
            for use in self._lowered.load_uses:
                if use.values is load.values:
                    joints = range(use.entry.joints.start, use.entry.joints.stop)
                    of[use.rows] = [of_joint.get((joint, turns), -1) for joint in joints]
            self._loads.append((load, turns, of))

    def _sees_all_laws(self, screws: Screws | None) -> bool:
        """Whether laws that depend on a rate are on coordinates of the trees, and nothing is coupled or a rotor."""
        laws, couplings = self._model.potential.laws, self._lowered.couplings
        if screws is None or (couplings is not None and couplings.slots) or (laws is not None and len(laws.rotors)):
            return False
        return laws is None or bool(np.isin(laws.of[laws.start >= 0], screws.row).all())

    def room(self, steps: int) -> tuple[Array, Array]:
        """Zeros for A (T, 2k, 2k) and B (T, 2k, k)."""
        n = len(self._rows)
        return np.zeros((steps, 2 * n, 2 * n)), np.zeros((steps, 2 * n, n))

    def at(self, adjoint: Adjoint, k: int, frame: Frame, ends: Ends, V_end: Array, out: tuple[Array, Array]) -> None:
        """out ← A (2k, 2k), B (2k, k) of step k, which ends with V_end."""
        adjoint.stand(k, frame, ends)
        set_slopes(self._lowered.coordinates, self._rows, ends.Q_end, V_end, self._room)
        if self._screws is not None and adjoint.begun is None and adjoint.contact is None:
            forest = self._forest_of(adjoint)
            if forest is not None and self._set_together(adjoint, self._screws, forest, out):
                return
        adjoint.at(k, frame, ends)
        self._pull(adjoint, *out)

    def _forest_of(self, adjoint: Adjoint) -> Forest | None:
        blocks = adjoint.system.blocks
        if self._forest is None or self._forest[0] is not blocks.order:
            self._forest = blocks.order, forest_of(blocks, self._model.potential)
        return self._forest[1]

    def _set_together(self, adjoint: Adjoint, screws: Screws, forest: Forest, out: tuple[Array, Array]) -> bool:
        """All rows; False where the matrix is not positive definite."""
        model, frame, ends, room, c = self._model, adjoint.frame, adjoint.ends, self._room, self._lowered.coordinates
        potential, blocks, start = model.potential, adjoint.system.blocks, self._start
        if factor_forest(forest, potential.points, potential.slides, blocks.D, blocks.U, blocks.R) >= 0:
            return False
        if potential.laws is not None:
            room.brake[:] = self._brakes(adjoint)[self._rows]
        set_twists(screws, c, ends.Q, ends.V, room.nu, room.xi, room.eta)
        start.Q[:], start.V[:], start.table[:], start.c[:] = ends.Q, ends.V, adjoint.table, potential.weights.c
        start.F.fill(0.0)
        for load, turns, of in self._loads:
            s = load.stencils
            set_loads(s.left, s.right, s.W, load.values, turns, of, ends.Q, room)
            if load.acts:
                load.add(ends.Q, start.F)
        set_rows(forest, screws, c, model.bodies, start, frame.h, room, *out)
        return True

    def _brakes(self, adjoint: Adjoint) -> Array:
        """∂/∂xₙ of Σ s φ′ of all coordinates (c,)."""
        laws, out = self._model.potential.laws, np.zeros(self._lowered.coordinates.count)
        assert laws is not None
        if self._by_start.any():
            steps = steps_of(laws.p, adjoint.potential.is_place)
            law_slopes(laws, steps, adjoint.ends.Q_end, self._by_start, out)
        return out

    def _pull(self, adjoint: Adjoint, A: Array, B: Array) -> None:
        """Row by row."""
        room, c, ends, n = self._room, self._lowered.coordinates, adjoint.ends, len(self._rows)
        T, W = self.coordinated.lifted(ends.Q, ends.V)
        for row in range(2 * n):
            if row and adjoint.pulls_once:
                adjoint.at(adjoint.k, adjoint.frame, ends)
            seed, j = Costate.zero(len(ends.Q)), row % n
            for side, body in enumerate((c.left[self._rows[j]], c.right[self._rows[j]])):
                slope, bend = room.J[j, side].reshape(4, 3), room.bend[j, side].reshape(4, 3)
                (seed.Q if row < n else seed.V)[body] += slope
                if row >= n:
                    seed.Q[body] += bend
            found = adjoint.pull(seed)
            by_Q, by_V = np.nan_to_num(found.Q), np.nan_to_num(found.V)
            A[row, :n] = np.einsum("bix,kbix->k", by_Q, T) + np.einsum("bix,kbix->k", by_V, W)
            A[row, n:] = np.einsum("bix,kbix->k", by_V, T)
            for number, (_, _, of) in enumerate(self._loads):
                values = adjoint.sums.steps[f"load {number}"][adjoint.k]
                B[row, of[of >= 0]] = values[of >= 0]
                values[:] = 0.0


class StateJacobians:
    """Steps of a simulation, as maps of all states (Q, V) of the f bodies that can move."""

    def __init__(self, simulation: Simulation) -> None:
        self._free = np.flatnonzero(simulation.model.bodies.is_free)

    def room(self, steps: int) -> tuple[Array, Array]:
        """Zeros for A (T, 24f, 24f) and B (T, 24f, 12f)."""
        size = 12 * len(self._free)
        return np.zeros((steps, 2 * size, 2 * size)), np.zeros((steps, 2 * size, size))

    def at(self, adjoint: Adjoint, k: int, frame: Frame, ends: Ends, V_end: Array, out: tuple[Array, Array]) -> None:
        """out ← A (24f, 24f), B (24f, 12f) of step k."""
        free, seed, forces = self._free, Costate.zero(len(ends.Q)), adjoint.sums.steps["forces"][k]
        (A, B), size = out, 12 * len(free)
        adjoint.at(k, frame, ends)
        for row in range(2 * size):
            if row and adjoint.pulls_once:
                adjoint.at(k, frame, ends)
            body, i, x = np.unravel_index(row % size, (len(free), 4, 3))
            into = seed.Q if row < size else seed.V
            into[free[body], i, x] = 1.0
            found = adjoint.pull(seed)
            A[row] = np.concatenate([found.Q[free].ravel(), found.V[free].ravel()])
            B[row] = forces[free].ravel()
            into[free[body], i, x] = forces[...] = 0.0
