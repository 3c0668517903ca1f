"""Timers: a tree of merged durations, and nothing at all while switched off."""

from __future__ import annotations

import threading
import time
import timeit

import pytest

from dovetail.timer import Timer


@pytest.fixture(autouse=True)
def fresh():
    Timer.disable_all()
    Timer.report_as_json()
    yield
    Timer.disable_all()
    Timer.report_as_json()


def test_nested_timers_make_a_tree_and_repeated_names_merge():
    Timer.enable_all()
    for _ in range(3):
        with Timer("step"):
            with Timer("solve"):
                time.sleep(0.001)
            with Timer("solve"):
                pass
    with Timer("write"):
        pass
    root = Timer.report_as_json()
    assert set(root) == {"name", "parent", "count", "duration", "children"}
    assert (root["name"], root["parent"], root["count"]) == ("GlobalTimer", "", 1)
    step, write = root["children"]
    assert (step["name"], step["count"], step["parent"]) == ("step", 3, "/GlobalTimer")
    (solve,) = step["children"]
    assert (solve["name"], solve["count"], solve["parent"]) == ("solve", 6, "/GlobalTimer/step")
    # sleep(t) lasts at least t
    assert 0.003 <= solve["duration"] <= step["duration"] <= root["duration"]
    assert write["count"] == 1


def test_a_report_starts_a_new_tree(capsys):
    Timer.enable_all()
    with Timer("step"):
        pass
    Timer.report()
    printed = capsys.readouterr().out
    assert "GlobalTimer" in printed and "  step" in printed and "1 x" in printed
    assert Timer.report_as_json()["children"] == []


def test_switched_off_nothing_is_measured_and_a_running_timer_ends_well():
    with Timer("a"):
        Timer.enable_all()
        with Timer("b"):
            Timer.disable_all()
    assert [child["name"] for child in Timer.report_as_json()["children"]] == ["b"]
    with Timer("c"):
        pass
    assert Timer.report_as_json()["children"] == []


def test_an_exception_passes_and_is_timed():
    Timer.enable_all()
    with pytest.raises(ZeroDivisionError), Timer("a"), Timer("b"):
        1 / 0
    with Timer("c"):
        pass
    assert {child["name"] for child in Timer.report_as_json()["children"]} == {"a", "c"}


def test_threads_nest_on_their_own_in_one_tree():
    Timer.enable_all()

    def work():
        for _ in range(200):
            with Timer("outer"), Timer("inner"):
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (outer,) = Timer.report_as_json()["children"]
    assert outer["count"] == 800 and outer["children"][0]["count"] == 800


def test_a_timer_switched_off_is_cheap():
    def measured():
        with Timer("x"):
            pass

    # about 0.2 µs on the machine it was written on; the best of many short runs ignores other load
    assert min(timeit.repeat(measured, number=1000, repeat=50)) / 1000 < 1e-6
