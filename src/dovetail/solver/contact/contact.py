"""Contact as a contribution to the potential, and the guard that keeps every step free of intersections.

begin      look for candidates if the expected motion leaves the budgets
lag        contacts and friction at the start of the step
renew      look again if a Newton step would leave the budgets
couple     which bodies a step might bring together
free_path  how much of a step each island may take: budgets and continuous collision detection
take       book what has been moved
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.solver.blocks import Blocks
from dovetail.solver.contact.ccd import free_share
from dovetail.solver.contact.detect import Candidates, detect, detect_again, update_positions
from dovetail.solver.contact.friction import add_friction, friction_energy, lag_friction
from dovetail.solver.contact.known import follow, reaching
from dovetail.solver.contact.motion import body_motion, is_spent, pair_motion, take, tightest
from dovetail.solver.contact.narrow import narrow
from dovetail.solver.contact.near import near_bodies
from dovetail.solver.contact.normal import add_normal_forces
from dovetail.solver.contact.readback import Friction, Survey
from dovetail.solver.contact.rows import add_terms
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.contact.threat import unite_threatened
from dovetail.solver.contribution import Contribution
from dovetail.solver.islands import Islands, unite_pairs
from dovetail.solver.linear.ordering import has_blocks
from dovetail.typing import Array, Indices

__all__ = ["Contact"]

_ADAPTIVE = 20.0  # adaptive κ: second derivative of the barrier at d̂/2, in units of m/h²
_CURVATURE = 15.1  # that derivative for κ = 1, in units of d̂²: 4D b″ + 2b′ at D = d̂²/4
_BODY_HEADROOM = 3.0  # budget of a body by its expected motion: boxes of bodies are cheap to look at
_HEADROOM = 1.25  # slack of a pair by its expected relative motion: features are not
_SLOW_HEADROOM = 5.0  # the same for bodies that move less than d̂ or so
_CROWD = 4  # more candidates than so many per contact and body ask for a new look once the bodies are slow
_SOON = 1.5  # pairs nearer than so many ranges of the barrier get a block, before they touch


def _room(motion: Array, d_hat: Array, headroom: float) -> Array:
    """Budget for an expected motion per step: slow bodies get enough for several steps."""
    slow = np.minimum(_SLOW_HEADROOM * motion, 2.0 * d_hat)
    return np.maximum(0.5 * d_hat, np.maximum(headroom * motion, slow))


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
        self.candidates = Candidates.none()
        self.budget = np.full(bodies, -1.0)
        self.used = np.zeros(bodies)
        self.plane_budget, self.plane_used = -1.0, 0.0
        self._motion, self._turn = np.zeros(bodies), np.zeros(bodies)
        self._shift = np.zeros((bodies, 3))
        self._still = 0.0
        self._commits: Indices = np.zeros(bodies, np.int64)
        self._near: Indices = np.zeros((0, 2), np.int64)
        self._slack = self._pair_used = self._need = self._path = np.zeros(0)
        self._Q_known: Array = np.zeros((bodies, 4, 3))  # where distances were last asked for
        self.count = self.friction_count = 0
        self._grow(0)
        self._runs: Indices = np.ones(bodies, np.int64)
        self.epsilon = self._h2 = 0.0
        self._Q_start: Array = np.zeros((bodies, 4, 3))
        self._stiffness = np.zeros(bodies)
        self._lagged = self.candidates
        self._at_start, self._is_at_start = np.zeros(bodies), False  # the barrier's energies that `lag` found
        self.detections = self.lagged_count = 0

    def _grow(self, size: int) -> None:
        """Room for `size` contacts."""
        self.contacts = np.empty((size, 16))
        self.bodies = np.empty((size, 3), np.int64)
        self.frictions = np.empty((size, 16))
        self.friction_bodies = np.empty((size, 2), np.int64)
        self._terms = np.empty((2 * size, 11))
        self._term_bodies = np.empty((2 * size, 2), np.int64)

    # ---- candidates ------------------------------------------------------------------------------------------

    def forget(self) -> None:
        """Bodies were moved from outside: look for candidates before the next step, and nothing has rubbed."""
        self.plane_budget = -1.0
        self.friction_count = 0

    def begin(self, Q: Array, h: float) -> None:
        """Start a step of length h at Q."""
        self._Q_start = Q
        self._h2 = h * h
        self.epsilon = self._eps_velocity * h
        self._stiffness = self._adaptive(h)
        self.detections = 0

    def _adaptive(self, h: float) -> Array:
        """κ d̂² of a body whose contacts are adaptive, in a step of length h."""
        return _ADAPTIVE / (_CURVATURE * h * h) * self._mass

    def lag(self, Q: Array) -> bool:
        """Contacts and friction at the start of the step; False where surfaces intersect already."""
        self._at_start = np.zeros(len(Q))
        self.count = self._narrow(Q, np.where(self._is_fixed != 0, -1, np.arange(len(Q))), self._at_start)
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
        """Measure the step −y from Q; look for candidates anew where less than a share of it fits. True if so.

        With `commits` (n,) the frame moves with the mean of all bodies; see motion.py.
        """
        frame = np.zeros(3) if commits is None else y[:, :3].mean(axis=0)
        self._commits = np.zeros(len(Q), np.int64) if commits is None else commits
        self._still = body_motion(
            self._centre, self._half, position, islands.active, y, frame, self._commits, self._shift, self._turn,
            self._motion,
        )  # fmt: skip
        pair_motion(self._near, self._shift, self._turn, islands.of, self._commits, self._need)
        planes = self.plane_used + share * self._still > self.plane_budget
        if planes or is_spent(self.used, self._motion, share, self.budget):
            # a budget shrinks slowly, or a direction that grows again would soon make for another look
            self._detect(Q, islands.of, 0.5 * self.budget)
            return True
        if commits is not None and self._is_crowded():
            self._detect(Q, islands.of, np.zeros(len(Q)))
            return True
        if not is_spent(self._pair_used, self._need, share, self._slack):
            return False
        soon = self._pair_used + share * self._need > 0.5 * self._slack
        self._extend(Q, np.flatnonzero(soon))  # pairs soon to be spent come along
        return True

    def _is_crowded(self) -> bool:
        """Whether the candidates are those of a faster motion, and far more than touch."""
        if self.candidates.count < _CROWD * (self.lagged_count + len(self.budget)):
            return False
        wanted = _room(self._motion, self.scene.d_hat, _BODY_HEADROOM)
        return float(wanted.sum()) < 0.25 * float(self.budget.sum())

    def _detect(self, Q: Array, island: Indices, least: Array) -> None:
        """Look for candidates at Q, with budgets (at least some) and slacks for the step looked at."""
        scene = self.scene
        self._Q_known[:] = Q
        self.budget = np.maximum(_room(self._motion, scene.d_hat, _BODY_HEADROOM), least)
        still, widest = np.array([self._still]), scene.d_hat.max(keepdims=True)
        self.plane_budget = float(_room(still, widest, _BODY_HEADROOM)[0])
        self.used, self.plane_used = np.zeros(len(Q)), 0.0
        self._near = near_bodies(scene, self._is_fixed, self.budget, Q)
        self._need, self._pair_used, self._path = np.zeros((3, len(self._near)))
        pair_motion(self._near, self._shift, self._turn, island, self._commits, self._need)
        self._slack = self._slacks(self._near, self._need)
        self.candidates = detect(
            scene, self._is_fixed, self._near, self._slack, self.budget + self.plane_budget, Q, self.X
        )
        self._make_room()

    def _slacks(self, near: Indices, need: Array) -> Array:
        """Slack of body pairs for the relative motion they need; their budgets allow no more."""
        a, b = near.T
        room = _room(need, self.scene.d_hat[a] + self.scene.d_hat[b], _HEADROOM)
        return np.minimum(room, self.budget[a] + self.budget[b])

    def _extend(self, Q: Array, chosen: Indices) -> None:
        """Look again at some near pairs, whose slack is spent."""
        self._slack[chosen] = self._slacks(self._near[chosen], self._need[chosen])
        self._pair_used[chosen] = 0.0
        self._follow(Q)
        self.candidates = detect_again(
            self.scene, self.candidates, self._near, self._slack, self._path, chosen, Q, self.X
        )
        self._make_room()

    def _make_room(self) -> None:
        self.detections += 1
        if self.candidates.count > len(self.contacts):
            frictions, bodies = self.frictions[: self.friction_count], self.friction_bodies[: self.friction_count]
            self._grow(2 * self.candidates.count)
            self.frictions[: self.friction_count], self.friction_bodies[: self.friction_count] = frictions, bodies

    def couple(self, parent: Indices, position: Indices, active: Indices, y: Array) -> None:
        """Unite bodies that rub, and those that the step −y might bring within the range of the barrier."""
        unite_pairs(parent, position, self.friction_bodies, self.friction_count)
        scene, candidates = self.scene, self.candidates
        unite_threatened(
            parent, position, active, candidates.pairs, candidates.numbers, self._path, candidates.known, self._shift,
            self._turn, scene.x_base, scene.V, self.X, y,
        )  # fmt: skip

    def touching(self) -> Indices:
        """Body pairs (k, 2) that may need a block in this step: lagged friction, what is or may soon be in contact."""
        candidates, near = self.candidates, np.empty(self.candidates.count, np.int64)
        count = reaching(candidates.pairs, candidates.numbers, self.X, self._path, _SOON, candidates.known, near)
        pairs = np.concatenate([candidates.pairs[near[:count], 1:3], self.friction_bodies[: self.friction_count]])
        pairs = pairs[pairs[:, 1] >= 0]
        key = np.unique(np.minimum(*pairs.T) * len(self.budget) + np.maximum(*pairs.T))
        return np.stack([key // len(self.budget), key % len(self.budget)], axis=1)

    def fits(self, blocks: Blocks) -> bool:
        """Whether the block system has a place for every active contact and lagged friction."""
        return bool(
            has_blocks(self.count, self.bodies, blocks.position, blocks.row_start, blocks.column)
            and has_blocks(self.friction_count, self.friction_bodies, blocks.position, blocks.row_start, blocks.column)
        )

    # ---- steps -----------------------------------------------------------------------------------------------

    def free_path(self, y: Array, position: Indices, islands: Islands) -> Array:
        """Share of the step −y, the last one looked at, that each island may take from the state of the last energy."""
        pair_motion(self._near, self._shift, self._turn, islands.of, self._commits, self._need)
        alpha = np.ones(islands.count)
        tightest(
            self._near, self._need, self._slack, self._pair_used, islands.of, islands.running, self.budget, self.used,
            self._motion, alpha,
        )  # fmt: skip
        scene, candidates = self.scene, self.candidates
        free_share(
            candidates.pairs, candidates.numbers, self._path, candidates.known, scene.x_base, scene.V,
            scene.plane_normal, self.X, position, islands.of, islands.running, islands.active, self._need, self._motion,
            self._still, y, alpha,
        )  # fmt: skip
        return alpha

    def take(self, alpha: Array, islands: Islands) -> None:
        """The islands have moved by α of the last step looked at."""
        self.plane_used += self._still
        take(
            self._near,
            self._shift,
            self._turn,
            self._motion,
            self._still,
            islands.of,
            alpha,
            self.used,
            self._pair_used,
        )

    # ---- dump ------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Array]:
        """Candidates and budgets: they outlive a step."""
        candidates = self.candidates
        return {
            "contact/pairs": candidates.pairs.astype(float),
            "contact/numbers": candidates.numbers,
            "contact/vertices": candidates.vertices.astype(float),
            "contact/budget": np.append(self.budget, self.plane_budget),
            "contact/used": np.append(self.used, self.plane_used),
            "contact/near": self._near.astype(float),
            "contact/slack": np.stack([self._slack, self._pair_used], axis=1),
        }

    def restore(self, arrays: dict[str, Array]) -> None:
        """Inverse of `arrays`."""
        pairs = arrays["contact/pairs"].astype(np.int64)
        unknown = np.tile([-math.inf, 0.0], (len(pairs), 1))
        vertices = arrays["contact/vertices"].astype(np.int64)
        self.candidates = Candidates(pairs, arrays["contact/numbers"].copy(), unknown, vertices)
        self.budget, self.plane_budget = arrays["contact/budget"][:-1].copy(), float(arrays["contact/budget"][-1])
        self.used, self.plane_used = arrays["contact/used"][:-1].copy(), float(arrays["contact/used"][-1])
        self._near = arrays["contact/near"].astype(np.int64)
        self._slack, self._pair_used = np.ascontiguousarray(arrays["contact/slack"].T)
        self._need, self._path = np.zeros((2, len(self._near)))
        self.count = self.friction_count = 0
        if self.candidates.count > len(self.contacts):
            self._grow(2 * self.candidates.count)

    # ---- contribution ----------------------------------------------------------------------------------------

    def watch(self, runs: Indices) -> None:
        """Contacts are evaluated where one of the bodies runs (n,), now and whenever that array changes."""
        self._runs = runs

    def _follow(self, Q: Array) -> None:
        """Distances are about to be asked for at Q."""
        follow(self._centre, self._half, self._near, Q, self._Q_known, self._path)

    def _narrow(self, Q: Array, owner: Indices, E: Array) -> int:
        scene, candidates = self.scene, self.candidates
        self._follow(Q)
        update_positions(candidates.vertices, scene.V, Q, self.X)
        return int(
            narrow(
                candidates.pairs, candidates.numbers, self._stiffness, self._h2, scene.x_base, scene.V,
                scene.plane_point, scene.plane_normal, self.X, owner, self._runs, self._path, candidates.known, E,
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

    # ---- read-back -------------------------------------------------------------------------------------------

    @property
    def friction(self) -> Friction:
        """Friction of the last step."""
        count = self.friction_count
        return Friction(self.frictions[:count], self.friction_bodies[:count], self._lagged, self.epsilon)

    def survey(self, Q: Array, Q_start: Array, h: float) -> Survey:
        """All contacts at Q, where a step of length h from Q_start has led; the next step is not affected."""
        scene, candidates, path = self.scene, self.candidates, self._path
        if self.plane_budget < 0.0:
            still = np.zeros(len(Q))
            near = near_bodies(scene, self._is_fixed, still, Q)
            path = np.zeros(len(near))
            candidates = detect(scene, self._is_fixed, near, path, still, Q, self.X)
            if candidates.count > len(self.contacts):
                self._grow(2 * candidates.count)  # nothing has rubbed since `forget`, so nothing is lost
        else:
            self._follow(Q)
        update_positions(candidates.vertices, scene.V, Q, self.X)
        E, everything = np.zeros(1), np.ones(len(Q), np.int64)
        count = narrow(
            candidates.pairs, candidates.numbers, self._adaptive(h), h * h, scene.x_base, scene.V, scene.plane_point,
            scene.plane_normal, self.X, np.zeros(len(Q), np.int64), everything, path, candidates.known, E,
            self.contacts, self.bodies,
        )  # fmt: skip
        count = max(count, 0)
        return Survey(
            scene, self.contacts[:count], self.bodies[:count], candidates, self.X, float(E[0]), self.friction, Q,
            Q_start, (self._terms, self._term_bodies),
        )  # fmt: skip
