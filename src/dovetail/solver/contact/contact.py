"""Contact as a contribution to the potential, and the guard that keeps every step free of intersections.

    begin      look for candidates if the expected motion leaves the budgets; contacts and friction at the start of the step
    renew      look again if a Newton step would leave them
    free_path  how much of a Newton step each island may take: budgets and continuous collision detection
    take       book what has been moved
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.solver.blocks import Blocks
from dovetail.solver.contact.ccd import body_motion, free_share
from dovetail.solver.contact.detect import Candidates, detect, update_positions
from dovetail.solver.contact.friction import add_friction, friction_energy, lag_friction
from dovetail.solver.contact.narrow import narrow
from dovetail.solver.contact.normal import add_normal_forces
from dovetail.solver.contact.rows import add_terms
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.contribution import Contribution
from dovetail.solver.islands import Islands
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["Contact"]

_ADAPTIVE = 20.0  # adaptive κ: second derivative of the barrier at d̂/2, in units of m/h²
_CURVATURE = 15.1  # that derivative for κ = 1, in units of d̂²: 4D b″ + 2b′ at D = d̂²/4
_HEADROOM = 1.25  # budget by expected motion
_LOW = 0.25  # look again when less than this share of a step fits into the budget left


@kernel
def _has_blocks(
    count: int, bodies: Indices, position: Indices, row_start: Indices, column: Indices
) -> bool:
    """Whether the structure has a block for every pair of free bodies in the list."""
    last_a = last_b = -1
    for k in range(count):
        a, b = bodies[k, 0], bodies[k, 1]
        if b < 0 or a == b or (a == last_a and b == last_b):
            continue
        last_a, last_b = a, b
        row, col = position[a], position[b]
        if row < 0 or col < 0:
            continue
        if row > col:
            row, col = col, row
        low, high = row_start[row], row_start[row + 1]
        while low < high:
            middle = (low + high) // 2
            if column[middle] < col:
                low = middle + 1
            else:
                high = middle
        if low >= row_start[row + 1] or column[low] != col:
            return False
    return True


@kernel
def _tightest(
    island: Indices, position: Indices, active: Indices, budget: Array, used: Array, motion: Array, alpha: Array
) -> None:
    """alpha[island] ← at most what the budgets of its bodies allow."""
    for b in range(len(island)):
        if position[b] < 0 or not active[position[b]]:
            continue
        left = max(budget[b] - used[b], 0.0)
        if alpha[island[b]] * motion[b] > left:
            alpha[island[b]] = left / motion[b]


class Contact(Contribution):
    """All contacts of a system.

    Lists live in arrays that grow as needed; `count` and `friction_count` say how much of them is valid.
    """

    def __init__(
        self,
        scene: ContactScene,
        is_fixed: Indices,
        mass: Array,
        centre: Array,
        half: Array,
        eps_velocity: float,
        friction: bool,
    ) -> None:
        self.scene = scene
        self._is_fixed = is_fixed
        self._mass = np.where(is_fixed != 0, 0.0, mass)
        self._centre, self._half = centre, half
        self._eps_velocity, self._with_friction = eps_velocity, friction
        bodies = len(is_fixed)
        self.X = np.zeros((scene.x_count, 3))
        self.candidates = Candidates()
        self.budget = np.full(bodies, -1.0)
        self.used = np.zeros(bodies)
        self.plane_budget, self.plane_used = -1.0, 0.0
        self._motion = np.zeros(bodies)
        self._still = 0.0
        self.count = self.friction_count = 0
        self._grow(0)
        self._running: Indices = np.zeros(0, np.int64)
        self.epsilon = self._h2 = 0.0
        self._Q_start: Array = np.zeros((bodies, 4, 3))
        self._stiffness = np.zeros(bodies)
        self.detections = 0

    def _grow(self, size: int) -> None:
        """Room for `size` contacts."""
        self.contacts = np.empty((size, 16))
        self.bodies = np.empty((size, 3), np.int64)
        self.squared = np.empty(size)
        self.frictions = np.empty((size, 16))
        self.friction_bodies = np.empty((size, 2), np.int64)
        self._terms = np.empty((2 * size, 11))
        self._term_bodies = np.empty((2 * size, 2), np.int64)

    # ---- candidates ------------------------------------------------------------------------------------------

    def forget(self) -> None:
        """Bodies were moved from outside: look for candidates before the next step."""
        self.plane_budget = -1.0

    def begin(self, Q: Array, y: Array, h: float, position: Indices, active: Indices) -> None:
        """Start a step at Q whose expected motion is −y."""
        self._Q_start = Q
        self._h2 = h * h
        self.epsilon = self._eps_velocity * h
        self._stiffness = _ADAPTIVE / (_CURVATURE * h * h) * self._mass
        self.detections = 0
        self._look(y, position, active, y[:, :3].mean(axis=0))
        if self.plane_used + self._still > self.plane_budget or (self.used + self._motion > self.budget).any():
            self._detect(Q)

    def lag(self, Q: Array) -> bool:
        """Contacts and friction at the start of the step; False where surfaces intersect already."""
        self.count = self._narrow(Q, np.zeros(len(Q), np.int64), np.zeros(1), np.ones(1, np.int64))
        self.friction_count = 0
        if self.count < 0:
            return False
        if self._with_friction:
            self.friction_count = lag_friction(
                self.count, self.contacts, self.bodies, self.candidates.numbers, self.frictions, self.friction_bodies
            )
        return True

    def _look(self, y: Array, position: Indices, active: Indices, frame: Array) -> None:
        """Motion of all bodies in the step −y, seen from a frame that moves by −frame.

        Distances do not care about the frame. One that falls with the bodies saves their budgets; what stands still moves in it.
        """
        self._still = body_motion(self._centre, self._half, position, active, y, frame, self._motion)

    def _detect(self, Q: Array) -> None:
        least = 0.5 * self.scene.d_hat
        self.budget = np.maximum(least, _HEADROOM * self._motion)
        self.plane_budget = _HEADROOM * self._still
        self.used = np.zeros(len(Q))
        self.plane_used = 0.0
        self.candidates = detect(self.scene, self._is_fixed, self.budget, self.plane_budget, Q, self.X)
        self.detections += 1
        if self.candidates.count > len(self.contacts):
            frictions, bodies = self.frictions[: self.friction_count], self.friction_bodies[: self.friction_count]
            self._grow(2 * self.candidates.count)
            self.frictions[: self.friction_count], self.friction_bodies[: self.friction_count] = frictions, bodies

    def renew(self, Q: Array, y: Array, position: Indices, active: Indices) -> bool:
        """Look for candidates anew if too little of the step −y fits into the budgets; True if so."""
        self._look(y, position, active, np.zeros(3))
        if not (self.budget - self.used < _LOW * self._motion).any():
            return False
        self._detect(Q)
        return True

    def coupled(self) -> Indices:
        """Body pairs (k, 2) that possible contacts and lagged friction couple."""
        rows = self.candidates.pairs
        pairs = rows[rows[:, 0] != 3, 1:3]
        frictions = self.friction_bodies[: self.friction_count]
        return np.concatenate([pairs, frictions[frictions[:, 1] >= 0]])

    def touching(self) -> Indices:
        """Body pairs (k, 2) of active contacts and lagged friction."""
        contacts = self.bodies[: self.count, :2]
        frictions = self.friction_bodies[: self.friction_count]
        pairs = np.concatenate([contacts, frictions])
        return np.unique(pairs[pairs[:, 1] >= 0], axis=0)

    def fits(self, blocks: Blocks) -> bool:
        """Whether the block system has a place for every active contact and lagged friction."""
        return bool(
            _has_blocks(self.count, self.bodies, blocks.position, blocks.row_start, blocks.column)
            and _has_blocks(
                self.friction_count, self.friction_bodies, blocks.position, blocks.row_start, blocks.column
            )
        )

    # ---- steps -----------------------------------------------------------------------------------------------

    def free_path(self, y: Array, position: Indices, islands: Islands, together: bool = False) -> Array:
        """Share of the step −y that each island may take; to be called at the state of the last energy.

        `together` measures motion relative to the mean motion of all bodies: for steps that most islands take whole.
        """
        self._look(y, position, islands.active, y[:, :3].mean(axis=0) if together else np.zeros(3))
        alpha = np.ones(islands.count)
        _tightest(islands.of, position, islands.active, self.budget, self.used, self._motion, alpha)
        scene, candidates = self.scene, self.candidates
        free_share(
            candidates.pairs, candidates.numbers, self.squared, scene.x_base, scene.V, scene.plane_normal, self.X,
            position, islands.of, islands.running, islands.active, self._motion, self._still, y, alpha,
        )  # fmt: skip
        return alpha

    def take(self, alpha: Array, islands: Islands) -> None:
        """The islands have moved by α of the last step asked about.

        In the frame of that step, what moves less than it is asked to lags behind by the rest.
        """
        share = np.append(alpha, 1.0)[islands.of]
        self.used += share * self._motion + (1.0 - share) * self._still
        self.plane_used += self._still

    # ---- contribution ----------------------------------------------------------------------------------------

    def watch(self, running: Indices) -> None:
        """Only islands that run are evaluated from now on."""
        self._running = running

    def _narrow(self, Q: Array, island: Indices, E: Array, running: Indices) -> int:
        scene, candidates = self.scene, self.candidates
        update_positions(candidates.vertices, scene.V, Q, self.X)
        return int(
            narrow(
                candidates.pairs, candidates.numbers, self._stiffness, self._h2, scene.x_base, scene.V,
                scene.plane_point, scene.plane_normal, self.X, island, running, E, self.squared, self.contacts,
                self.bodies,
            )
        )  # fmt: skip

    def add_energy(self, Q: Array, island: Indices, E: Array) -> None:
        """Barrier and friction; keeps the contacts found at Q for the next assembly. Infinite where a gap is closed."""
        self.count = self._narrow(Q, island, E, self._running)
        if self.count < 0:
            self.count = 0
            E += math.inf
            return
        friction_energy(
            self.friction_count, self.frictions, self.friction_bodies, self.epsilon, self._Q_start, Q, island,
            self._running, E,
        )  # fmt: skip

    def assemble(self, Q: Array, exact: bool, blocks: Blocks) -> None:
        scene, candidates = self.scene, self.candidates
        normal = add_normal_forces(
            self.count, self.contacts, self.bodies, candidates.pairs, candidates.numbers, scene.x_base, scene.V, self.X,
            blocks.position, blocks.active, blocks.g, self._terms, self._term_bodies,
        )  # fmt: skip
        self._add_terms(normal, blocks)
        friction = add_friction(
            self.friction_count, self.frictions, self.friction_bodies, self.epsilon, self._Q_start, Q, blocks.position,
            blocks.active, blocks.g, self._terms, self._term_bodies,
        )  # fmt: skip
        self._add_terms(friction, blocks)

    def _add_terms(self, count: int, blocks: Blocks) -> None:
        add_terms(
            count, self._terms, self._term_bodies, blocks.position, blocks.row_start, blocks.column, blocks.D, blocks.U
        )
