"""Steps of many worlds in one call: who takes part, alone or in company, and who goes on by itself."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dovetail.geometry.attribute import moved
from dovetail.kernel.emit import LANES
from dovetail.kernel.program import RESULT
from dovetail.kernel.team import MOST
from dovetail.kernel.threads import Spans, map_chunks, using
from dovetail.scene.animator import begun
from dovetail.solver.march import REASON, STRAINED, TOUCHED, march_all
from dovetail.timer import Timer
from dovetail.typing import Indices
from dovetail.world.company import LARGEST, Common, structure_of
from dovetail.world.marcher import Marcher
from dovetail.world.stage import Companions, SharedStage

__all__ = ["PATIENCE", "Marching"]

_MARCH, _STEPS, _FETCH, _WORDS = 1, 8, 9, 24
"""In the words of a world: the call of `march`, the number of steps that it takes, the call of `fetch`, and the end."""
PATIENCE = 200
"""Steps that worlds take alone before they are put together, which takes as long as some hundred steps."""
_WHILE = 0.1  # [s] that one call is to take at most: an interrupt is seen after it
_MOST = 2**31 - 1  # steps in it, which `march` counts in so many bits
_PARTS = 8  # chunks for each thread: the last ones end together
_COST = 10.0  # [µs] of a step of a world, at least


class _Plan(NamedTuple):
    """A march: who goes by how many steps, and with whom.

    units, expected    rows of words that are called, and what each returns where all has gone as planned
    """

    going: Indices
    steps: Indices
    together: list[tuple[int, Companions, Indices]]
    units: Indices
    expected: Indices
    spans: Spans


class Marching:
    """Many simulations, some of which take part.

    steered      what has to be empty as long as any does: animations, recordings
    """

    def __init__(self, count: int, threads: int, steered: Sequence[Any]) -> None:
        self._marchers: list[Marcher | None] = [None] * count
        self._joined, self._stands = np.zeros((2, count), np.bool_)
        self._words: Indices = np.zeros((count, _WORDS), np.int64)
        self._threads, self._steered = threads, steered
        self._begun = -1  # as it was when nothing steered
        self._generation: Indices = np.zeros(count, np.int64)  # of the addresses of attributes, see `moved`
        self._stages: list[tuple[str, SharedStage]] = []  # with the structure of the worlds on it
        self._companies: list[tuple[int, int]] = []  # on which stage, and which of those there
        self._company: Indices = np.full(count, -1)  # of each, and which of its members it is
        self._place: Indices = np.zeros(count, np.int64)
        self._is_new = np.zeros(count, np.bool_)  # whether it has joined since its company was told
        self._waiting: dict[str, list[int]] = {}  # for company, by structure
        self._known = np.zeros(count, np.bool_)
        self._taken: Indices = np.zeros(count, np.int64)  # steps so far
        self._most = 1  # steps in one call
        self._plan: _Plan | None = None  # of the last march, if it has all been as planned since

    def join(self, number: int, marcher: Marcher) -> bool:
        """Have a simulation take part, if it can; whether it does."""
        if not marcher.join():
            return False
        self._plan = None
        self._words[number], self._marchers[number], self._joined[number] = marcher.program.words(), marcher, True
        self._stands[number] = marcher.stands
        self._generation[number] = marcher.generation  # others may have moved theirs meanwhile, in other threads
        self._is_new[number] = True
        return True

    def advance(self, left: Indices) -> None:
        """Have those that take part go on by so many steps (n,); what they do not take is left."""
        self._joined &= self._generation == moved.count
        if not self._joined.any():
            return
        if self._begun != begun.count:
            if any(self._steered):
                self._joined[:] = False
                return
            self._begun = begun.count
        try:
            self._find_company()
            while (self._joined & (left > 0)).any():
                self._march_for_a_while(left)
        except BaseException:
            for k in np.flatnonzero(self._joined).tolist():
                self._leave(k)
            raise

    def _march_for_a_while(self, left: Indices) -> None:
        """The same, as far as they come without Python for long: an interrupt is seen in between."""
        share = np.minimum(left, self._most)
        left -= share
        try:
            going: Indices = np.flatnonzero(self._joined & (share > 0))
            while len(going):
                most, began = int(share[going].max()), time.perf_counter()
                going = self._march(going, share)
                took = time.perf_counter() - began
                self._most = int(min(max(_WHILE * most / max(took, 1e-9), 1), _MOST))
        finally:
            left += share

    def _find_company(self) -> None:
        """Have worlds of one structure share a model from now on, where enough of them are there."""
        if self._taken.max() < PATIENCE:
            return
        for k in np.flatnonzero(self._joined & ~self._known & ~self._stands).tolist():
            self._known[k] = True
            structure = structure_of(self._marcher(k).simulation)
            if structure:
                self._waiting.setdefault(structure, []).append(k)
        up_to_date = self._generation == moved.count
        for structure, some in self._waiting.items():
            while len(some) >= LANES:
                chosen, some = some[:LARGEST], some[LARGEST:]
                if not self._put_together(structure, chosen):
                    some = []  # the others are not alike either
            self._waiting[structure] = some
        self._generation[up_to_date] = moved.count  # attributes were copied, none has moved

    def _put_together(self, structure: str, chosen: list[int]) -> bool:
        """Have worlds march together, on the stage that has the fewest companies, or on a new one."""
        self._plan = None
        marchers = [self._marcher(k) for k in chosen]
        worlds, marches = [m.simulation for m in marchers], [m.march for m in marchers if m.march is not None]
        common = Common(worlds)
        if common.march is None:
            return False
        known = enumerate(self._stages)
        stages = [k for k, (found, stage) in known if found == structure and stage.size == len(chosen)]
        if len(stages) < self._threads:
            self._stages.append((structure, SharedStage(common)))
            self._words = np.concatenate([self._words, self._stages[-1][1].program.words()[None, :_WORDS]])
            stages = [len(self._stages) - 1]
        number = min(stages, key=lambda k: len(self._stages[k][1].companies))
        stage = self._stages[number][1]
        if not stage.take_on(worlds, marches, common):
            return False
        self._company[chosen], self._place[chosen] = len(self._companies), np.arange(len(chosen))
        self._companies.append((number, len(stage.companies) - 1))
        self._is_new[chosen] = False
        return True

    def _in_company(self, going: Indices, left: Indices) -> list[tuple[int, Companions, Indices]]:
        """Companies that march together, each with its stage and with its members that do."""
        found = []
        for _, stage in self._stages:
            stage.stage.wanted.fill(0)
        of = self._company[going]
        order = np.argsort(of, kind="stable")
        for some in np.split(going[order], np.flatnonzero(np.diff(of[order])) + 1):
            if not len(some) or self._company[some[0]] < 0:
                continue
            number, place = self._companies[self._company[some[0]]]
            stage = self._stages[number][1]
            companions, steps = stage.companies[place], int(left[some[0]])
            if 2 * len(some) < len(companions.worlds) or (left[some] != steps).any():
                continue
            if (new := some[self._is_new[some]]).size:
                others = [
                    k for k in new.tolist() if not companions.has(int(self._place[k]), self._marcher(k).simulation)
                ]
                if others:  # bodies were added to these, or taken away
                    self._company[others] = -1
                    continue
                companions.take_in([(int(self._place[k]), self._marcher(k).march) for k in new.tolist()])
                self._is_new[new] = False
            companions.await_those(self._place[some])
            stage.want(place, steps)
            found.append((number, companions, some))
        return found

    def _planned(self, going: Indices, left: Indices) -> _Plan:
        """Who is to march with whom; the same as for the last march, where that was the same."""
        plan, steps, worlds = self._plan, left[going], len(self._marchers)
        if plan is not None and np.array_equal(plan.going, going) and np.array_equal(plan.steps, steps):
            return plan
        together = self._in_company(going[~self._stands[going]], left)
        accompanied = np.concatenate([going[:0], *(members for _, _, members in together)])
        alone = np.setdiff1d(going, accompanied) if len(accompanied) else going
        self._words[alone, _STEPS] = left[alone]
        stages = np.unique([worlds + number for number, _, _ in together]).astype(np.int64)
        units, expected = np.concatenate([stages, alone]), np.concatenate([0 * stages, left[alone]])
        parts = min(len(units), MOST, _PARTS * self._threads) if self._threads > 1 else 1
        spans = Spans(len(units), parts, _COST * float(steps.sum()))
        return _Plan(going, steps, together, units, expected, spans)

    def _march(self, going: Indices, left: Indices) -> Indices:
        """One march of these; those that go on after it."""
        plan, self._plan = self._planned(going, left), None
        words, worlds = self._words, len(self._marchers)
        with Timer("Pipeline"), using(self._threads):
            map_chunks(march_all, plan.spans, words, plan.units, _FETCH)
        if np.array_equal(words[plan.units, _MARCH + RESULT], plan.expected):
            left[going] = 0
            self._taken[going] += plan.steps
            self._plan = plan
            return going[:0]
        told_of: Indices = words[:worlds, _MARCH + RESULT].copy()
        for _, companions, members in plan.together:
            told_of[members] = companions.told[self._place[members]]
        told = told_of[going]
        reason = told >> REASON
        taken = told - (reason << REASON)
        left[going] -= taken
        self._taken[going] += taken
        for k in going[self._stands[going] & ((reason == TOUCHED) | (reason == STRAINED))].tolist():
            self._marcher(k).settle()
        further = going[(reason == 0) & (left[going] > 0)].tolist()  # of a company that was broken off
        for k, why in zip(going[reason != 0].tolist(), reason[reason != 0].tolist(), strict=True):
            if not self._marcher(k).goes_on(why):
                self._joined[k] = False
            elif left[k]:
                further.append(k)
        return np.array(further, np.int64)

    def _leave(self, k: int) -> None:
        self._joined[k] = False
        self._marcher(k).leave()

    def _marcher(self, k: int) -> Marcher:
        found = self._marchers[k]
        assert found is not None
        return found
