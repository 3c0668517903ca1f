"""Kernels compiled by several processes at once, before they are needed.

A task is begun when all that it calls is on disk, where others find it: nothing is compiled twice. Those with the
longest way to go come first. This process compiles as well, and at once, while the others start; they are processes of
their own that run this module and nothing of the user's program. What one of them leaves undone, because it does not
start or ends too early, somebody else compiles.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from numba.core.errors import NumbaError

from dovetail.kernel.kernel import cache_directory
from dovetail.kernel.lean import uncollected
from dovetail.kernel.manifest import Task, tasks
from dovetail.kernel.threads import processors

__all__ = ["missing", "precompile"]

_WORTH = 3.0
"""Seconds of compiling from which on it is worth starting processes."""
_START = "import sys; sys.path[:0] = sys.argv[1:]; from dovetail.kernel.precompile import work; work()"


def missing(wanted: Sequence[Task]) -> list[Task]:
    """Those that are not on disk, with all they call that is not either, callees first."""
    found: dict[int, Task] = {}

    def look(task: Task) -> None:
        if task.number in found or _is_kept(task):
            return
        for n in task.needs:
            look(tasks()[n])
        found[task.number] = task

    for task in wanted:
        look(task)
    return list(found.values())


def _is_kept(task: Task) -> bool:
    try:
        return task.file() is not None
    except Exception:  # of another version of the sources: it is compiled when it is called
        return True


def precompile(ahead: Sequence[Task], tell: Callable[[int], None]) -> None:
    """Compile tasks that are not on disk, callees first; `tell` hears how many are done, also while nothing changes.

    By this process alone where there is one processor, little to do, or no process to be had; where nothing can be
    kept, not at all.
    """
    directory = cache_directory("dovetail.kernel.kernel")
    if directory is None or not _is_writable(directory.parent):
        return
    plan, workers = _Plan(ahead), list[_Worker]()
    # what calls itself otherwise is a program with Python in it, and would start again
    is_python = Path(sys.executable or "").stem.lower().startswith("python")
    if is_python and sum(task.seconds for task in ahead) > _WORTH:
        workers = [_Worker(plan) for _ in range(min(processors(), len(ahead)) - 1)]
    try:
        with uncollected():
            while plan.left:
                task = plan.take(0.2)
                if task is not None:
                    with contextlib.suppress(NumbaError, TypeError):  # of another version of the sources
                        tasks()[task].compile()
                    plan.done(task)
                tell(len(ahead) - plan.left)
    finally:
        for worker in workers:
            worker.end()


def _is_writable(root: Path) -> bool:
    with contextlib.suppress(OSError):
        root.mkdir(parents=True, exist_ok=True)
    return os.access(root, os.W_OK)


class _Plan:
    """Which task is next, for whoever asks."""

    def __init__(self, ahead: Sequence[Task]) -> None:
        self._waits = {task.number: set(task.needs) & {other.number for other in ahead} for task in ahead}
        way = {task.number: task.seconds for task in ahead}
        for task in reversed(ahead):  # from callers to what they call
            for need in self._waits[task.number]:
                way[need] = max(way[need], tasks()[need].seconds + way[task.number])
        self._todo = sorted(way, key=lambda n: -way[n])
        self._change = threading.Condition()
        self.left = len(ahead)

    def take(self, seconds: float | None = None) -> int | None:
        """The next that can be compiled; None if there is none for so long, or nothing is left to do."""
        with self._change:
            self._change.wait_for(lambda: self.left == 0 or self._next() is not None, seconds)
            found = self._next()
            if found is not None:
                self._todo.remove(found)
            return found

    def _next(self) -> int | None:
        return next((n for n in self._todo if not self._waits[n]), None)

    def done(self, task: int) -> None:
        """It is on disk."""
        with self._change:
            self.left -= 1
            for others in self._waits.values():
                others.discard(task)
            self._change.notify_all()

    def undone(self, task: int) -> None:
        """It is for somebody else."""
        with self._change:
            self._todo.insert(0, task)
            self._change.notify_all()


class _Worker:
    """A process that compiles tasks by number, and a thread that gives them to it."""

    def __init__(self, plan: _Plan) -> None:
        self._process: subprocess.Popen[str] | None = None
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, *filter(None, sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                bufsize=1,
            )
            threading.Thread(target=self._give, args=(self._process, plan), daemon=True).start()

    @staticmethod
    def _give(process: subprocess.Popen[str], plan: _Plan) -> None:
        assert process.stdin is not None and process.stdout is not None
        task = None
        with contextlib.suppress(ValueError, OSError):  # closed meanwhile
            while process.stdout.readline():
                if task is not None:
                    plan.done(task)
                task = plan.take()
                if task is None:
                    return
                process.stdin.write(f"{task}\n")
        if task is not None:
            plan.undone(task)

    def end(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(OSError):
                    stream.close()  # type: ignore[union-attr]


def work() -> None:
    """What a worker does: read numbers of tasks, compile them, say so."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who started it, and who ends this
    gc.disable()  # all that it makes it keeps
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    out.write("ready\n")
    for line in sys.stdin:
        task = tasks()[int(line)]
        with contextlib.suppress(Exception):  # of another version of the sources
            task.compile()
            if task.file() is None:
                return  # the disk is full
        out.write(line)
