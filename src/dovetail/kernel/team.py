"""A team: threads that wait for chunks of a kernel's work, and run them as compiled code, without Python in between.

A job is a call of a kernel (program.py) and the bounds of its chunks, in words that all threads share. Whoever works on
it takes one chunk after the other: the caller, and helpers that are awake. Nobody waits for one that has not begun.

Each thread has a share of the chunks, always the same one, and takes the last chunks of others when it is done with
that: what a thread has written in one phase it mostly reads itself in the next. Between two processors a line of the
cache takes 150 ns, as long as a contact.

A helper waits for the next job awake for as long as it has worked so far, twice, and then sleeps: waking it up takes as
long as a chunk, and processors that only wait are no use to anyone. Where others take the processor meanwhile, it
sleeps at once: the system prefers those that it wakes up.
"""

from __future__ import annotations

import threading
from struct import pack_into as pack
from typing import Any

import numpy as np

from dovetail.kernel.kernel import kernel, mapped
from dovetail.kernel.program import RESULT, attempt
from dovetail.kernel.record import Record, i8, integer
from dovetail.kernel.spin import add, load, now, pass_time, relax, store
from dovetail.typing import Indices

__all__ = ["MOST", "ROOM", "SPAN", "SPARE", "Crew", "Team", "drive", "drive_phases", "run_chunks"]

SPAN = 4
"""Words of a span, at most."""

MOST = 32
"""Chunks of one job: enough for the last ones of many threads to end together."""

_PHASES = 8  # jobs that follow each other, at most
_TOLD = 3 * _PHASES  # words that say what they are, before those for what they tell

# what threads share; what they write while others look at it is in lines of the cache of its own
_JOB, _BUSY, _FAILED = 0, 8, 16  # number, odd while open; helpers at work; who has failed
_SHARES, _PHASE, _SIZE, _SPAN, _HELPERS, _END, _VERSION = 32, 33, 34, 35, 36, 37, 38
_BOUNDS, _RESULTS = 40, 80
_SHARE = 120  # chunks of each share that nobody has taken: the first, and _UPPER times the one behind the last
_LINE, _MOST_SHARES = 8, 16
_CALL = _SHARE + _LINE * _MOST_SHARES
_UPPER = 1 << 32
ROOM = 500
"""Words of a call, at most."""
SPARE = 72
"""Of these, after a call: what its thunk may read beyond it."""
_OWN = ROOM + 8  # words that each thread has for itself: the call, and after it
_TIME, _CREDIT, _WORKED, _WAITED = ROOM, ROOM + 2, ROOM + 3, ROOM + 4  # [ns] but the first two, room for the clock
_KNOWN = ROOM + 5  # version of the call that it has
_LOOKS = 40  # between which a thread that waits does not let others have the processor: half a microsecond

_EARNED = 2  # [ns] that a helper may wait for one that it has worked
_FIRST, _LONGEST = 50_000, 10_000_000  # [ns] that it waits after it was woken up, and at most
_TAKEN = 500_000  # [ns] between two looks: others have the processor, which the system itself has for some 10 µs


@kernel
def _take(shared: Indices, share: int, is_own: bool) -> int:
    """The first chunk that is left of one's own share, or the last one of another; −1 where there is none."""
    left = add(shared, _SHARE + _LINE * share, 1 if is_own else -_UPPER)
    first, last = left & (_UPPER - 1), (left >> 32) - 1
    if first > last:
        return -1
    return first if is_own else last


@kernel
def _work(shared: Indices, own: Indices, number: int) -> None:
    """Take chunks of the job until none is left; a call is a copy of one's own, with the span in its last words."""
    span, shares = shared[_SPAN], shared[_SHARES]
    if own[_KNOWN] != shared[_VERSION]:
        own[_KNOWN] = shared[_VERSION]
        for k in range(shared[_SIZE]):
            own[k] = shared[_CALL + k]
    for other in range(shares):
        share = (number + other) % shares
        part = _take(shared, share, other == 0)
        while part >= 0:
            own[span], own[span + 1], own[span + 2] = part, shared[_BOUNDS + part], shared[_BOUNDS + part + 1]
            own[span + 3] = shared[_PHASE]
            if attempt(own, 0) != 0:
                own[_KNOWN] = -1  # of which the first word tells so now
                store(shared, _FAILED, part)
                for each in range(shares):
                    store(shared, _SHARE + _LINE * each, 0)
            shared[_RESULTS + part] = own[RESULT]
            part = _take(shared, share, other == 0)


@mapped
def drive(shared: Indices, own: Indices, program: Indices, bounds: Indices, job: tuple[int, ...]) -> int:
    """Run a call for some chunks; −1, or the number of one that has failed.

    `job` is how many items are cut into how many chunks, unless there are bounds, how many helpers there may be, the
    phase, and which chunks to run.
    """
    items, parts, helpers, phase, first, last = job
    is_new = shared[_SIZE] != len(program)
    for k in range(len(program)):
        if shared[_CALL + k] != program[k]:
            shared[_CALL + k] = program[k]
            is_new = True
    if is_new:  # else threads have it: one phase follows the other
        shared[_VERSION] += 1
    for k in range(parts + 1):
        shared[_BOUNDS + k] = bounds[k] if len(bounds) else k * items // parts
    shares = min(1 + helpers, _MOST_SHARES)
    shared[_SHARES], shared[_PHASE], shared[_SIZE] = shares, phase, len(program)
    shared[_SPAN], shared[_HELPERS] = len(program) - SPAN, helpers
    store(shared, _FAILED, -1)
    for k in range(shares):
        begin, end = first + k * (last - first) // shares, first + (k + 1) * (last - first) // shares
        store(shared, _SHARE + _LINE * k, _UPPER * end + begin)
    add(shared, _JOB, 1)
    _work(shared, own, 0)
    add(shared, _JOB, 1)
    look = 0
    while load(shared, _BUSY) > 0:
        look += 1
        if look % _LOOKS:
            relax()
        else:
            pass_time(own, _TIME)
    return load(shared, _FAILED)


@mapped
def drive_phases(shared: Indices, own: Indices, program: Indices, jobs: Indices, count: int, helpers: int) -> int:
    """Run a call for one job after the other; jobs has items, chunks and phase of each, then ← the most it returns.

    −1, or MOST for each job before the one that has failed, and its chunk.
    """
    even = jobs[:0]
    for k in range(count):
        items, parts, phase = jobs[3 * k], jobs[3 * k + 1], jobs[3 * k + 2]
        failed = drive(shared, own, program, even, (items, parts, min(helpers, parts - 1), phase, 0, parts))
        if failed >= 0:
            return k * MOST + failed
        most = shared[_RESULTS]
        for part in range(1, parts):
            most = max(most, shared[_RESULTS + part])
        jobs[_TOLD + k] = most
    return -1


class Crew(Record):
    """A call that a kernel is to run for chunks, in one phase after the other; see `drive`."""

    shared: Indices = i8(1)
    own: Indices = i8(1)
    program: Indices = i8(1)
    bounds: Indices = i8(1)
    helpers: int = integer()


@kernel
def run_chunks(crew: Crew, phase: int, first: int, last: int) -> int:
    """`drive` from within a kernel; one chunk alone is the caller's."""
    helpers = crew.helpers if last - first > 1 else 0
    job = (0, len(crew.bounds) - 1, helpers, phase, first, last)
    return drive(crew.shared, crew.own, crew.program, crew.bounds, job)


@mapped
def _serve(shared: Indices, own: Indices, number: int) -> None:
    """Help with jobs, until there was none for long enough."""
    own[_CREDIT] = _FIRST
    done, begin = 0, now(own, _TIME)
    time = begin
    while load(shared, _END) == 0:
        for _ in range(_LOOKS):
            job = load(shared, _JOB)
            if job & 1 and job != done:
                break
            relax()
        if job & 1 and job != done and number < load(shared, _HELPERS):
            # either the caller sees this thread, and waits for it, or this thread that the job is over
            add(shared, _BUSY, 1)
            time = now(own, _TIME)
            own[_WAITED] += time - begin
            own[_CREDIT] -= time - begin
            begin = time
            done = load(shared, _JOB)
            if done & 1 and number < load(shared, _HELPERS):
                _work(shared, own, number + 1)
                time = now(own, _TIME)
                own[_WORKED] += time - begin
                own[_CREDIT] = min(_LONGEST, own[_CREDIT] + _EARNED * (time - begin))
                begin = time
            add(shared, _BUSY, -1)
            continue
        before, time = time, pass_time(own, _TIME)
        if time - before > _TAKEN:
            time = before
            break
        if time - begin > own[_CREDIT]:
            break
    own[_WAITED] += time - begin


class _Helper:
    """A thread of a team."""

    def __init__(self, shared: Indices, number: int) -> None:
        self._shared, self._number, self.own = shared, number, np.zeros(_OWN, np.int64)
        self._wake, self._asleep = threading.Event(), False
        self.thread = threading.Thread(target=self._run, name=f"dovetail-{number + 1}", daemon=True)
        self.thread.start()

    def wake(self) -> None:
        """Have it look for jobs; whether it sleeps is its own word, so that no call, and no Ctrl-C in one, is lost."""
        if self._asleep:
            self._wake.set()

    def _run(self) -> None:
        while not self._shared[_END]:
            _serve(self._shared, self.own, self._number)
            self._asleep = True
            if not self._shared[_END]:
                self._wake.wait()
            self._asleep = False
            self._wake.clear()


class Team:
    """All threads of the process; the lock is held by the one they work for, who may come again if interrupted."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Without helpers: in a fork they stay with the parent."""
        self.lock, self.helpers = threading.RLock(), list[_Helper]()
        self._shared, self._own = self.words = np.zeros(_CALL + ROOM, np.int64), np.zeros(_OWN, np.int64)
        self.jobs = np.zeros(_TOLD + _PHASES, np.int64)
        self._told = {"q": self._shared.data, "d": self._shared.view(np.float64).data}
        self._jobs = self.jobs.data

    def call(self, helpers: int, wakes: bool) -> None:
        """Have so many helpers; those that sleep may be woken up."""
        while len(self.helpers) < helpers:
            self.helpers.append(_Helper(self._shared, len(self.helpers)))
        if wakes:
            for helper in self.helpers[:helpers]:
                helper.wake()

    def say(self, jobs: list[int]) -> Indices:
        """Words for `drive_phases`: items, chunks and phase of each job."""
        pack(f"{len(jobs)}q", self.jobs.data, 0, *jobs)
        return self.jobs

    def results(self, count: int, kind: str) -> list[Any]:
        """What so many chunks of the last job have returned, integers "q", floats "d" or nothing."""
        found: list[Any] = self._told[kind][_RESULTS : _RESULTS + count].tolist() if kind else [None] * count
        return found

    def told(self, jobs: int) -> list[int]:
        """The most that chunks of each of the last jobs have returned."""
        found: list[int] = self._jobs[_TOLD : _TOLD + jobs].tolist()
        return found

    def times(self) -> list[tuple[float, float]]:
        """Seconds that each helper has worked, and has waited awake."""
        return [(1e-9 * float(helper.own[_WORKED]), 1e-9 * float(helper.own[_WAITED])) for helper in self.helpers]

    def end(self) -> None:
        """End all threads."""
        self._shared[_END] = 1
        for helper in self.helpers:
            helper.wake()
        for helper in self.helpers:
            helper.thread.join(1.0)
        self.begin()
