"""The watch over bodies: who is near whom, which features may touch, and how far everything may move until a new look.

look     measure a step; look for candidates where less than a share of it would be covered
follow   go to a state: positions, and the paths of all pairs up to there
bound    shorten a step to what the candidates cover
take     book what has been moved
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.solver.contact.candidates import Candidates, list_vertices, update_positions
from dovetail.solver.contact.detect import detect, positions
from dovetail.solver.contact.known import follow
from dovetail.solver.contact.motion import body_motion, is_spent, pair_motion, take, tightest
from dovetail.solver.contact.near import near_bodies
from dovetail.solver.contact.planes import near_planes
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.islands import Islands
from dovetail.typing import Array, Indices

__all__ = ["Watch"]

_BODY_HEADROOM = 3.0  # budget of a body by its expected motion: boxes of bodies are cheap to look at
_HEADROOM = 1.25  # slack of a pair by its expected relative motion: features are not
_SLOW_HEADROOM = 5.0  # the same for bodies that move less than d̂ or so
_CROWD = 4  # more candidates than so many per contact and body ask for a new look once the bodies are slow


def _room(motion: Array, d_hat: Array, headroom: float) -> Array:
    """Budget for an expected motion per step: slow bodies get enough for several steps."""
    slow = np.minimum(_SLOW_HEADROOM * motion, 2.0 * d_hat)
    return np.maximum(0.5 * d_hat, np.maximum(headroom * motion, slow))


class Watch:
    """Candidates with the budgets of motion that they are complete for.

    near (k, 2)          body pairs near each other
    budget, used (n,)    motion that `near` allows a body, and has seen of it
    slack, spent (k,)    relative motion that the candidates allow a pair, and have seen of it
    path (k,)            see known.py
    need (k,)            relative motion of each pair in the step looked at
    X (m, 3)             positions of the candidates' vertices at the state last gone to
    """

    def __init__(self, scene: ContactScene, is_fixed: Indices, centre: Array, half: Array) -> None:
        self.scene = scene
        self._is_fixed, self._centre, self._half = is_fixed, centre, half
        bodies = len(is_fixed)
        self.X = np.zeros((scene.x_count, 3))
        self.candidates = Candidates.none()
        self._vertices: Indices = np.zeros((0, 3), np.int64)
        self.near: Indices = np.zeros((0, 2), np.int64)
        self.slack = self.spent = self.need = self.path = np.zeros(0)
        self.budget, self.used = np.full(bodies, -1.0), np.zeros(bodies)
        self.plane_budget, self.plane_used = -1.0, 0.0
        self.motion, self.turn, self.shift = np.zeros(bodies), np.zeros(bodies), np.zeros((bodies, 3))
        self.still = 0.0
        self._nobody: Indices = np.zeros(bodies, np.int64)
        self._commits, self._at_rest = self._nobody, np.zeros(3)
        self._Q: Array = np.zeros((bodies, 4, 3))  # the state last gone to
        self.looks = 0

    @property
    def is_blind(self) -> bool:
        """Whether nothing is known, since bodies were moved from outside."""
        return self.plane_budget < 0.0

    def forget(self) -> None:
        """Bodies were moved from outside: look for candidates before the next step."""
        self.plane_budget = -1.0

    def follow(self, Q: Array) -> None:
        """Go to the state Q."""
        follow(self._centre, self._half, self.near, Q, self._Q, self.path)
        update_positions(self._vertices, self.scene.V, Q, self.X)

    # ---- looking ---------------------------------------------------------------------------------------------

    def look(
        self, Q: Array, y: Array, position: Indices, islands: Islands, share: float, contacts: int,
        commits: Indices | None = None,
    ) -> bool:  # fmt: skip
        """Measure the step −y from Q; look for candidates where less than a share of it is covered. True if so.

        With `commits` (n,) the frame moves with the mean of all bodies; see motion.py. `contacts` is how many there
        are: candidates far beyond that are thinned out.
        """
        frame = self._at_rest if commits is None or len(y) == 0 else y[:, :3].sum(axis=0) / len(y)
        self._commits = self._nobody if commits is None else commits
        self.still = body_motion(
            self._centre, self._half, position, islands.active, y, frame, self._commits, self.shift, self.turn,
            self.motion,
        )  # fmt: skip
        self.measure_pairs(islands.of)
        if self.is_blind or (commits is not None and self._is_crowded(contacts)):
            self._look_anew(Q, islands.of)
        elif self.plane_used + share * self.still > self.plane_budget or is_spent(
            self.used, self.motion, share, self.budget
        ):
            self._look_around(Q, islands.of, share)
        elif is_spent(self.spent, self.need, share, self.slack):
            self.follow(Q)
            self._find(Q, np.append(np.arange(len(self.near)), -1), self._soon(share), self._planes())
        else:
            return False
        self.looks += 1
        return True

    def measure_pairs(self, island: Indices) -> None:
        """need ← relative motion of near pairs in the step looked at, for these islands."""
        pair_motion(self.near, self.shift, self.turn, island, self._commits, self.need)

    def _is_crowded(self, contacts: int) -> bool:
        """Whether the candidates are those of a faster motion, and far more than touch."""
        if self.candidates.count < _CROWD * (contacts + len(self.budget)):
            return False
        wanted = _room(self.motion, self.scene.d_hat, _BODY_HEADROOM)
        return float(wanted.sum()) < 0.25 * float(self.budget.sum())

    def _look_anew(self, Q: Array, island: Indices) -> None:
        """Find near bodies and all candidates, with no more room than the step needs."""
        self._Q[:] = Q
        self.budget = _room(self.motion, self.scene.d_hat, _BODY_HEADROOM)
        self._renew_planes()
        self.near = near_bodies(self.scene, self._is_fixed, self.budget, Q)
        self.need, self.spent, self.path, self.slack = np.zeros((4, len(self.near)))
        self.measure_pairs(island)
        self.candidates = Candidates.none()
        self._find(Q, np.full(1, -1), np.arange(len(self.near)), None)

    def _look_around(self, Q: Array, island: Indices, share: float) -> None:
        """Find near bodies anew; pairs that stay near keep their candidates."""
        self.follow(Q)
        # a budget shrinks slowly, or a direction that grows again would soon make for another look
        self.budget = np.maximum(_room(self.motion, self.scene.d_hat, _BODY_HEADROOM), 0.5 * self.budget)
        self._renew_planes()
        n = len(Q)
        before, old = self.near[:, 0] * n + self.near[:, 1], (self.spent, self.path, self.slack)
        self.near = near_bodies(self.scene, self._is_fixed, self.budget, Q)
        now = self.near[:, 0] * n + self.near[:, 1]
        place = np.searchsorted(now, before)
        stays = np.append(now, -1)[place] == before
        self.spent, self.path, self.slack = np.zeros((3, len(now)))
        for values, past in zip((self.spent, self.path, self.slack), old, strict=True):
            values[place[stays]] = past[stays]
        self.need = np.zeros(len(now))
        self.measure_pairs(island)
        place_of = np.append(np.where(stays, place, -1), -1)
        self._find(Q, place_of, self._soon(share), None)

    def _soon(self, share: float) -> Indices:
        """Pairs whose slack is spent, or soon will be; new ones have none."""
        return np.flatnonzero(self.spent + share * self.need >= 0.5 * self.slack)

    def _renew_planes(self) -> None:
        widest = self.scene.d_hat.max(keepdims=True)
        self.plane_budget = float(_room(np.array([self.still]), widest, _BODY_HEADROOM)[0])
        self.used, self.plane_used = np.zeros(len(self.budget)), 0.0

    def _planes(self) -> Candidates:
        """The present candidates with half-planes."""
        pairs, numbers, known = self.candidates.pairs, self.candidates.numbers, self.candidates.known
        count = int(np.searchsorted(pairs[:, 7], 0))
        return Candidates(pairs[:count], numbers[:count], known[:count])

    def _find(self, Q: Array, place_of: Indices, chosen: Indices, planes: Candidates | None) -> None:
        """Look at the chosen pairs, and at half-planes if their candidates are not given.

        place_of is the new number of each old pair, −1 where it is gone; half-planes, pair −1, read its last entry.
        """
        scene, old = self.scene, self.candidates
        positions(scene.shape_of, scene.vertex_start, scene.x_base, scene.V, Q, self.X)
        a, b = self.near[chosen].T
        room = _room(self.need[chosen], scene.d_hat[a] + scene.d_hat[b], _HEADROOM)
        self.slack[chosen] = np.minimum(room, self.budget[a] + self.budget[b])
        self.spent[chosen] = 0.0
        place_of = place_of.copy()
        taken = np.zeros(len(self.near) + 1, bool)
        taken[chosen] = True
        place_of[taken[place_of]] = -1
        if planes is None:
            planes = near_planes(scene, self._is_fixed, self.budget + self.plane_budget, self.X)
        self.candidates = detect(scene, planes, old, place_of, self.near, self.slack, self.path, chosen, self.X)
        self._vertices = list_vertices(self.candidates.pairs, scene.x_base, scene.x_count)

    def glance(self, Q: Array) -> tuple[Candidates, Array]:
        """Candidates in the range of the barrier at Q and paths to measure them by, without any change to the watch."""
        other = Watch(self.scene, self._is_fixed, self._centre, self._half)
        other.X = self.X
        other._look_anew(Q, np.full(len(Q), -1))
        return other.candidates, other.path

    # ---- steps -----------------------------------------------------------------------------------------------

    def bound(self, islands: Islands) -> Array:
        """Share of the step looked at that the candidates cover, per island."""
        self.measure_pairs(islands.of)
        alpha = np.ones(islands.count)
        tightest(
            self.near, self.need, self.slack, self.spent, islands.of, islands.running, self.budget, self.used,
            self.motion, alpha,
        )  # fmt: skip
        return alpha

    def take(self, alpha: Array, islands: Islands) -> None:
        """The islands have moved by α of the step looked at."""
        self.plane_used += self.still
        take(self.near, self.shift, self.turn, self.motion, self.still, islands.of, alpha, self.used, self.spent)

    # ---- dump ------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Array]:
        """Candidates and budgets: they outlive a step."""
        return {
            "contact/pairs": self.candidates.pairs.astype(float),
            "contact/numbers": self.candidates.numbers,
            "contact/budget": np.append(self.budget, self.plane_budget),
            "contact/used": np.append(self.used, self.plane_used),
            "contact/near": self.near.astype(float),
            "contact/slack": np.stack([self.slack, self.spent], axis=1),
        }

    def restore(self, arrays: dict[str, Array]) -> None:
        """Inverse of `arrays`; distances are unknown then, which no decision depends on."""
        pairs = arrays["contact/pairs"].astype(np.int64)
        unknown = np.tile([-math.inf, 0.0], (len(pairs), 1))
        self.candidates = Candidates(pairs, arrays["contact/numbers"].copy(), unknown)
        self._vertices = list_vertices(pairs, self.scene.x_base, self.scene.x_count)
        self.budget, self.plane_budget = arrays["contact/budget"][:-1].copy(), float(arrays["contact/budget"][-1])
        self.used, self.plane_used = arrays["contact/used"][:-1].copy(), float(arrays["contact/used"][-1])
        self.near = arrays["contact/near"].astype(np.int64)
        self.slack, self.spent = np.ascontiguousarray(arrays["contact/slack"].T)
        self.need, self.path = np.zeros((2, len(self.near)))
