"""The profile of a step: stages exclude each other, add up to the whole, and leave the solver as it was."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def stages():
    path = Path(__file__).parents[2] / "benchmarks" / "stages.py"
    spec = importlib.util.spec_from_file_location("stages", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_inner_stages_do_not_count_for_outer_ones(stages, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "process_time", lambda: now[0])

    def work(seconds, *inner):
        now[0] += seconds
        for call in inner:
            call()

    clock = stages.Clock()
    inner = clock.wrap("inner", lambda: work(2.0))
    clock.wrap("outer", lambda: work(3.0, inner, inner))()
    assert clock.spent == {"inner": 4.0, "outer": 3.0}


def test_stages_add_up_to_the_step_and_the_solver_is_left_as_it_was(stages):
    before = [owner.__dict__[name] for methods in stages.stages().values() for owner, name in methods]
    spent, counts = stages.profile("net 100", 5)
    assert sum(spent.values()) == pytest.approx(counts["ms"])
    assert spent["factor"] > 0 and spent["read-back"] > 0 and counts["iterations"] >= 1
    assert before == [owner.__dict__[name] for methods in stages.stages().values() for owner, name in methods]
    page = stages.render({"net 100": (spent, {**counts, "ms": 10.0})}, quick=False)
    assert "| factor |" in page and page.count("% of a step on average") == 3
