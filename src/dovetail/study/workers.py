"""Who runs the cases: processes of our own, or any executor that is given.

Own processes are started afresh (no fork: kernels, threads and locks of this program stay here), leave Ctrl-C to the
parent, and end when it does, however it ends: each of them waits for the end of a pipe that the parent holds open.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any, Protocol

from dovetail.errors import MissingExtra, StudyError
from dovetail.interpreter import safe_start

__all__ = ["Given", "Own", "Submits", "Workers", "ray_executor"]


class Submits(Protocol):
    """All that is needed of an executor; those of the standard library and of dask have it."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]: ...


class Workers(Protocol):
    """`submit` gives work to someone, `room` says how many cases may be ahead, `renew` hears that someone has died."""

    room: int

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]: ...
    def renew(self) -> None: ...
    def close(self) -> None: ...


class Own:
    """A pool of processes, replaced where one of them has died."""

    def __init__(self, run: Callable[..., Any], count: int) -> None:
        _check_sendable(run)
        self.count, self.room = count, 2 * count
        self._start()
        try:
            self._await_answer()
        except BaseException:
            self.close()
            raise

    def _await_answer(self) -> None:
        """Wait until a worker has started; one may have been killed, two are no accident."""
        try:
            self.submit(_here).result()
        except BrokenExecutor:
            self.renew()
            try:
                self.submit(_here).result()
            except BrokenExecutor as error:
                raise StudyError(
                    "sweep: worker processes end before they begin. Each of them imports the script that has started "
                    "them: what is to be done once belongs under `if __name__ == '__main__':`"
                ) from error

    def _start(self) -> None:
        reader, self._life = multiprocessing.Pipe(duplex=False)
        context = multiprocessing.get_context("spawn")
        before = os.environ.get("PYTHONSAFEPATH")
        self._pool = ProcessPoolExecutor(self.count, context, initializer=_live, initargs=(reader, before))

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        with safe_start():  # it starts processes when there is work for them
            return self._pool.submit(function, *arguments)

    def renew(self) -> None:
        self.close()
        self._start()

    def close(self) -> None:
        """End all processes, whatever they are doing."""
        self._life.close()
        self._pool.shutdown(wait=True, cancel_futures=True)


class Given:
    """An executor that is the user's: it is not closed, and what becomes of its workers is its own matter."""

    room = 1000

    def __init__(self, executor: Submits) -> None:
        if not callable(getattr(executor, "submit", None)):
            raise StudyError(
                f"sweep: executor is a {type(executor).__name__}; give something with `submit`, as a "
                "concurrent.futures.Executor, dask's client.get_executor(), dovetail.study.ray_executor()"
            )
        self._executor = executor

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        return self._executor.submit(function, *arguments)

    def renew(self) -> None:
        return

    def close(self) -> None:
        return


def ray_executor(**options: Any) -> Submits:
    """An executor on a ray cluster, which ray.init() has joined before; options are those of ray.remote."""
    try:
        import ray  # type: ignore[import-not-found, unused-ignore]  # no extra of ours
    except ImportError as error:
        raise MissingExtra("ray is not installed; pip install ray") from error

    class OnRay(Executor):
        def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
            remote = ray.remote(**options)(function) if options else ray.remote(function)
            future: Future[Any] = remote.remote(*arguments, **named).future()
            return future

    return OnRay()


def _here() -> None:
    """Nothing to do: a worker that answers has started well."""


def _live(life: Connection, safe_path: str | None) -> None:
    """Begin a worker; `safe_path` is what PYTHONSAFEPATH was before `safe_start`, for processes that cases start."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if safe_path is None:
        os.environ.pop("PYTHONSAFEPATH", None)

    def follow() -> None:
        with contextlib.suppress(EOFError, OSError):
            life.recv()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def _check_sendable(run: Callable[..., Any]) -> None:
    """Refuse what a new process cannot find by its name."""
    name = getattr(run, "__qualname__", repr(run))
    main = sys.modules.get("__main__")
    try:
        ForkingPickler.dumps(run)
    except Exception as error:
        raise StudyError(
            f"sweep: {name} cannot be sent to other processes ({error}); define it at the top level of a module"
        ) from error
    if getattr(run, "__module__", "") == "__main__" and not hasattr(main, "__file__"):
        raise StudyError(f"sweep: {name} is defined at a prompt, where no other process finds it; put it in a file")
