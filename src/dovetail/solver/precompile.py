"""Kernels compiled by several processes at once, before they are needed.

A task is given to a worker when all that it calls is on disk, where the worker finds it: nothing is compiled twice.
Those with the longest way to go come first. Workers are processes of their own that run this module and nothing of the
user's program. What a worker leaves undone, because it does not start or ends too early, is compiled by this process.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from numba.core.errors import NumbaError

from dovetail.solver.kernel import cache_directory
from dovetail.solver.manifest import Task, tasks
from dovetail.solver.threads import processors

__all__ = ["missing", "precompile"]

_WORTH = 3.0
"""Seconds of compiling from which on it is worth starting processes."""
_START = "import sys; sys.path[:0] = sys.argv[1:]; from dovetail.solver.precompile import work; work()"


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

    By this process where there is one processor, little to do, or no process to be had; where nothing can be kept, not
    at all.
    """
    directory = cache_directory("dovetail.solver.kernel")
    if directory is None or not _is_writable(directory.parent):
        return
    rest = {task.number: task for task in ahead}
    count = min(processors(), len(ahead))
    # what calls itself otherwise is a program with Python in it, and would start again
    is_python = Path(sys.executable or "").stem.lower().startswith("python")
    if is_python and count > 1 and sum(task.seconds for task in ahead) > _WORTH:
        said: queue.SimpleQueue[tuple[int, str]] = queue.SimpleQueue()
        workers = [_Worker(said, n) for n in range(count)]
        try:
            _share_out(rest, workers, said, tell)
        finally:
            for worker in workers:
                worker.end()
    for n in list(rest):
        with contextlib.suppress(NumbaError, TypeError):  # of another version of the sources
            rest.pop(n).compile()
        tell(len(ahead) - len(rest))


def _is_writable(root: Path) -> bool:
    with contextlib.suppress(OSError):
        root.mkdir(parents=True, exist_ok=True)
    return os.access(root, os.W_OK)


class _Worker:
    """A process that compiles tasks by number; what it says, and at last that it has ended, goes to a queue."""

    def __init__(self, said: queue.SimpleQueue[tuple[int, str]], number: int) -> None:
        self._said, self._number = said, number
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
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        if self._process is not None:
            assert self._process.stdout is not None
            with contextlib.suppress(ValueError, OSError):  # closed meanwhile
                for line in self._process.stdout:
                    self._said.put((self._number, line.strip()))
        self._said.put((self._number, "end"))

    def give(self, task: int) -> None:
        assert self._process is not None and self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended, as it will be heard
            self._process.stdin.write(f"{task}\n")

    def end(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(OSError):
                    stream.close()  # type: ignore[union-attr]


def _share_out(rest: dict[int, Task], workers: list[_Worker], said: Any, tell: Callable[[int], None]) -> None:
    """Give tasks to workers until all are done, or nobody is left who works; takes out of `rest` what is done."""
    waits = {n: {need for need in task.needs if need in rest} for n, task in rest.items()}
    way = {n: task.seconds for n, task in rest.items()}
    for n in reversed(rest):  # from callers to what they call
        for need in waits[n]:
            way[need] = max(way[need], rest[need].seconds + way[n])
    todo = sorted(rest, key=lambda n: -way[n])
    total, alive, idle = len(rest), set(range(len(workers))), set[int]()
    while alive - idle:  # somebody starts or compiles
        with contextlib.suppress(queue.Empty):
            number, line = said.get(timeout=0.2)
            idle.add(number)
            if line == "end":
                alive.discard(number)
                idle.discard(number)
            elif line != "ready":
                rest.pop(int(line), None)
                for others in waits.values():
                    others.discard(int(line))
            for worker in sorted(idle):
                ready = next((n for n in todo if not waits[n]), None)
                if ready is not None:
                    todo.remove(ready)
                    idle.discard(worker)
                    workers[worker].give(ready)
        tell(total - len(rest))


def work() -> None:
    """What a worker does: read numbers of tasks, compile them, say so."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who started it, and who ends this
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
