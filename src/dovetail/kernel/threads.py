"""Threads inside a step: one kernel over chunks of its work, with results that no number of threads changes.

    spans = chunks(len(pairs), 30.0)                 # (part, start, stop), 30 ns for each of the pairs
    counts = map_chunks(_choose, spans, pairs, out)  # [_choose(pairs, out, span) for span in spans]

Which chunks there are depends on the work alone. Each writes what no other one reads or writes, and what they return is
joined in their order: who runs which, and when, is of no consequence. Little work is one chunk, which the caller runs.

The threads wait from the first large step to the end of the process, and all worlds share them; a world that finds them
at work for another runs its chunks by itself. Kernels are `mapped` (kernel.py): they let go of Python's lock.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail.errors import ConfigError
from dovetail.kernel.machine import processors
from dovetail.kernel.spin import WORDS, wait_while

__all__ = [
    "GRAIN",
    "Span",
    "alone",
    "chunks",
    "in_phase",
    "map_chunks",
    "settle",
    "threads_by_default",
    "using",
]

Span = tuple[int, int, int]
"""A chunk: its number, and the items that it begins with and ends before."""

GRAIN = 250.0  # [µs] of work from which on it is cut; finding contacts of a pile of 1,000 in 20 chunks costs 13 % more
_MOST = 32  # chunks of one call: enough for the last ones of many threads to end together
_GIVEN, _BUSY = range(2)  # words of a worker
_PATIENCE = 100_000  # [ns] for a job, or the end of one, before a thread sleeps: most jobs of a step follow sooner
_GET_GOING = 8_000  # [ns] that the first thread leaves Python's lock to the one that gives out the job


class _Setting(threading.local):
    """How many threads the calling one may use, itself included, and the least work of a chunk [µs]."""

    threads: int | None = None
    grain = GRAIN


_setting = _Setting()


class using:  # noqa: N801 - reads as what it does
    """Within this, let `map_chunks` use so many threads, and chunks of so many microseconds; None: as before."""

    def __init__(self, threads: int | None = None, grain: float | None = None) -> None:
        self._wanted = threads, grain

    def __enter__(self) -> None:
        threads, grain = self._wanted
        self._before = before = _setting.threads, _setting.grain
        _setting.threads, _setting.grain = threads or before[0], grain or before[1]

    def __exit__(self, *_: object) -> None:
        _setting.threads, _setting.grain = self._before


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
    tests = os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")
    return max(1, processors() // (int(tests) if tests.isdecimal() and int(tests) else 1))


def chunks(items: int, cost: float) -> list[Span]:
    """Cut so many items, each of which takes `cost` nanoseconds, into chunks: by four, for two and four threads."""
    work = items * cost / (1000.0 * _setting.grain)
    if work < 1.0 or items < 2:
        return [(0, 0, items)]
    parts = min(_MOST, items, 4 * (1 + int(0.5 * work)))
    bounds = [part * items // parts for part in range(parts + 1)]
    return [(part, bounds[part], bounds[part + 1]) for part in range(parts)]


def alone() -> bool:
    """Whether the calling thread runs all chunks by itself."""
    return (_setting.threads or threads_by_default()) == 1


def in_phase(spans: Sequence[Span], phase: int) -> list[tuple[int, int, int, int]]:
    """Chunks for a kernel that has several phases: the last number says which."""
    return [(*span, phase) for span in spans]


def map_chunks(kernel: Callable[..., Any], spans: Sequence[tuple[int, ...]], *arguments: Any) -> list[Any]:
    """[kernel(*arguments, span) for span in spans], by several threads where there are several spans.

    If a chunk raises, no further ones are begun, and that is raised once none runs any more; Ctrl-C likewise.
    """
    if len(spans) == 1:
        return [kernel(*arguments, spans[0])]
    if spans:
        count = _setting.threads or threads_by_default()
        if count > 1 and _team.lock.acquire(blocking=False):
            try:
                return _Job(kernel, spans, arguments).run(_team.helpers(min(count, len(spans)) - 1))
            finally:
                _team.lock.release()
    return [kernel(*arguments, span) for span in spans]


def settle() -> None:
    """Wait until no chunk runs that this thread has begun: it may have been interrupted anywhere."""
    if _team.lock.acquire(blocking=False):
        try:
            _wait(_team.workers)
        finally:
            _team.lock.release()


class _Job:
    """A call of `map_chunks`: whoever works on it takes one chunk after the other."""

    def __init__(
        self, kernel: Callable[..., Any], spans: Sequence[tuple[int, ...]], arguments: tuple[Any, ...]
    ) -> None:
        self.kernel, self.arguments = kernel, arguments
        self.left, self.results = deque(spans), list[Any]([None] * len(spans))
        self.error: BaseException | None = None

    def work(self) -> None:
        """Take chunks until none is left."""
        left, results, kernel, arguments = self.left, self.results, self.kernel, self.arguments
        try:
            while (span := _next(left)) is not None:
                results[span[0]] = kernel(*arguments, span)
        except BaseException as error:
            left.clear()
            self.error = error

    def run(self, helpers: list[_Worker]) -> list[Any]:
        """Have all chunks done, by this thread and by helpers."""
        try:
            for helper in helpers:
                helper.help_with(self)
            self.work()
        finally:
            self.left.clear()
            _wait(helpers)
        if self.error is not None:
            raise self.error
        return self.results


def _next(left: deque[tuple[int, ...]]) -> tuple[int, ...] | None:
    try:
        return left.popleft()
    except IndexError:
        return None


def _wait(workers: Sequence[_Worker]) -> None:
    """Until none of them works; Ctrl-C meanwhile is raised after that."""
    pressed = None
    for worker in workers:
        if worker.words[_BUSY]:
            wait_while(worker.words, -1, _BUSY, 1, _PATIENCE, 0)
        while True:
            try:
                with worker.busy:
                    break
            except KeyboardInterrupt as error:
                pressed = error
    if pressed is not None:
        raise pressed


class _Worker:
    """A thread that waits for jobs to help with: awake for a while, then asleep.

    words are the number of jobs that it was given, and whether it is busy with one; the second is set to 0 where it
    waits, without Python's lock, which the one that waits for it may have then.
    """

    def __init__(self, number: int) -> None:
        self._wake, self.busy = threading.Lock(), threading.Lock()
        self._wake.acquire()
        self._job: _Job | None = None
        self._asleep = self._ends = False
        self._number, self.words = number, np.zeros(WORDS, np.int64)
        self.thread = threading.Thread(target=self._work, name=f"dovetail-{number}", daemon=True)
        self.thread.start()

    def help_with(self, job: _Job | None) -> None:
        """Work on a job; with None, end."""
        self._ends = job is None
        self._job = job
        self.words[_GIVEN] += 1
        if self._asleep and self._wake.locked():  # else it gets up, and finds this
            self._wake.release()

    def _work(self) -> None:
        given = 0
        while not self._ends:
            if not wait_while(self.words, _BUSY, _GIVEN, given, _PATIENCE, self._number * _GET_GOING):
                self._asleep = True
                while self.words[_GIVEN] == given:
                    self._wake.acquire()
                self._asleep = False
            given = int(self.words[_GIVEN])
            with self.busy:
                self.words[_BUSY] = 1
                job, self._job = self._job, None
                if job is not None:
                    job.work()
                    del job  # and what it works on


class _Team:
    """All workers; the lock is held by the one they work for, who may come again if that was interrupted."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Without workers: in a fork they stay with the parent."""
        self.lock, self.workers = threading.RLock(), list[_Worker]()

    def helpers(self, count: int) -> list[_Worker]:
        if not self.workers:
            wait_while(np.zeros(WORDS, np.int64), -1, 0, 1, 0, 0)  # compiled before the first job
        while len(self.workers) < count:
            self.workers.append(_Worker(len(self.workers) + 1))
        return self.workers[:count]

    def end(self) -> None:
        for worker in self.workers:
            worker.help_with(None)
        for worker in self.workers:
            worker.thread.join(1.0)
        self.workers.clear()


_team = _Team()
atexit.register(_team.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_team.begin)
