"""The watch over bodies: who is near whom, which features may touch, and how far everything may move until a new look.

update_candidates   measure a step; look for candidates where less than a share of it would be covered
go_to               go to a state: the paths of all pairs up to there

Budgets cover the step that is expected, unless it is so long that too much would have to be looked at: budgets of
bodies are cut where more than a constant number of pairs per body would be near, slacks of pairs where more than a
constant number of elements per element would be (detect.py). Bodies that are not covered to the end of their step are
guarded, held to what is covered (`tighten` in motion.py), and looked at again from there: a long step is taken in
parts, one in each Newton iteration. Memory is linear in bodies and elements, and the time of an iteration too.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dovetail.kernel.threads import cut_finely, is_little
from dovetail.solver.contact.candidates import Candidates, list_vertices
from dovetail.solver.contact.detect import detect, positions
from dovetail.solver.contact.kinds import D_HAT, PAIR, THICKNESS, A
from dovetail.solver.contact.known import Watched, follow
from dovetail.solver.contact.motion import (
    BODIES_SPENT,
    BUDGET,
    PAIRS_SPENT,
    STILL,
    USED,
    carry_over,
    look_at_step,
    pair_motion,
)
from dovetail.solver.contact.near import find_pairs, near_bodies
from dovetail.solver.contact.planes import near_planes, touching_vertices
from dovetail.solver.contact.room import Room
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.contact.separation import LEAST, SLOW_HEADROOM, separate, spent_soon
from dovetail.solver.islands import Islands
from dovetail.typing import Array, Indices

__all__ = ["Watch"]

_BODY_HEADROOM = 3.0  # budget of a body by its expected motion: boxes of bodies are cheap to look at
_ALONE_HEADROOM = 48.0  # the same where looks find no candidates: it doubles with each (benchmarks/small.py)
_SPARSE_HEADROOM = 12.0  # the same where they find few near pairs: a wide look finds the same ones
_HEADROOM = 1.25  # slack of a pair by its expected relative motion: features are not
_FEW_HEADROOM = 8.0  # the same where there are few candidates: it grows with each look (benchmarks/small.py)
_SMALL = 100  # bodies, up to which a look takes longer than what it finds
_SPARSE = 2  # near pairs per body, up to which there are few
_FEW = 12  # candidates per body, up to which looking for them takes longer than having them
_NEIGHBOURS = 128  # near pairs per body at most, unless there are more within the range of the barrier
_COST_OF_BODY, _COST_OF_CANDIDATE = 100.0, 20.0  # [ns] in an iteration
_CROWD = 4  # more candidates than so many per contact and body ask for a new look once the bodies are slow


def _room(motion: Array, d_hat: Array, headroom: float) -> Array:
    """Budget for an expected motion per step: slow bodies get enough for several steps."""
    slow = np.minimum(SLOW_HEADROOM * motion, 4.0 * d_hat)
    return np.maximum(LEAST * d_hat, np.maximum(headroom * motion, slow))


class Watch(Watched):
    """Candidates with the books of motion that they are complete for, see motion.py.

    looks                how often candidates were looked for in the present step
    ahead                how often before it was begun
    headroom, pair_headroom   budget of a body and slack of a pair by their expected motion
    is_short             whether any of these is less than asked for
    """

    def __init__(self, scene: ContactScene, is_fixed: Indices, centre: Array, half: Array) -> None:
        n = len(is_fixed)
        super().__init__(
            centre=centre, half=half, near=np.zeros((0, 2), np.int64), budget=np.full(n, -1.0), used=np.zeros(n),
            slack=np.zeros(0), spent=np.zeros(0), path=np.zeros(0), axis=np.zeros((0, 3)),
            shift=np.zeros((n, 3)), turn=np.zeros(n), bend=np.zeros(n), motion=np.zeros(n), need=np.zeros(0),
            commits=np.zeros(n, np.int64), planes=np.array([-1.0, 0.0, 0.0]), short=np.zeros(n, np.int64),
            pair_short=np.zeros(0, np.int64), Q=np.zeros((n, 4, 3)), drift=np.zeros((n, 4)),
            vertices=np.zeros((0, 3), np.int64),
        )  # fmt: skip
        self.scene, self._is_fixed = scene, is_fixed
        self._room = Room(scene)
        self._touching = touching_vertices(scene, is_fixed)
        self._X = np.zeros((scene.x_count, 3))  # of all vertices, where candidates were last looked for
        self.candidates = Candidates.none()
        self.headroom, self.pair_headroom = _BODY_HEADROOM, _HEADROOM
        self.looks = self.ahead = 0
        self.is_short = False

    @property
    def is_large(self) -> bool:
        """Whether threads share the work of a step, by the candidates that there are."""
        bodies = len(self.budget) + len(self.near)
        return not is_little(_COST_OF_BODY * bodies + _COST_OF_CANDIDATE * self.candidates.count)

    @property
    def is_blind(self) -> bool:
        """Whether nothing is known, since bodies were moved from outside."""
        return bool(self.planes[BUDGET] < 0.0)

    def forget(self) -> None:
        """Bodies were moved from outside: look for candidates before the next step."""
        self.planes[BUDGET] = -1.0

    def go_to(self, Q: Array) -> None:
        """Go to the state Q: what is known of distances is then known there."""
        follow(self, Q)

    # ---- looking ---------------------------------------------------------------------------------------------

    def update_candidates(
        self, Q: Array, y: Array, islands: Islands, share: Array, contacts: int, commits: Indices | None = None
    ) -> bool:
        """Measure the step −y from Q; look for candidates where less than a share (n,) of it is covered. True if so.

        With `commits` (n,) the frame moves with the mean of all bodies; see motion.py. `contacts` is how many there
        are: candidates far beyond that are thinned out.
        """
        self.commits[:] = 0 if commits is None else commits
        found = look_at_step(self, Q, y, commits is not None, islands.of, share)
        looked = True
        if self.is_blind or (commits is not None and self._is_crowded(contacts)):
            self._look_anew(Q, islands.of)
        elif found == BODIES_SPENT:
            self._look_around(Q, islands.of, share)
        elif found == PAIRS_SPENT:
            self.go_to(Q)
            place_of = np.append(np.arange(len(self.near)), -1)
            self._find(Q, islands.of, place_of, self._soon(share), self._planes())
        else:
            looked = False
        if looked:
            cut_finely(self.is_large)
            self.looks += 1
            self.is_short = bool(self.short.any() or self.pair_short.any())
        if commits is not None and self.is_short and self.short.any():
            # seen from a frame that moves, bodies that rest use up budgets, and nothing could hold them back
            look_at_step(self, Q, y, False, islands.of, share)
        return looked

    def may_be_crowded(self, contacts: int) -> bool:
        """Whether there are far more candidates than touch."""
        return self.candidates.count >= _CROWD * (contacts + len(self.budget))

    def _is_crowded(self, contacts: int) -> bool:
        """Whether the candidates are those of a faster motion, and far more than touch."""
        if not self.may_be_crowded(contacts):
            return False
        wanted = _room(self.motion, self.scene.d_hat, self.headroom)
        return float(wanted.sum()) < 0.25 * float(self.budget.sum())

    def _look_anew(self, Q: Array, island: Indices) -> None:
        """Find near bodies and all candidates, with no more room than the step needs."""
        self.Q[:] = Q
        self.budget = _room(self.motion, self.scene.d_hat, _BODY_HEADROOM)
        self._renew_planes()
        self._find_near(Q)
        self._make_books()
        self.candidates = Candidates.none()
        self._find(Q, island, np.full(1, -1), np.arange(len(self.near)), None)

    def _look_around(self, Q: Array, island: Indices, share: Array) -> None:
        """Find near bodies anew; pairs that stay near keep their candidates."""
        self.go_to(Q)
        # a budget shrinks slowly, or a direction that grows again would soon make for another look
        self.budget = np.maximum(_room(self.motion, self.scene.d_hat, self.headroom), 0.5 * self.budget)
        self._renew_planes()
        before, old = self.near, (self.spent, self.path, self.slack, self.pair_short, self.axis)
        self._find_near(Q)
        place = np.empty(len(before), np.int64)
        find_pairs(before, self.near, place)
        self._make_books()
        carry_over(place, old, self)
        pair_motion(self, island)
        place_of = np.append(place, -1)
        self._find(Q, island, place_of, self._soon(share), None)

    def _make_books(self) -> None:
        """Know nothing of the motion of near pairs."""
        count = len(self.near)
        self.need, self.spent, self.path, self.slack = np.zeros((4, count))
        self.pair_short, self.axis = np.zeros(count, np.int64), np.zeros((count, 3))

    def _find_near(self, Q: Array) -> None:
        """Find near bodies; budgets are cut where there are too many."""
        asked = self.budget.copy()
        most = _NEIGHBOURS * len(Q)
        self.near = near_bodies(self.scene, self._room, self._is_fixed, self.budget, Q, most)
        self.short = (self.budget < asked).astype(np.int64)

    def _soon(self, share: Array) -> Indices:
        """Pairs whose slack is spent, or soon will be; new ones have none."""
        out = np.empty(len(self.near), np.int64)
        return out[: spent_soon(self, share, out)]

    def _renew_planes(self) -> None:
        widest = self.scene.d_hat.max(keepdims=True)
        self.planes[BUDGET] = _room(self.planes[STILL:], widest, self.headroom)[0]
        self.planes[USED] = 0.0
        self.used.fill(0.0)

    def _stay_off(self, planes: Candidates) -> Candidates:
        """Cut all budgets so that they end before half-planes that nothing would reach soon; what is then near these.

        No candidate is worth more than budgets that last longer: steps without any are cheaper.
        """
        if not planes.count:
            return planes
        body, numbers, still = planes.pairs[:, A], planes.numbers, self.planes[STILL:]
        free = planes.known[:, 0] - numbers[:, THICKNESS] - numbers[:, D_HAT]
        share = 0.999 * float((free / (self.budget[body] + self.planes[BUDGET])).min())
        least, widest = _room(self.motion, self.scene.d_hat, _BODY_HEADROOM), self.scene.d_hat.max(keepdims=True)
        if (share * self.budget < least).any() or share * self.planes[BUDGET] < _room(still, widest, _BODY_HEADROOM)[0]:
            return planes
        self.budget *= share
        self.planes[BUDGET] *= share
        return Candidates.none()

    def _planes(self) -> Candidates:
        """The present candidates with half-planes."""
        pairs, numbers, known = self.candidates.pairs, self.candidates.numbers, self.candidates.known
        count = int(np.searchsorted(pairs[:, PAIR], 0))
        return Candidates(pairs[:count], numbers[:count], known[:count])

    def _find(self, Q: Array, island: Indices, place_of: Indices, chosen: Indices, planes: Candidates | None) -> None:
        """Look at the chosen pairs, and at half-planes if their candidates are not given.

        place_of is the new number of each old pair, −1 where it is gone; half-planes, pair −1, read its last entry.
        """
        scene, old, X = self.scene, self.candidates, self._X
        positions(scene, Q, X)
        place_of = place_of.copy()
        taken = np.zeros(len(self.near) + 1, bool)
        taken[chosen] = True
        place_of[taken[place_of]] = -1
        if not len(chosen) and old.count == 0 and planes is None and not len(scene.plane_point):
            self._grow_headroom()
            return
        if planes is None:
            planes = self._stay_off(near_planes(scene, self._touching, self.budget + self.planes[BUDGET], X))
        asked, axis = separate(self, island, chosen, scene, self.pair_headroom, X)
        close = (self.axis[chosen] == 0.0).all(axis=1)
        looked = chosen[close]
        if len(looked) or old.count or planes.count:
            self.candidates = detect(
                scene, self._room, planes, old, place_of, self.near, self.slack, self.path, looked, axis[close], X
            )
        a, b = self.near[chosen].T
        cut = (self.short[a] | self.short[b]) != 0
        self.pair_short[chosen] = self.slack[chosen] < np.where(cut, *asked)
        self.vertices = list_vertices(self.candidates.pairs, scene)
        self._grow_headroom()

    def _grow_headroom(self) -> None:
        """Bodies that are alone, or near few others, may go far before the next look.

        Pairs too where there are few candidates, in small scenes: in large ones a look is cheap beside those of a wide
        one.
        """
        count, is_small = self.candidates.count, len(self.budget) <= _SMALL
        if count == 0 and is_small:
            self.headroom = min(2.0 * self.headroom, _ALONE_HEADROOM)
        elif len(self.near) <= _SPARSE * len(self.budget):
            self.headroom = min(2.0 * self.headroom, _SPARSE_HEADROOM)
        else:
            self.headroom = max(0.5 * self.headroom, _BODY_HEADROOM)
        if not is_small:
            return
        few = count < _FEW * len(self.budget)
        wanted = self.pair_headroom * (1.5 if few else 1.0 / 1.5)
        self.pair_headroom = min(max(wanted, _HEADROOM), _FEW_HEADROOM)

    def query(self, Q: Array) -> Watch:
        """Another watch, which knows the candidates in the range of the barrier at Q; this one is not changed."""
        other = Watch(self.scene, self._is_fixed, self.centre, self.half)
        other._look_anew(Q, np.full(len(Q), -1))
        return other

    # ---- dump ------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Array]:
        """Candidates and budgets: they outlive a step."""
        return {
            "contact/pairs": self.candidates.pairs.astype(float),
            "contact/numbers": self.candidates.numbers,
            "contact/budget": np.append(self.budget, self.planes[BUDGET]),
            "contact/used": np.append(self.used, self.planes[USED]),
            "contact/near": self.near.astype(float),
            "contact/slack": np.stack([self.slack, self.spent, self.pair_short], axis=1),
            "contact/axis": self.axis,
            "contact/short": self.short.astype(float),
        }

    def restore(self, arrays: dict[str, Array]) -> None:
        """Inverse of `arrays`; distances are unknown then, which no decision depends on."""
        self._list(arrays["contact/pairs"].astype(np.int64), arrays["contact/numbers"].copy())
        self.budget, self.planes[BUDGET] = arrays["contact/budget"][:-1].copy(), arrays["contact/budget"][-1]
        self.used, self.planes[USED] = arrays["contact/used"][:-1].copy(), arrays["contact/used"][-1]
        self.near = arrays["contact/near"].astype(np.int64)
        self.slack, self.spent = np.ascontiguousarray(arrays["contact/slack"][:, :2].T)
        self.short, self.pair_short = (
            flags.astype(np.int64) for flags in (arrays["contact/short"], arrays["contact/slack"][:, 2])
        )
        self.is_short = bool(self.short.any() or self.pair_short.any())
        self.axis = arrays["contact/axis"].copy()
        self.need, self.path = np.zeros((2, len(self.near)))

    def _list(self, pairs: Indices, numbers: Array) -> None:
        """Have these candidates, and know nothing of their distances."""
        self.candidates = Candidates(pairs, numbers, np.tile([-math.inf, 0.0], (len(pairs), 1)))
        self.vertices = list_vertices(pairs, self.scene)

    def books(self) -> tuple[Array, Array, Array]:
        """What was moved so far, to return to."""
        return self.used.copy(), self.spent.copy(), self.planes.copy()

    def return_to(self, books: tuple[Array, Array, Array]) -> None:
        """Nothing was moved since, and nothing looked for."""
        self.used[:], self.spent[:], self.planes[:] = books

    def keep(self) -> Callable[[], None]:
        """A function that goes back to the present candidates and budgets; distances are unknown then."""
        kept = {**vars(self)}
        slack, spent, used, planes = self.slack.copy(), self.spent.copy(), self.used.copy(), self.planes.copy()
        pair_short = self.pair_short.copy()

        def undo() -> None:
            for name, value in kept.items():
                setattr(self, name, value)  # all of them: kernels may have been told half of an array
            self.slack, self.spent, self.pair_short = slack.copy(), spent.copy(), pair_short.copy()
            self.used[:], self.planes[:] = used, planes
            self._list(self.candidates.pairs, self.candidates.numbers)
            self.need, self.path = np.zeros((2, len(self.near)))

        return undo
