"""The pool: chunks that depend on the work alone, results in their order, and nothing that outlives a call."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from dovetail.errors import ConfigError
from dovetail.kernel.machine import processors
from dovetail.kernel.threads import chunks, map_chunks, settle, threads_by_default, using


def spans(count: int = 8) -> list[tuple[int, int, int]]:
    with using(grain=1.0):
        return chunks(count, 1000.0)


def slow(span: tuple[int, int, int]) -> tuple[int, str]:
    time.sleep(0.002)
    return span[1], threading.current_thread().name


@pytest.mark.parametrize("items", [0, 1, 2, 31, 32, 33, 1000])
@pytest.mark.parametrize("threads", [1, 3, 8])
def test_chunks_cover_all_items_once_whatever_the_number_of_threads(items, threads):
    with using(threads, 1.0):
        found = chunks(items, 1000.0)
    assert [part for part, _, _ in found] == list(range(max(1, min(items, 32))))  # 1 µs each: as many as may be
    assert [k for _, start, stop in found for k in range(start, stop)] == list(range(items))


def test_little_work_is_one_chunk():
    with using(grain=100.0):
        assert len(chunks(999, 100.0)) == 1
        assert len(chunks(1000, 100.0)) == 4


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_results_come_in_the_order_of_chunks_from_no_more_threads_than_asked_for(threads):
    with using(threads):
        found = map_chunks(slow, spans())
    assert [start for start, _ in found] == list(range(8))
    names = {name for _, name in found}
    assert len(names) <= threads
    assert len(names) > 1 or threads == 1


@pytest.mark.parametrize("threads", [1, 4])
def test_what_a_chunk_raises_reaches_the_caller_once_none_runs(threads):
    begun, running = [], []

    def fail(span):
        begun.append(span[0])
        running.append(span[0])
        time.sleep(0.001)
        running.remove(span[0])
        if span[0] == 2:
            raise IndexError("chunk 2")  # which no list of chunks raises

    with using(threads), pytest.raises(IndexError, match="chunk 2"):
        map_chunks(fail, spans(32))
    assert not running
    assert len(begun) < 32
    with using(threads):
        assert len(map_chunks(slow, spans())) == 8


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals go to the main thread")
def test_an_interrupt_waits_for_chunks_that_run_and_begins_no_others():
    begun, running = [], []

    def work(span):
        begun.append(span[0])
        running.append(span[0])
        time.sleep(0.01)
        running.remove(span[0])
        if threading.current_thread() is threading.main_thread():
            signal.raise_signal(signal.SIGINT)

    with using(3), pytest.raises(KeyboardInterrupt):
        map_chunks(work, spans(32))
    settle()
    assert not running
    assert len(begun) < 32


def test_callers_in_several_threads_do_not_wait_for_each_other():
    """One has the pool; the other runs its chunks by itself."""
    at_work, found = threading.Event(), []

    def hold(span):
        at_work.wait(5.0)
        return span[0]

    def call() -> None:
        with using(2):
            found.append(map_chunks(hold, spans(2)))

    other = threading.Thread(target=call)
    other.start()
    with using(2):
        assert [start for start, _ in map_chunks(slow, spans())] == list(range(8))
    at_work.set()
    other.join()
    assert found == [[0, 1]]


PROGRAM = """
import os, sys, time
from dovetail.kernel.threads import map_chunks, threads_by_default, using
spans = [(k, k, k + 1) for k in range(8)]
def work(span):
    time.sleep(0.001)
    return span[0]
def run():
    with using(4):
        return map_chunks(work, spans) == list(range(8))
assert run()
"""


def child(code: str, **environment: str) -> str:
    known = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_XDIST", "DOVETAIL_THREADS"))}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + code], env={**known, **environment}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout.strip()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork_after_the_pool_has_started_has_threads_of_its_own_and_all_end():
    code = """
child = os.fork()
if child == 0:
    os._exit(0 if run() else 1)
assert os.waitpid(child, 0)[1] == 0 and run()
print("fine")
"""
    assert child(code) == "fine"


def test_children_of_process_pools_use_one_thread_and_other_processes_all_processors():
    code = """
import multiprocessing
with multiprocessing.get_context("fork").Pool(1) as pool:
    print(threads_by_default(), pool.apply(threads_by_default))
"""
    assert child(code) == f"{processors()} 1"
    assert child(code, DOVETAIL_THREADS="3") == "3 3"


def test_workers_of_a_test_run_share_the_processors(monkeypatch):
    monkeypatch.delenv("DOVETAIL_THREADS", raising=False)
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", str(processors()))
    assert threads_by_default() == 1


@pytest.mark.parametrize("given", ["0", "-1", "two", "1.5", "²"])
def test_a_number_of_threads_that_is_none_is_refused(given, monkeypatch):
    monkeypatch.setenv("DOVETAIL_THREADS", given)
    with pytest.raises(ConfigError, match=f"DOVETAIL_THREADS: the environment says '{given}'; set it to a whole"):
        threads_by_default()
