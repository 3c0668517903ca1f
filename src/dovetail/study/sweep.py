"""Run many cases, each once, and keep what comes out.

A case whose worker died is run again, alone, so that one that kills its worker is found and the others do not suffer
for it; after `TRIES` deaths it is written down as failed.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.checked import checked, shown
from dovetail.errors import StudyError
from dovetail.kernel.machine import processors
from dovetail.messages import counted
from dovetail.study.cases import Case, Row, plain, work
from dovetail.study.progress import Progress
from dovetail.study.table import Table
from dovetail.study.workers import Given, Own, Submits, Workers

__all__ = ["TRIES", "sweep"]

TRIES = 3
"""How often a case is tried whose worker dies."""
_ALONE = 60.0
"""Seconds for which the first case has our own processes to itself: it compiles kernels that the others then find."""


@checked(StudyError)
def sweep(
    run: Callable[[Case, np.random.Generator], Any],
    cases: Iterable[Case],
    out: str | os.PathLike[str],
    executor: Submits | None = None,
    *,
    processes: int | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> list[Row]:
    """Call `run(case, rng)` for every case, and return the rows of the table in the order of cases.

    | argument | what it is |
    |---|---|
    | `run` | a function of a module; takes a case and a generator, returns a dict of numbers, texts or lists |
    | `cases` | dicts of parameters, for example of `grid`; all of them, also those that are done |
    | `out` | the table, `study.jsonl`: a line of JSON a case; what is in it already is not run again |
    | `executor` | None for processes of this machine; else anything with `submit`: dask, ray, a pool |
    | `processes` | how many of our own; as many as there are cores |
    | `seed` | case k has `np.random.SeedSequence(seed, spawn_key=(k,))`, wherever it runs |
    | `progress` | a bar; None shows it on terminals |

    A row has the parameters, the results, and `case`, `seed`, `seconds`, `error` (None, or what was raised: the others
    go on). Killed at any moment and called again, it goes on where it was: no case is lost, none is there twice.
    """
    todo = [plain(case, f"case {number}") for number, case in enumerate(cases)]
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise StudyError(f"sweep: seed is {shown(seed)}; give a whole number from 0 on")
    count = processors() if processes is None else processes
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise StudyError(f"sweep: processes is {shown(count)}; give a whole number from 1 on")
    with Table(Path(out), todo, seed) as table:
        ahead = deque(number for number in range(len(todo)) if number not in table.rows)
        if ahead:
            workers: Workers = Own(run, min(count, len(ahead))) if executor is None else Given(executor)
            try:
                show = sys.stderr.isatty() if progress is None else progress
                with Progress(len(todo), table.rows.values(), show) as bar:
                    _Sweep(run, todo, seed, table, workers, bar).run(ahead)
            except KeyboardInterrupt:
                print(f"sweep: stopped; {_kept(table, todo)}", file=sys.stderr)
                raise
            finally:
                workers.close()
        return [table.rows[number] for number in range(len(todo))]


def _kept(table: Table, cases: list[Case]) -> str:
    """How far it has come, and what to do."""
    return f"{len(table.rows):,} of {counted(len(cases), 'case')} are in {table.path}, run it again to go on"


def _dead(error: Exception) -> Future[Row]:
    """The future of work that nobody has taken."""
    future: Future[Row] = Future()
    future.set_exception(error)
    return future


class _Sweep:
    """One call of `sweep` while it runs."""

    def __init__(
        self, run: Callable[..., Any], cases: list[Case], seed: int, table: Table, workers: Workers, bar: Progress
    ) -> None:
        self._run, self._cases, self._seed = run, cases, seed
        self._table, self._workers, self._bar = table, workers, bar
        self._running: dict[Future[Row], int] = {}
        self._deaths: dict[int, int] = {}
        self._suspects: deque[int] = deque()

    def run(self, ahead: deque[int]) -> None:
        if isinstance(self._workers, Own) and self._workers.count > 1:
            self._submit(ahead.popleft())
            self._gather(_ALONE)
        while ahead or self._running or self._suspects:
            if self._suspects and not self._running:
                self._submit(self._suspects.popleft())
            elif not self._suspects:
                while ahead and len(self._running) < self._workers.room:
                    self._submit(ahead.popleft())
            self._gather()

    def _submit(self, number: int) -> None:
        try:
            future = self._workers.submit(work, self._run, number, self._cases[number], self._seed)
        except Exception as error:
            if isinstance(self._workers, Own):  # someone has just died; those that run hear of it below
                self._running[_dead(error)] = number
                return
            said, kept = f"{type(error).__name__}: {error}", _kept(self._table, self._cases)
            raise StudyError(f"sweep: the executor takes no work ({said}); {kept}") from error
        self._running[future] = number

    def _gather(self, seconds: float | None = None) -> None:
        """Take what has ended, waiting for one at least, or so long."""
        if not self._take(wait(self._running, seconds, FIRST_COMPLETED).done):
            return
        if isinstance(self._workers, Own):
            self._take(wait(self._running).done)  # a broken pool gives up all that it was given
        self._workers.renew()

    def _take(self, ended: set[Future[Row]]) -> bool:
        """Write down what has ended; True if a worker died over it."""
        died = False
        for future in ended:
            number = self._running.pop(future)
            error = CancelledError() if future.cancelled() else future.exception()
            if error is None:
                self._add(future.result())
            else:
                died = True
                self._is_dead(number, error)
        return died

    def _is_dead(self, number: int, error: BaseException) -> None:
        self._deaths[number] = self._deaths.get(number, 0) + 1
        if self._deaths[number] < TRIES:
            self._suspects.append(number)
            return
        text = f"its process died {TRIES} times ({type(error).__name__}: {error})"
        self._add({"case": number, "seed": self._seed, **self._cases[number], "error": text, "seconds": None})

    def _add(self, row: Row) -> None:
        self._table.add(row)
        self._bar.add(row)
