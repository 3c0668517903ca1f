"""Contact as a contribution to the potential, and the guard that keeps every step free of intersections.

begin      the step's length: stiffness and the width of friction
look       watch over a step: candidates for all that might touch
lag        contacts and friction at the start of the step
couple     which bodies a step might bring together
free_path  how much of a step each island may take: what is watched, and continuous collision detection
take       book what has been moved
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.solver.blocks import Blocks
from dovetail.solver.contact.candidates import Candidates
from dovetail.solver.contact.ccd import free_share
from dovetail.solver.contact.friction import add_friction, friction_energy, lag_friction
from dovetail.solver.contact.known import reaching
from dovetail.solver.contact.narrow import narrow
from dovetail.solver.contact.normal import add_normal_forces
from dovetail.solver.contact.readback import Friction, Survey
from dovetail.solver.contact.rows import add_terms
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.contact.threat import unite_threatened
from dovetail.solver.contact.watch import Watch
from dovetail.solver.contribution import Contribution, Start
from dovetail.solver.islands import Islands, unite_pairs
from dovetail.solver.linear.ordering import has_blocks
from dovetail.typing import Array, Indices

__all__ = ["Contact"]

_ADAPTIVE = 20.0  # adaptive κ: second derivative of the barrier at d̂/2, in units of m/h²
_CURVATURE = 15.1  # that derivative for κ = 1, in units of d̂²: 4D b″ + 2b′ at D = d̂²/4
_SOON = 1.5  # pairs nearer than so many ranges of the barrier get a block, before they touch


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
        self._owner = np.where(is_fixed != 0, -1, np.arange(len(is_fixed)))
        self._mass = np.where(is_fixed != 0, 0.0, mass)
        self._eps_velocity, self._with_friction = eps_velocity, friction
        bodies = len(is_fixed)
        self.watch = Watch(scene, is_fixed, centre, half)
        self.stride = np.zeros(bodies)  # length of the last Newton step of each body [m], unknown: infinite
        self.count = self.friction_count = 0
        self._grow(0)
        self._runs: Indices = np.ones(bodies, np.int64)
        self.epsilon = self._h2 = 0.0
        self._Q_start: Array = np.zeros((bodies, 4, 3))
        self._stiffness = np.zeros(bodies)
        self._lagged = self.candidates
        self._at_start, self._is_at_start = np.zeros(bodies), False  # the barrier's energies that `lag` found
        self.lagged_count = 0

    def _grow(self, size: int) -> None:
        """Room for `size` contacts."""
        self.contacts = np.empty((size, 16))
        self.bodies = np.empty((size, 3), np.int64)
        self.frictions = np.empty((size, 16))
        self.friction_bodies = np.empty((size, 2), np.int64)
        self._terms = np.empty((2 * size, 11))
        self._term_bodies = np.empty((2 * size, 2), np.int64)

    # ---- candidates ------------------------------------------------------------------------------------------

    @property
    def candidates(self) -> Candidates:
        """Pairs of features that may touch."""
        return self.watch.candidates

    def forget(self) -> None:
        """Bodies were moved from outside: nothing is known of what is near, and nothing has rubbed."""
        self.watch.forget()
        self.friction_count = 0

    def begin(self, Q: Array, h: float) -> None:
        """Start a step of length h at Q."""
        self._Q_start = Q
        if h * h != self._h2:
            self._h2 = h * h
            self.epsilon = self._eps_velocity * h
            self._stiffness = self._adaptive(h)
        self.watch.looks = 0
        self.stride.fill(math.inf)

    def _adaptive(self, h: float) -> Array:
        """κ d̂² of a body whose contacts are adaptive, in a step of length h."""
        return _ADAPTIVE / (_CURVATURE * h * h) * self._mass

    def lag(self, Q: Array) -> bool:
        """Contacts and friction at the start of the step; False where surfaces intersect already."""
        self._at_start = np.zeros(len(Q))
        self.count = self._narrow(Q, self._owner, self._at_start)
        self._is_at_start = True
        self.friction_count = 0
        self.lagged_count, self._lagged = max(self.count, 0), self.candidates
        if self.count < 0:
            return False
        if self._with_friction:
            self.friction_count = lag_friction(
                self.count, self.contacts, self.bodies, self.candidates.numbers, self.frictions, self.friction_bodies
            )
        return True

    def look(
        self, Q: Array, y: Array, position: Indices, islands: Islands, share: float, commits: Indices | None = None
    ) -> bool:
        """Watch over the step −y from Q, at least over a share of it; True if candidates are new."""
        if not self.watch.look(Q, y, position, islands, share, self.lagged_count, commits):
            return False
        if self.candidates.count > len(self.contacts):
            frictions, bodies = self.frictions[: self.friction_count], self.friction_bodies[: self.friction_count]
            self._grow(2 * self.candidates.count)
            self.frictions[: self.friction_count], self.friction_bodies[: self.friction_count] = frictions, bodies
        return True

    def couple(self, parent: Indices, position: Indices, active: Indices, y: Array) -> None:
        """Unite bodies that rub, and those that the step −y might bring within the range of the barrier."""
        unite_pairs(parent, position, self.friction_bodies, self.friction_count)
        scene, watch, candidates = self.scene, self.watch, self.candidates
        unite_threatened(
            parent, position, active, candidates.pairs, candidates.numbers, watch.path, candidates.known, watch.shift,
            watch.turn, scene.x_base, scene.V, watch.X, y,
        )  # fmt: skip

    def touching(self) -> Indices:
        """Body pairs (k, 2) that may need a block in this step: lagged friction, what is or may soon be in contact."""
        watch, candidates, near = self.watch, self.candidates, np.empty(self.candidates.count, np.int64)
        count = reaching(candidates.pairs, candidates.numbers, watch.X, watch.path, _SOON, candidates.known, near)
        pairs = np.concatenate([candidates.pairs[near[:count], 1:3], self.friction_bodies[: self.friction_count]])
        pairs = pairs[pairs[:, 1] >= 0]
        n = len(self._owner)
        key = np.unique(np.minimum(*pairs.T) * n + np.maximum(*pairs.T))
        return np.stack([key // n, key % n], axis=1)

    def fits(self, blocks: Blocks) -> bool:
        """Whether the block system has a place for every active contact and lagged friction."""
        return bool(
            has_blocks(self.count, self.bodies, blocks.position, blocks.row_start, blocks.column)
            and has_blocks(self.friction_count, self.friction_bodies, blocks.position, blocks.row_start, blocks.column)
        )

    # ---- steps -----------------------------------------------------------------------------------------------

    def free_path(self, y: Array, position: Indices, islands: Islands) -> Array:
        """Share of the step −y, the last one looked at, that each island may take from the state of the last energy."""
        scene, watch, candidates = self.scene, self.watch, self.candidates
        alpha = watch.bound(islands)
        free_share(
            candidates.pairs, candidates.numbers, watch.path, candidates.known, scene.x_base, scene.V,
            scene.plane_normal, watch.X, position, islands.of, islands.running, islands.active, watch.need,
            watch.motion, watch.still, y, alpha,
        )  # fmt: skip
        return alpha

    def take(self, alpha: Array, islands: Islands) -> None:
        """The islands have moved by α of the last step looked at."""
        self.watch.take(alpha, islands)

    def arrays(self) -> dict[str, Array]:
        """What outlives a step."""
        return self.watch.arrays()

    def restore(self, arrays: dict[str, Array]) -> None:
        """Inverse of `arrays`."""
        self.watch.restore(arrays)
        self.count = self.friction_count = 0
        if self.candidates.count > len(self.contacts):
            self._grow(2 * self.candidates.count)

    # ---- contribution ----------------------------------------------------------------------------------------

    def mind(self, runs: Indices) -> None:
        """Contacts are evaluated where one of the bodies runs (n,), now and whenever that array changes."""
        self._runs = runs

    def _narrow(self, Q: Array, owner: Indices, E: Array) -> int:
        scene, watch, candidates = self.scene, self.watch, self.candidates
        watch.follow(Q)
        return int(
            narrow(
                candidates.pairs, candidates.numbers, self._stiffness, self._h2, scene.x_base, scene.V,
                scene.plane_point, scene.plane_normal, watch.X, owner, self._runs, watch.path, candidates.known, E,
                self.contacts, self.bodies,
            )
        )  # fmt: skip

    def add_energy(self, Q: Array, owner: Indices, E: Array) -> None:
        """Barrier and friction; keeps the contacts found at Q for the next assembly. Infinite where a gap is closed."""
        if self._is_at_start and Q is self._Q_start:
            E += self._at_start
        else:
            self.count = self._narrow(Q, owner, E)
        self._is_at_start = False
        if self.count < 0:
            self.count = 0
            E += math.inf
            return
        friction_energy(
            self.friction_count, self.frictions, self.friction_bodies, self.epsilon, self._Q_start, Q, owner,
            self._runs, E,
        )  # fmt: skip

    def assemble(self, Q: Array, exact: bool, blocks: Blocks) -> None:
        scene, candidates = self.scene, self.candidates
        normal = add_normal_forces(
            self.count, self.contacts, self.bodies, candidates.pairs, candidates.numbers, scene.x_base, scene.V,
            self.watch.X, blocks.position, blocks.active, blocks.g, self._terms, self._term_bodies,
        )  # fmt: skip
        self._add_terms(normal, blocks)
        friction = add_friction(
            self.friction_count, self.frictions, self.friction_bodies, self.epsilon, self.stride, self._Q_start, Q,
            blocks.position, blocks.active, blocks.g, self._terms, self._term_bodies,
        )  # fmt: skip
        self._add_terms(friction, blocks)

    def add_start(self, start: Start, blocks: Blocks) -> None:
        """Nothing: bodies in contact have no consistent start."""

    def _add_terms(self, count: int, blocks: Blocks) -> None:
        add_terms(
            count, self._terms, self._term_bodies, blocks.position, blocks.row_start, blocks.column, blocks.D, blocks.U
        )

    # ---- read-back -------------------------------------------------------------------------------------------

    @property
    def friction(self) -> Friction:
        """Friction of the last step."""
        count = self.friction_count
        return Friction(self.frictions[:count], self.friction_bodies[:count], self._lagged, self.epsilon)

    def survey(self, Q: Array, Q_start: Array, h: float) -> Survey:
        """All contacts at Q, where a step of length h from Q_start has led; the next step is not affected."""
        scene, watch = self.scene, self.watch
        if watch.is_blind:
            candidates, path = watch.glance(Q)
            if candidates.count > len(self.contacts):
                self._grow(2 * candidates.count)  # nothing has rubbed since `forget`, so nothing is lost
        else:
            watch.follow(Q)
            candidates, path = watch.candidates, watch.path
        E, everything = np.zeros(1), np.ones(len(Q), np.int64)
        count = narrow(
            candidates.pairs, candidates.numbers, self._adaptive(h), h * h, scene.x_base, scene.V, scene.plane_point,
            scene.plane_normal, watch.X, np.zeros(len(Q), np.int64), everything, path, candidates.known, E,
            self.contacts, self.bodies,
        )  # fmt: skip
        count = max(count, 0)
        return Survey(
            scene, self.contacts[:count], self.bodies[:count], candidates, watch.X, float(E[0]), self.friction, Q,
            Q_start,
        )  # fmt: skip
