"""Stages: a common model that several companies use, one after the other.

A model of sixteen worlds is mostly room to work in: a hundred kilobytes for each, of which a tenth are numbers of that
world. Companies of one structure share it, so that it stays in the nearest caches, and bring along what they differ by.
What a rehearsed step leaves as it was is constant: of that they only tell where theirs lies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.kernel.fetch import fetch, lines_at, lines_of
from dovetail.kernel.program import Program
from dovetail.solver.company import (
    Company,
    Stage,
    begin_member,
    end_member,
    fetch_company,
    is_strained,
    march_stage,
    march_together,
    rehearse,
)
from dovetail.solver.march import March, give_up, look, march
from dovetail.solver.members import BOOKS, Members
from dovetail.solver.quiet import watching
from dovetail.typing import Indices
from dovetail.world.company import Common
from dovetail.world.strain import EVERY

if TYPE_CHECKING:
    from dovetail.world.simulation import Simulation

__all__ = ["Companions", "SharedStage"]

_NO_COPIES: Indices = np.zeros((0, 3), np.int64)
_LINE = 64  # bytes


def _copy(source: np.ndarray[Any, Any], target: np.ndarray[Any, Any]) -> list[int]:
    """From, to, and how many words."""
    return [source.__array_interface__["data"][0], target.__array_interface__["data"][0], source.nbytes // 8]


def _kept(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy that begins with a cache line, so that registers full of it do not straddle two."""
    room = np.zeros(array.nbytes + _LINE, np.uint8)
    first = -room.__array_interface__["data"][0] % _LINE
    found: np.ndarray[Any, Any] = room[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def _looked_at(looked_up: Sequence[Any]) -> Indices:
    """Numbers that readers look at, which are told as (address, kind, start, values) each: see `Members`."""
    rows = [_NO_COPIES]
    for address, kind, start, values in zip(*(looked_up[k::4] for k in range(4)), strict=True):
        count = np.diff(start)
        of, numbers = np.repeat(np.arange(len(count)), count), np.arange(len(values))
        size = np.array([8, 4, 8, 4])[kind[of]]  # by KINDS
        places = address[of] + size * (numbers - start[of])
        rows.append(np.stack([places, kind[of], values.__array_interface__["data"][0] + 8 * numbers], axis=1))
    return np.concatenate(rows)


class Companions:
    """Worlds of one structure that march together on a stage."""

    def __init__(self, worlds: Sequence[Simulation], common: Common) -> None:
        assert common.march is not None
        self.worlds, self._common = list(worlds), common
        n = len(worlds)
        self.own: dict[int, np.ndarray[Any, Any]] = {}  # constants that are not those of the stage, by their number
        self._members: list[March | None] = [None] * n
        self._copies = [(_NO_COPIES, _NO_COPIES)] * n
        self._attributes = [_NO_COPIES] * n
        self._lines: list[Indices] = [np.zeros((0, 2), np.int64)] * n
        self._program = Program()
        by_member = ("look", "begin", "end", "strain", "give_up", "alone", "present", "told")
        self.members = Members(
            attributes=_NO_COPIES, attributes_from=np.zeros(n + 1, np.int64), books=np.zeros((n, len(BOOKS)), np.int64),
            islands=np.array(common.islands, np.int64),
        )  # fmt: skip
        self.company = Company(
            together=common.march, islands=common.model.islands, members=self.members, every=EVERY,
            words=np.zeros(0, np.int64),
            **{name: np.zeros(n, np.int64) for name in by_member}, inward=_NO_COPIES, outward=_NO_COPIES,
            inward_from=np.zeros(n + 1, np.int64), outward_from=np.zeros(n + 1, np.int64), apart=np.array([0, 1]),
            constants=_NO_COPIES, lines=np.zeros((0, 2), np.int64),
        )  # fmt: skip
        descent = common.march.descent
        self._watching, _ = watching(common.watched_by(worlds), descent.Q, descent.y)
        self._watching_words = self._watching.words()

    @property
    def told(self) -> Indices:
        """What `march` would tell of each."""
        return self.company.told

    def has(self, number: int, world: Simulation) -> bool:
        """Whether this world is the one of that number here."""
        return self.worlds[number] is world

    def await_those(self, present: Indices) -> None:
        """Have these worlds, by their number here, take part in the next march, and no others."""
        self.company.present.fill(0)
        self.company.present[present] = 1

    def take_in(self, joined: Iterable[tuple[int, March]]) -> None:
        """Have some worlds, by their number here, take part with their marches from now on."""
        c, program, common = self.company, Program(), self._common
        for k, m in joined:
            self._members[k] = m
            self._copies[k] = common.copies(k, self.worlds[k], m)
            self._attributes[k] = _looked_at(self.worlds[k].marcher.looked_up)
            self.members.books[k] = self._books_of(k, m)
            self._lines[k] = self._lines_of(k, m)
            self.worlds[k].model.islands.alpha.fill(1.0)  # whole steps, as they are booked
        for k, member in enumerate(self._members):
            if member is not None:
                c.look[k] = program.add(look, member)
                c.begin[k] = program.add(begin_member, member) if len(member.p) + len(member.used) else -1
                c.end[k] = program.add(end_member, member) if len(member.p) else -1
                c.strain[k] = program.add(is_strained, member)
                c.give_up[k] = program.add(give_up, member)
                c.alone[k] = program.add(march, member, 1)
        self._program, c.words = program, program.words()
        inward, outward = ([both[n] for both in self._copies] for n in range(2))
        for owner, name, tables in (
            (c, "inward", inward),
            (c, "outward", outward),
            (self.members, "attributes", self._attributes),
        ):
            setattr(owner, name, np.ascontiguousarray(np.concatenate(tables)))
            getattr(owner, f"{name}_from")[1:] = np.cumsum([len(table) for table in tables])
        self._list_lines()

    def _list_lines(self) -> None:
        """Say anew where all lies that a march reads."""
        c, constants = self.company, list(self.own.values())
        tables = [c.inward, c.outward, self.members.attributes, self.members.books, *constants]
        c.lines = np.ascontiguousarray(np.concatenate([lines_of(tables), *self._lines]))

    def _books_of(self, k: int, m: March) -> list[int]:
        """See BOOKS."""
        arrays = [getattr(m, name).__array_interface__["data"][0] for name in BOOKS[:5]]
        world = self.worlds[k]
        return [*arrays, m.place_of("is_open"), world.forces.place_of("body"), world.pushes.place_of("body")]

    def _lines_of(self, k: int, m: March) -> Indices:
        """Where all lies that is read of a member in a step."""
        world, spans = self.worlds[k], [(place, 8) for place in self.members.books[k].tolist()]
        spans += [(place, 8) for place in self._attributes[k][:, [0, 2]].ravel().tolist()]
        spans += [(place, 8 * words) for place, _, words in self._copies[k][0].tolist()]
        spans += [(place, 8 * words) for _, place, words in self._copies[k][1].tolist()]
        needed: list[Any] = []
        if len(m.p) + len(m.used):
            needed += [getattr(m, name) for name in ("before", "kept_past", "now", "rates", "steps", "approaches")]
            spans.append((m._pointer, 8 * m._size))
        if world.contact is not None:
            needed += [world.contact.watch, world.model.islands.of, world.model.whole]
        return np.concatenate([lines_of(needed), lines_at(spans)])

    def bring(self, numbers: Iterable[int], common: dict[int, np.ndarray[Any, Any]]) -> None:
        """Say where these constants lie, which are those of the stage where there are no own ones."""
        assert self._common.march is not None
        descent, places, addresses = self._common.march.descent, list[int](), list[int]()
        for k in numbers:
            own = self.own.get(k, common[k]).__array_interface__["data"][0]
            for place, further in self._common.pointers_to(k):
                places.append(place)
                addresses.append(own + further)
        self._addresses = np.array(addresses, np.int64)
        first = self._addresses.__array_interface__["data"][0]
        copies = [[first + 8 * n, place, 1] for n, place in enumerate(places)]
        if len(descent.record):
            copies.append(_copy(self._watching_words, descent.watching))
            copies.append(_copy(self.company.present, descent.present))
        self.company.constants = np.array(copies, np.int64).reshape(-1, 3)
        self._list_lines()


class SharedStage:
    """A common model with the companies that use it.

    program    the call of `march_stage`
    size       worlds of a company
    """

    def __init__(self, common: Common) -> None:
        self._common, self.size, self._first = common, len(common.bodies), [_kept(a) for a in common.arrays]
        self._constant: list[int] | None = None
        self.companies: list[Companions] = []
        self._varying: set[int] = set()
        self._program, none = Program(), np.zeros(0, np.int64)
        self.stage = Stage(words=none, calls=none, fetches=none, wanted=none)
        self.program = Program()
        self.program.add(march_stage, self.stage, 0)
        self.program.add(fetch, np.zeros((0, 2), np.int64))

    def take_on(self, worlds: Sequence[Simulation], marches: Sequence[March], common: Common) -> bool:
        """Have a company of worlds, of which this is a common model, march here; False if it does not fit."""
        mine, new = self._common.arrays, common.arrays
        if [(a.shape, a.dtype) for a in mine] != [(a.shape, a.dtype) for a in new]:
            return False
        company = Companions(worlds, self._common)
        company.take_in(enumerate(marches))
        if self._constant is None:
            company.company.together.descent.present.fill(0)  # books of worlds are not for rehearsals
            rehearse(company.company)
            pairs = enumerate(zip(self._first, mine, strict=True))
            self._constant = [k for k, (before, now) in pairs if before.tobytes() == now.tobytes()]
        for k in self._constant if common is not self._common else []:
            if self._first[k].tobytes() != new[k].tobytes():
                if not mine[k].flags.c_contiguous or mine[k].itemsize != 8:
                    return False
                company.own[k] = _kept(new[k])
        self._varying |= company.own.keys()
        self.companies.append(company)
        self._program = Program()
        self.stage.calls = np.array([self._program.add(march_together, c.company, 0) for c in self.companies])
        self.stage.fetches = np.array([self._program.add(fetch_company, c.company) for c in self.companies])
        self._steps_at = [self._program.argument(place, 1) for place in self.stage.calls.tolist()]
        self.stage.words, self.stage.wanted = self._program.words(), np.zeros(len(self.companies), np.int64)
        first = dict(enumerate(self._first))
        for c in self.companies:
            c.bring(sorted(self._varying), first)
        return True

    def want(self, number: int, steps: int) -> None:
        """Have a company take so many steps in the next march."""
        self.stage.wanted[number] = 1
        self.stage.words[self._steps_at[number]] = steps
