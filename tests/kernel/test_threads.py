"""The team: chunks that depend on the work alone, results in their order, and nothing that outlives a call."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from dovetail.errors import ConfigError
from dovetail.kernel import threads as pool
from dovetail.kernel.kernel import mapped
from dovetail.kernel.machine import processors
from dovetail.kernel.spin import add, can_spin, load
from dovetail.kernel.threads import (
    Span,
    Spans,
    as_cut,
    chunks,
    cut_finely,
    is_little,
    map_chunks,
    map_phases,
    threads_by_default,
    using,
)  # fmt: skip
from dovetail.typing import Array, Indices

compiled = pytest.mark.skipif(not can_spin, reason="chunks are shared as compiled code only")
SLOW = 300_000  # rounds, of some nanoseconds each


@mapped
def work(log: Indices, scale: float, span: Span) -> float:
    """Takes a millisecond; log[part] ← 1."""
    total = 0.0
    for k in range(SLOW):
        total = 0.5 * total + 1.0 / (1.0 + total + k)
    log[span[0]] += 1 if total > 0.0 else 2
    return scale * span[1]


@mapped
def fail(log: Indices, span: Span) -> None:
    log[span[0]] = 1
    if span[0] == 2:
        raise IndexError("chunk 2")


@mapped
def hold(flags: Indices, span: Span) -> int:
    """Wait until a flag is raised; a second one is raised meanwhile."""
    add(flags, 1, 1)
    while load(flags, 0) == 0:
        pass
    return span[0]


@mapped
def numbers(x: Array, parts: tuple[int, float], nothing: None, is_true: bool, span: tuple[int, int, int, int]) -> int:
    """All that kernels take beside records."""
    return int(x[1, 2] + parts[0] + parts[1]) + span[1] + 100 * span[3] + (1000 if is_true and nothing is None else 0)


def spans(count: int = 8) -> Spans:
    return Spans(count, count, 1e6)


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


def test_large_steps_are_cut_finely_until_they_end():
    with using(grain=100.0):
        cut_finely(True)
        assert len(chunks(99, 100.0)) == 1
        assert len(chunks(100, 100.0)) == 4
        assert len(chunks(100, 100.0, finely=False)) == 1
        assert not is_little(1e5) and is_little(0.9e5)  # as if nothing were cut
        with using(2):
            assert len(chunks(100, 100.0)) == 1  # a step of its own
        assert len(chunks(100, 100.0)) == 4
    assert len(chunks(999, 100.0)) == 1


def test_chunks_may_be_of_any_size():
    found = Spans(9, 3, 1.0, bounds=np.array([0, 2, 3, 9]))
    assert list(found) == [(0, 0, 2), (1, 2, 3), (2, 3, 9)]
    log = np.zeros(3, np.int64)
    assert map_chunks(work, found, log, 0.5) == [0.0, 1.0, 1.5]


@compiled
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_results_come_in_the_order_of_chunks_from_no_more_threads_than_asked_for(threads):
    before, log = pool._team.times(), np.zeros(8, np.int64)
    calls, helped = 0, [-1]
    while not calls or (calls < 10_000 and len(helped) < threads - 1):  # until all helpers have had a processor
        calls += 1
        with using(threads):
            assert map_chunks(work, spans(), log, 0.5) == [0.5 * k for k in range(8)]
        worked = [time for time, _ in pool._team.times()]
        helped = [k for k, time in enumerate(worked) if k >= len(before) or time > before[k][0]]
    assert (log == calls).all()  # each chunk once
    assert helped == list(range(threads - 1))


@compiled
def test_arguments_of_all_kinds_arrive():
    x, whole = np.arange(6.0).reshape(2, 3), spans(4)
    given = (x, (10, 20.5), None, True)
    found = [5 + 30 + k + 300 + 1000 for k in range(4)]
    assert map_phases(numbers, [(whole, 3)], *given) == [max(found)]
    assert [numbers(*given, (*span, 3)) for span in whole] == found
    with using(2):
        assert map_phases(numbers, [(whole, 3)], *given) == [max(found)]
        assert map_phases(numbers, [(whole, 3)], x + 1.0, *given[1:]) == [max(found) + 1]
        assert map_phases(numbers, [(whole, 3)], *given[:3], False) == [max(found) - 1000]


@compiled
def test_arrays_that_come_and_go_are_not_taken_for_each_other():
    """Memory of one that is gone is used by the next; more of them than are known at once."""
    for k in range(1200):
        x = np.full((2, 3), float(k))
        assert map_phases(numbers, [(spans(1), 0)], x, (0, 0.0), None, False) == [k]
        assert map_phases(numbers, [(spans(1), 0)], x[:, ::-1].copy(), (1, 0.0), None, False) == [k + 1]


def test_chunks_made_before_are_one_where_they_are_little_work():
    made = Spans(10, 5, 60.0)
    with using(grain=100.0):
        assert as_cut(made) == as_cut([(0, 0, 10)]) == [(0, 0, 10)]
        cut_finely(True)
        assert as_cut(made) is made
    with using(grain=50.0):
        assert as_cut(made) is made


@mapped
def relay(log: Indices, span: tuple[int, int, int, int]) -> int:
    """A phase: log[phase] += the items of a chunk, times what all chunks of the phase before have left."""
    part, start, stop, phase = span
    if phase == 3 and part == 1:
        raise IndexError("chunk 1 of the last phase")
    add(log, phase, (stop - start) * log[phase - 1])
    return phase * 100 + part


@compiled
@pytest.mark.parametrize("threads", [1, 2, 8])
def test_phases_follow_each_other_whether_they_are_cut_or_not(threads):
    whole, cut = [(0, 0, 5)], Spans(30, 6, 1e6)
    for _ in range(20):
        log = np.array([1, 0, 0, 0])
        with using(threads):
            found = map_phases(relay, [(cut, 1), (whole, 2)], log)
        assert found == [105, 200]
        assert log.tolist() == [1, 30, 150, 0]
    log = np.array([1, 0, 0, 0])
    with using(threads), pytest.raises(IndexError, match="chunk 1 of the last phase"):
        map_phases(relay, [(whole, 1), (cut, 2), (cut, 3)], log)
    assert log[:3].tolist() == [1, 5, 150]
    with using(threads):
        assert map_phases(relay, [(whole, 1)], log) == [100]


@pytest.mark.parametrize("threads", [1, 4])
def test_what_a_chunk_raises_reaches_the_caller_and_the_team_goes_on(threads):
    log = np.zeros(32, np.int64)
    with using(threads), pytest.raises(IndexError, match="chunk 2"):
        map_chunks(fail, spans(32), log)
    assert threads > 1 or log.sum() == 3  # none after it was begun
    log[:] = 0
    with using(threads):
        assert len(map_chunks(work, spans(), log, 1.0)) == 8


@compiled
@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals go to the main thread")
def test_an_interrupt_waits_for_the_chunks_of_a_call():
    log, main = np.zeros(32, np.int64), threading.main_thread().ident
    assert main is not None
    with using(3), pytest.raises(KeyboardInterrupt):
        map_chunks(work, spans(32), log, 1.0)  # compiled, and known to take some 30 ms
        timer = threading.Timer(0.005, signal.pthread_kill, (main, signal.SIGINT))
        timer.start()
        map_chunks(work, spans(32), log, 1.0)
        timer.join()
        time.sleep(0.01)
    assert set(log.tolist()) == {2}


@compiled
def test_callers_in_several_threads_do_not_wait_for_each_other():
    """One has the team; the other runs its chunks by itself."""
    flags, log, found = np.zeros(2, np.int64), np.zeros(8, np.int64), []

    def call() -> None:
        with using(2):
            found.append(map_chunks(hold, spans(2), flags))

    map_chunks(hold, spans(2), np.ones(2, np.int64))  # compiled
    other = threading.Thread(target=call)
    other.start()
    while not flags[1]:
        time.sleep(0.001)
    with using(2):
        assert map_chunks(work, spans(), log, 1.0) == list(range(8))
    assert not found
    flags[0] = 1
    other.join()
    assert found == [[0, 1]]


@compiled
def test_helpers_wait_awake_no_longer_than_twice_what_they_have_worked():
    """Beside 50 µs each time that they are woken up, and half a millisecond between two looks."""
    log = np.zeros(8, np.int64)
    with using(2):
        map_chunks(work, spans(), log, 1.0)
        time.sleep(0.05)
        (worked, waited), *_ = pool._team.times()
        for _ in range(10):
            map_chunks(work, spans(), log, 1.0)
            time.sleep(0.02)  # it sleeps after 10 ms at most
        time.sleep(0.05)
        (worked_then, waited_then), *_ = pool._team.times()
    assert waited_then - waited <= min(2.0 * (worked_then - worked) + 10 * 50e-6, 10 * 10e-3) + 10 * 500e-6
    begin = time.process_time()
    time.sleep(0.1)
    assert time.process_time() - begin < 0.05  # asleep


@compiled
def test_an_array_is_forgotten_without_python_code_in_which_an_interrupt_would_be_lost():
    log, called = np.zeros(8, np.int64), list[str]()
    with using(2):
        map_chunks(work, spans(), log, 1.0)
    place = id(log)
    assert place in pool._seen
    sys.setprofile(lambda frame, event, _: called.append(frame.f_code.co_name) if event == "call" else None)
    del log
    sys.setprofile(None)
    assert place not in pool._seen and not called


@compiled
def test_calls_remember_none_of_their_arguments():
    log = np.zeros(8, np.int64)
    count = sys.getrefcount(log)
    with using(2):
        map_chunks(work, spans(), log, 1.0)
        assert sys.getrefcount(log) == count


PROGRAM = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import numpy as np
from test_threads import spans, work
from dovetail.kernel.threads import map_chunks, threads_by_default, using
def run():
    with using(4):
        return map_chunks(work, spans(), np.zeros(8, np.int64), 1.0) == list(range(8))
assert run()
"""


def child(code: str, **environment: str) -> str:
    known = {k: v for k, v in os.environ.items() if k != "DOVETAIL_THREADS"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore:This process:DeprecationWarning", "-c", PROGRAM + code],
        env={**known, **environment},
        capture_output=True,
        text=True,
        timeout=60,
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


@pytest.mark.parametrize("given", ["0", "-1", "two", "1.5", "²"])
def test_a_number_of_threads_that_is_none_is_refused(given, monkeypatch):
    monkeypatch.setenv("DOVETAIL_THREADS", given)
    with pytest.raises(ConfigError, match=f"DOVETAIL_THREADS: the environment says '{given}'; set it to a whole"):
        threads_by_default()
