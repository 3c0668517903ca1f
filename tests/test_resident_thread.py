"""A thread that waits for work."""

from __future__ import annotations

import gc
import threading

import pytest

from dovetail import ResidentThread


def test_one_function_runs_at_a_time_beside_the_caller():
    worker, hold, seen = ResidentThread(), threading.Event(), []

    def work():
        hold.wait(10)
        seen.append(threading.current_thread() is not threading.main_thread())

    assert worker.is_ready() and worker.post(work)
    assert not worker.is_ready() and not worker.post(lambda: seen.append("never"))
    hold.set()
    assert worker.wait(10) and seen == [True]


def test_an_exception_is_logged_and_the_thread_goes_on(caplog):
    worker = ResidentThread()
    worker.post(lambda: 1 / 0)
    assert worker.wait(10) and "ZeroDivisionError" in caplog.text
    done = []
    assert worker.post(lambda: done.append(1)) and worker.wait(10) and done == [1]
    with pytest.raises(TypeError, match="without arguments"):
        worker.post(3)


def test_the_thread_ends_with_its_object():
    others = set(threading.enumerate())
    worker = ResidentThread()
    (thread,) = set(threading.enumerate()) - others
    del worker
    gc.collect()
    thread.join(10)
    assert not thread.is_alive()
