"""Kernels compiled by several processes at once, before they are needed.

A task is begun when all that it calls is on disk, where others find it: nothing is compiled twice. Those with the
longest way to go come first. This process compiles as well, and at once, while the others start; they are processes of
their own that run this module and nothing of the user's program. What one of them leaves undone, because it does not
start or ends too early, somebody else compiles.

Kernels that can wait (`spared`) come last. This process goes on without them, and the others end when they have them;
a program that is over by then waits for that, some seconds at most.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from dovetail.kernel.kernel import cache_directory
from dovetail.kernel.lean import uncollected
from dovetail.kernel.machine import helper, processors
from dovetail.kernel.manifest import Task, tasks
from dovetail.kernel.numba_private import NumbaError
from dovetail.kernel.private import UntrustedError, make_folder

__all__ = ["missing", "precompile"]

_WORTH = 3.0
"""Seconds of compiling from which on it is worth starting processes."""
_LAST = 5.0
"""Seconds that a program that is over waits for them at most."""


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


def precompile(ahead: Sequence[Task], tell: Callable[[int], None], behind: Sequence[Task] = ()) -> None:
    """Compile tasks that are not on disk, callees first; `tell` hears how many are done, also while nothing changes.

    By this process alone where there is one processor, little to do, or no process to be had; where nothing can be
    kept, not at all. Tasks behind the others are left to other processes, if there are any.
    """
    directory = cache_directory("dovetail.kernel.kernel")
    if directory is None or not _is_writable(directory.parent):
        return
    plan, workers = _Plan(ahead, behind), list[_Worker]()
    if sum(task.seconds for task in ahead) > _WORTH:
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
    except BaseException:
        plan.give_up()
        raise
    finally:
        for spare in behind if plan.goes_on() else ():
            spare.leave_to(plan.goes_on)
        for worker in workers:
            if plan.goes_on():
                atexit.register(worker.end, plan)
            else:
                worker.end()


def _is_writable(root: Path) -> bool:
    with contextlib.suppress(OSError, UntrustedError):
        make_folder(root)
        return os.access(root, os.W_OK)
    return False


class _Plan:
    """Which task is next, for whoever asks; `left` are those that the process waits for."""

    def __init__(self, ahead: Sequence[Task], behind: Sequence[Task]) -> None:
        every = [*ahead, *behind]
        self._waits = {task.number: set(task.needs) & {other.number for other in every} for task in every}
        way = {task.number: task.seconds for task in every}
        for task in reversed(every):  # from callers to what they call
            for need in self._waits[task.number]:
                way[need] = max(way[need], tasks()[need].seconds + way[task.number])
        self._behind = {task.number for task in behind}
        self._todo = sorted(way, key=lambda n: (n in self._behind, -way[n]))
        self._change = threading.Condition()
        self.left, self._workers, self._process = len(ahead), 0, os.getpid()

    def take(self, seconds: float | None = None, last: bool = False) -> int | None:
        """The next that can be compiled; None if there is none for so long, or nothing is left to do.

        Those that can wait are for others, and the last.
        """
        with self._change:
            self._change.wait_for(lambda: self._is_over(last) or self._next(last) is not None, seconds)
            found = self._next(last)
            if found is not None:
                self._todo.remove(found)
            return found

    def _is_over(self, last: bool) -> bool:
        return self.left == 0 and not (last and self._behind)

    def _next(self, last: bool) -> int | None:
        found = next((n for n in self._todo if not self._waits[n]), None)
        is_last = found in self._behind and self._todo[0] in self._behind
        return found if found not in self._behind or (last and is_last) else None

    def done(self, task: int) -> None:
        """It is on disk."""
        with self._change:
            if task in self._behind:
                self._behind.remove(task)
            else:
                self.left -= 1
            for others in self._waits.values():
                others.discard(task)
            self._change.notify_all()

    def undone(self, task: int) -> None:
        """It is for somebody else."""
        with self._change:
            self._todo.insert(0, task)
            self._change.notify_all()

    def come(self) -> None:
        """There is one more who takes what can wait."""
        with self._change:
            self._workers += 1

    def go(self) -> None:
        """There is one less."""
        with self._change:
            self._workers -= 1

    def give_up(self) -> None:
        """What can wait is not for this plan any more."""
        with self._change:
            self._todo, self._behind = [n for n in self._todo if n not in self._behind], set()
            self._change.notify_all()

    def goes_on(self) -> bool:
        """Whether others are busy with what can wait; not in a copy of the process, which would not hear of it."""
        return bool(self._behind) and self._workers > 0 and self._process == os.getpid()


class _Worker:
    """A process that compiles tasks by number, and a thread that gives them to it."""

    def __init__(self, plan: _Plan) -> None:
        self._process = helper()
        if self._process is not None:
            plan.come()
            threading.Thread(target=self._give, args=(self._process, plan), daemon=True).start()

    def _give(self, process: subprocess.Popen[str], plan: _Plan) -> None:
        assert process.stdin is not None and process.stdout is not None
        task = None
        with contextlib.suppress(ValueError, OSError):  # closed meanwhile
            while process.stdout.readline():
                if task is not None:
                    plan.done(task)
                task = plan.take(last=True)
                if task is None:
                    break
                process.stdin.write(f"{task}\n")
        plan.go()
        if task is not None:
            plan.undone(task)
        with contextlib.suppress(OSError):
            process.stdin.close()  # it ends

    def end(self, plan: _Plan | None = None) -> None:
        """End it, when it has done what is left of a plan: the next run is not to begin with that."""
        until = time.monotonic() + _LAST
        while plan is not None and plan.goes_on() and time.monotonic() < until:
            time.sleep(0.01)
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
