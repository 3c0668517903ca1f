"""Threads inside a step: one kernel over chunks of its work, with results that no number of threads changes.

    spans = chunks(len(pairs), 30.0)                 # (part, start, stop), 30 ns for each of the pairs
    counts = map_chunks(_choose, spans, pairs, out)  # [_choose(pairs, out, span) for span in spans]

Which chunks there are depends on the work alone. Each writes what no other one reads or writes, and what they return is
joined in their order: who runs which, and when, is of no consequence. Little work is one chunk, which the caller runs.

Several chunks are one call of compiled code (team.py), whatever the number of threads. The threads wait from the first
large step to the end of the process, and all worlds share them; a world that finds them at work for another runs its
chunks by itself. Kernels are `mapped` (kernel.py): they let go of Python's lock.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any
from weakref import ref

import numpy as np
from numba import types

from dovetail.errors import ConfigError
from dovetail.kernel.machine import processors
from dovetail.kernel.program import described, entry, kind_of, types_of
from dovetail.kernel.record import Record
from dovetail.kernel.spin import can_spin
from dovetail.kernel.team import MOST, ROOM, SPAN, SPARE, Crew, Team, drive, drive_phases, run_chunks
from dovetail.typing import Indices

__all__ = [
    "FINE",
    "GRAIN",
    "MOST",
    "Crew",
    "Span",
    "Spans",
    "as_cut",
    "chunks",
    "crew",
    "cut_finely",
    "is_little",
    "map_chunks",
    "map_phases",
    "run_chunks",
    "threads_by_default",
    "using",
]

Span = tuple[int, int, int]
"""A chunk: its number, and the items that it begins with and ends before."""

GRAIN = 500.0  # [µs] of work from which on it is cut: a pile of 125 at rest takes 1.4 times as long in chunks of 100
FINE = 0.1
"""Of it, in steps that are large: threads are awake there."""
_CHUNK = 0.2  # of it: work that is more than four chunks is in chunks of at least half of that
_LIKE = 64  # words: calls of up to so many more integers share a thunk, which hands over what nobody takes
_MANY = 1000  # calls that are known
_WAKES = 150.0  # [µs] of work for which threads are woken up


class Spans(Sequence[Any]):
    """Several chunks of some items; work is how long all take together [µs].

    They are of one size, or have bounds: chunk k has items from bounds[k] up to bounds[k + 1].
    """

    __slots__ = ("bounds", "items", "parts", "work")

    def __init__(self, items: int, parts: int, work: float, bounds: Indices | None = None) -> None:
        self.items, self.parts, self.work = items, parts, work
        self.bounds = _EVEN if bounds is None else bounds

    def __len__(self) -> int:
        return self.parts

    def __getitem__(self, part: Any) -> Any:
        if len(self.bounds):
            return part, int(self.bounds[part]), int(self.bounds[part + 1])
        return range(self.parts)[part], part * self.items // self.parts, (part + 1) * self.items // self.parts


_EVEN: Indices = np.zeros(0, np.int64)


class _Setting(threading.local):
    """How many threads the calling one may use, itself included, and the least work that is cut [µs].

    least: in the present step, see `cut_finely`; is_step: whether there is one, within `using`.
    """

    threads: int | None = None
    grain = least = GRAIN
    is_step = False


_setting = _Setting()


class using:  # noqa: N801 - reads as what it does
    """Within this, let `map_chunks` use so many threads, and chunks of so many microseconds; None: as before."""

    def __init__(self, threads: int | None = None, grain: float | None = None) -> None:
        self._wanted = threads, grain

    def __enter__(self) -> None:
        threads, grain = self._wanted
        self._before = before = _setting.threads, _setting.grain, _setting.least, _setting.is_step
        _setting.threads, _setting.grain = threads or before[0], grain or before[1]
        _setting.least, _setting.is_step = _setting.grain, True

    def __exit__(self, *_: object) -> None:
        _setting.threads, _setting.grain, _setting.least, _setting.is_step = self._before


def threads_by_default() -> int:
    """DOVETAIL_THREADS; else the processors that there are for this process, 1 in a child of a process pool."""
    given = os.environ.get("DOVETAIL_THREADS", "").strip()
    if given:
        if not given.isdecimal() or int(given) < 1:
            raise ConfigError(
                f"DOVETAIL_THREADS: the environment says {given!r}; set it to a whole number from 1 on, or not at all "
                f"to use the {processors()} processors of this process."
            )
        return int(given)
    pool = sys.modules.get("multiprocessing.process")
    if pool is not None and pool.parent_process() is not None:
        return 1
    return processors()


def is_little(work: float) -> bool:
    """Whether so much work [ns] is not worth to be cut by itself."""
    return 1e-3 * work < _setting.grain


def cut_finely(is_large: bool) -> None:
    """Until the present `using` ends: whether a step is large, so that threads are awake and little work is cut too."""
    if _setting.is_step:
        _setting.least = _setting.grain * (FINE if is_large else 1.0)


def chunks(items: int, cost: float, finely: bool = True) -> Sequence[Span]:
    """Cut so many items, each of which takes `cost` nanoseconds, into chunks: by four, for two and four threads.

    Not `finely` where what comes of it outlives the step: large or not, it is cut the same way.
    """
    work, grain = 1e-3 * items * cost, _setting.least if finely else _setting.grain
    if work < grain or items < 2:
        return [(0, 0, items)]
    size = max(grain, _CHUNK * _setting.grain)
    many = 4 * (1 + int(0.5 * work / size)) if work < MOST * size else MOST
    return Spans(items, min(MOST, items, many), work)


def as_cut(spans: Sequence[Span]) -> Sequence[Span]:
    """Chunks that were made before, as one where all of them are too little work in the present step."""
    if type(spans) is Spans and spans.work < _setting.least:  # to ask an abstract class takes a microsecond
        return [(0, 0, spans.items)]
    return spans


def map_chunks(kernel: Callable[..., Any], spans: Sequence[Span], *arguments: Any) -> list[Any]:
    """[kernel(*arguments, span) for span in spans], by several threads where there are several spans.

    What a chunk raises is raised once none runs any more.
    """
    if not (can_spin and type(spans) is Spans and _team.lock.acquire(blocking=False)):
        return [kernel(*arguments, span) for span in spans]
    try:
        call, parts = _known(kernel, arguments, 3), spans.parts
        helpers = _threads(parts, spans.work) - 1
        failed = drive(*_team.words, call.program, spans.bounds, (spans.items, parts, helpers, -1, 0, parts))
        if failed >= 0:
            _raise(kernel, *arguments, spans[failed])
        return _team.results(parts, call.kind)
    finally:
        _team.lock.release()


def map_phases(kernel: Callable[..., Any], phases: Sequence[tuple[Sequence[Span], int]], *arguments: Any) -> list[int]:
    """[max(kernel(*arguments, (*span, phase)) for span in spans) for spans, phase in phases]: one after the other.

    The kernel returns whole numbers, or nothing, and then this is empty. Phases of which one chunk is all, and
    those that are shared, follow each other without Python in between.
    """
    if not (can_spin and _team.lock.acquire(blocking=False)):
        found = [[kernel(*arguments, (*span, phase)) for span in spans] for spans, phase in phases]
        return [max(told) for told in found if told[0] is not None]
    try:
        call, most, work, jobs = _known(kernel, arguments, 4), 1, 0.0, list[int]()
        for spans, phase in phases:
            if type(spans) is Spans:
                most, work = max(most, spans.parts), max(work, spans.work)
                jobs += (spans.items, spans.parts, phase)
            else:
                jobs += (spans[0][2], 1, phase)
        failed = drive_phases(*_team.words, call.program, _team.say(jobs), len(phases), _threads(most, work) - 1)
        if failed >= 0:
            spans, phase = phases[failed // MOST]
            _raise(kernel, *arguments, (*spans[failed % MOST], phase))
        return _team.told(len(phases)) if call.kind else []
    finally:
        _team.lock.release()


def _threads(parts: int, work: float) -> int:
    """How many threads there are for so many chunks and so much work [µs]; they are awake then."""
    threads = min(_setting.threads or threads_by_default(), parts)
    _team.call(threads - 1, work >= _WAKES * _setting.grain / GRAIN)
    return threads


def _raise(kernel: Callable[..., Any], *arguments: Any) -> None:
    """Raise what a chunk has raised."""
    kernel(*arguments)
    raise RuntimeError(f"{kernel.__name__}: chunk {arguments[-1]} has failed, and has not when it was tried again")


@contextmanager
def crew(kernel: Callable[..., Any], spans: Spans, *arguments: Any) -> Iterator[Crew | None]:
    """What `run_chunks` takes to run chunks in one phase after the other, from within a kernel; None where it cannot.

    The spans have bounds.
    """
    if not can_spin:
        yield None
        return
    team = _team if _team.lock.acquire(blocking=False) else Team()
    try:
        threads = min(_setting.threads or threads_by_default(), spans.parts) if team is _team else 1
        team.call(threads - 1, True)
        call, (shared, own) = _known(kernel, arguments, 4), team.words
        found = call.crew
        if found is None or found.shared is not shared or found.bounds is not spans.bounds:
            found = Crew(shared=shared, own=own, program=call.program, bounds=spans.bounds, helpers=threads - 1)
            call.crew = found if team is _team else None
        elif found.helpers != threads - 1:
            found.helpers = threads - 1
        yield found
    finally:
        if team is _team:
            team.lock.release()


class _Call:
    """A call of a kernel in words (program.py) with room for a span at its end.

    kind      of its result, as the words of a memoryview; nothing where none is returned
    numbers   places of the words of arguments that are neither arrays nor records
    crew      what the team has last run it as from within a kernel
    """

    __slots__ = ("crew", "kind", "numbers", "program", "words")

    def __init__(self, words: list[int], kind: str, numbers: list[int]) -> None:
        self.program, self.kind, self.numbers = np.frombuffer(array("q", words), np.int64), kind, numbers
        self.words = memoryview(self.program.data)  # which Python writes to in a third of the time
        self.crew: Crew | None = None


def _known(kernel: Any, arguments: tuple[Any, ...], width: int) -> _Call:
    """A call with a span of so many words.

    Most are made again and again with the same arrays and records, and these stay where they are: calls are known by
    the numbers of these, of which none is given twice. Other arguments are written into it each time.
    """
    try:
        key = (kernel, *[_seen[id(value)][0] if type(value) in _living else kind_of(value) for value in arguments])
        call = _calls.get(key)
    except KeyError:
        call = None
    if call is None:
        return _described(kernel, arguments, width)
    if call.numbers:
        words = described(tuple([value for value in arguments if type(value) not in _living]))[0]
        for place, word in zip(call.numbers, words, strict=True):
            call.words[place] = word
    return call


def _see(value: Any) -> tuple[int, Any, list[int], Any]:
    """Number, kind and words of an array or a record; found once, and forgotten when nobody has it any more.

    It is forgotten without any Python code, in which an interrupt could be raised, and be lost: the place of what is
    gone would still be known, and called with the next array there.
    """
    place = id(value)
    if (found := _seen.get(place)) is not None:
        return found
    lives = None if value is None or type(value) is bool else ref(value, partial(_seen.pop, place))
    _seen[place] = found = next(_count), kind_of(value), described(value)[0], lives
    return found


def _described(kernel: Any, arguments: tuple[Any, ...], width: int) -> _Call:
    """`_known` of a call that was not."""
    kinds, words, numbers, key = [kernel, width], list[int](), list[int](), [kernel]
    for value in arguments:
        first = len(words)
        if isinstance(value, Record):
            _living.add(type(value))
        if type(value) in _living:
            number, kind, told, _ = _see(value)
            key.append(number)
        else:
            kind, told = kind_of(value), described(value)[0]
            key.append(kind)
            numbers += range(first, first + len(told))
        kinds.append(kind)
        words += told
    if (entry := _entries.get(known := tuple(kinds))) is None:
        entry = _entries[known] = _entry(kernel, (*arguments, (0,) * width))
    head, result = entry
    if len(head) + len(words) + SPARE > ROOM:
        raise ValueError(f"a call of {len(head) + len(words)} words is longer than {ROOM - SPARE}; see kernel/team.py")
    if len(_calls) >= _MANY:
        _calls.clear()
    call = _calls[tuple(key)] = _Call([*head, *words, *[0] * SPAN], result, [len(head) + k for k in numbers])
    return call


def _entry(kernel: Any, arguments: tuple[Any, ...]) -> tuple[list[int], str]:
    """The words that a call of a kernel begins with, and the kind of its result."""
    signature, kinds = types_of(arguments), described(arguments)[1]
    if "f" not in kinds:
        kinds += "i" * (-len(kinds) % _LIKE)
    head = entry(kernel, signature, kinds, 0)
    return head, _RESULTS.get(kernel.overloads[signature].signature.return_type, "q")


_RESULTS = {types.float64: "d", types.none: ""}
_living: set[type] = {np.ndarray, type(None), bool}
_seen: dict[int, tuple[int, Any, list[int], Any]] = {}  # by where they are
_count = count()
_calls: dict[tuple[Any, ...], _Call] = {}
_entries: dict[tuple[Any, ...], tuple[list[int], str]] = {}
_team = Team()
atexit.register(_team.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_team.begin)
