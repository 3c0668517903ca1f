"""A thread that waits for work: it computes while a window stays alive.

worker = ResidentThread()
def update():                          # called for every picture
    if worker.is_ready():              # the last step is done
        world.retrieve()
        worker.post(world.advance)
"""

from __future__ import annotations

import queue
import threading
import traceback
from collections.abc import Callable
from typing import Any

from dovetail.logger import Logger

__all__ = ["ResidentThread"]


class ResidentThread:
    """Runs one function at a time beside the caller; an exception in it is logged.

    The thread ends with the program, or when the object is no longer used.
    """

    def __init__(self) -> None:
        self._tasks: queue.SimpleQueue[Callable[[], Any] | None] = queue.SimpleQueue()
        self._idle = threading.Event()
        self._idle.set()
        threading.Thread(target=_work, args=(self._tasks, self._idle), daemon=True).start()

    def post(self, func: Callable[[], Any]) -> bool:
        """Run `func()` in the thread; False, and nothing happens, while it still runs the one before."""
        if not callable(func):
            raise TypeError(f"ResidentThread.post: expected a function without arguments, got {func!r}")
        if not self._idle.is_set():
            return False
        self._idle.clear()
        self._tasks.put(func)
        return True

    def is_ready(self) -> bool:
        """Whether the last function has finished, so that another can be posted."""
        return self._idle.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is ready, at most so long; whether it is."""
        return self._idle.wait(seconds)

    def __del__(self) -> None:
        self._tasks.put(None)


def _work(tasks: queue.SimpleQueue[Callable[[], Any] | None], idle: threading.Event) -> None:
    while (task := tasks.get()) is not None:
        try:
            task()
        except Exception:
            Logger.error(f"ResidentThread: the function raised.\n{traceback.format_exc().rstrip()}")
        finally:
            idle.set()
