"""Work that five scenes cost, counted: what no clock can tell on a busy machine. See `benchmarks/counters.py`."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "counters.py"
LEAST = 2  # of counts so small that 5 % is less than one
ALLOWED = 0.05
"""Round-off differs between processors and moves contacts by an iteration here and there; real losses are larger."""


def load():
    spec = importlib.util.spec_from_file_location("counters", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


counters = load()
BASELINE = json.loads(counters.BASELINE.read_text(encoding="utf-8"))


def test_the_baseline_has_every_scene():
    assert sorted(BASELINE) == sorted(counters.SCENES)


@pytest.mark.parametrize("name", counters.SCENES)
def test_a_scene_costs_what_it_did(name):
    """A count that grew is a loss. One that shrank is a gain, to be written down before it can be lost again."""
    now, before = counters.count(name), BASELINE[name]
    assert now.keys() == before.keys()
    slack = {key: max(ALLOWED * value, LEAST) for key, value in before.items()}
    changed = {key: (before[key], now[key]) for key in now if abs(now[key] - before[key]) > slack[key]}
    assert not changed, f"{name}: {changed}; if that is meant, run: python benchmarks/counters.py --renew"
