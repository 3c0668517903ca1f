"""Engines on one scene, stepped in turns, each in a process of its own.

A machine that gets busy or warm slows all of them alike, so that ratios of their times mean something.
"""

from __future__ import annotations

import contextlib
import json
import selectors
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dovetail.bench.engines import Entry
from dovetail.interpreter import command, environment, main_of

__all__ = ["Limits", "Outcome", "compare"]

_TURN = 10  # most steps in a turn
_FAREWELL = 10.0  # s that a process has to end by itself
_SHORT = 0.5  # s, what a turn should take
_FIRST = 5.0  # s of a first step, which prepares for others; one that is longer is the only one
_LATE = "does not answer"
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Limits:
    """How long an engine may take for a scene, in seconds: to build it, for steps after the first, to answer at all.

    All build at the same time, and what they have for it begins with the first.
    """

    build: float = 60.0
    steps: float = 30.0
    answer: float = 180.0


@dataclass
class Outcome:
    """What is known of an engine on a scene; `failed` says why it has no figures, or why they end early."""

    engine: str
    failed: str = ""
    built: float = 0.0
    times: list[float] = field(default_factory=list)
    measured: dict[str, Any] = field(default_factory=dict)


class _Worker:
    """A running `dovetail.bench.worker`."""

    def __init__(self, entry: Entry, scene: str, frames: int, limits: Limits) -> None:
        self.outcome = Outcome(entry.name)
        self._frames, self._limits = frames, limits
        wanted = json.dumps({"engine": entry.name, "scene": scene, "frames": frames})
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115  open as long as the worker
        self._process = subprocess.Popen(
            command(main_of("dovetail.bench.worker"), wanted), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self._errors, text=True, env=environment(**_ONE_THREAD),
        )  # fmt: skip

    def wait(self, begin: float) -> None:
        """Until the scene is built, as long as there is time since `begin`."""
        answer = self._answer(max(0.0, begin + self._limits.build - time.monotonic()))
        self.outcome.built = answer.get("built", 0.0)
        if "failed" in answer:
            late = answer["failed"] == _LATE
            self._end(f"not built within {self._limits.build:g} s" if late else answer["failed"])

    @property
    def wants_more(self) -> bool:
        times, limit = self.outcome.times, self._limits.steps
        if self.outcome.failed or len(times) >= self._frames:
            return False
        return sum(times[1:]) < limit and (len(times) != 1 or times[0] < max(_FIRST, 0.5 * limit))

    def turn(self) -> None:
        """Some more steps."""
        times = self.outcome.times
        last = times[-1] if times else _SHORT
        steps = int(np.clip(_SHORT / max(last, 1e-9), 1, min(_TURN, self._frames - len(times))))
        told = self._tell(steps)
        answer = self._answer(self._limits.answer) if told else dict[str, Any](failed=self._last_words())
        if "failed" in answer:
            self._end(answer["failed"])
        else:
            times += answer["times"]

    def end(self) -> None:
        """Ask for the measures; `finish` waits for them."""
        if not self.outcome.failed and not self._tell(0):
            self._end(self._last_words())

    def finish(self) -> Outcome:
        """Measures of what was run."""
        if not self.outcome.failed:
            answer = self._answer(self._limits.answer)
            if "failed" in answer:
                self._end(answer["failed"])
            else:
                self.outcome.measured = answer
                if len(self.outcome.times) < self._frames:
                    done, limit = len(self.outcome.times), self._limits.steps
                    self.outcome.failed = f"stopped after {done} of {self._frames} steps, {limit:g} s were over"
        return self.outcome

    def close(self) -> None:
        """End the process if it still runs."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        try:
            self._process.wait(timeout=_FAREWELL)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()

    def _tell(self, steps: int) -> bool:
        """Say how many steps are wanted; False if nobody listens."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{steps}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return False
        return True

    def _answer(self, seconds: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(seconds):
                return {"failed": _LATE}
        line = self._process.stdout.readline()
        if not line:
            return {"failed": self._last_words()}
        found: dict[str, Any] = json.loads(line)
        return found

    def _last_words(self) -> str:
        code = self._process.wait()
        self._errors.seek(0)
        lines = [line for line in self._errors.read().splitlines() if line.strip()]
        return f"ended with code {code}" + (f": {lines[-1][:200]}" if lines else "")

    def _end(self, why: str) -> None:
        self.outcome.failed = why
        self._process.kill()
        self._process.wait()


def compare(
    scene: str, frames: int, entries: list[Entry], limits: Limits, say: Callable[[str], None] = lambda line: None
) -> list[Outcome]:
    """Run a scene in all engines, in turns; says how long it took to build, to step and to measure."""
    times = [time.monotonic()]
    with contextlib.ExitStack() as stack:
        workers = []
        for entry in entries:
            workers.append(_Worker(entry, scene, frames, limits))
            stack.callback(workers[-1].close)
        for worker in workers:  # they have been building at the same time
            worker.wait(times[0])
        times.append(time.monotonic())
        while any(worker.wants_more for worker in workers):
            for worker in workers:
                if worker.wants_more:
                    worker.turn()
        times.append(time.monotonic())
        for worker in workers:  # nothing is timed any more: they measure at the same time
            worker.end()
        outcomes = [worker.finish() for worker in workers]
    times.append(time.monotonic())
    built, stepped, measured = np.diff(times)
    say(f"    built within {built:.0f} s, stepped for {stepped:.0f} s, measured within {measured:.0f} s")
    return outcomes
