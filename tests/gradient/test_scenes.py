"""Some scenes of benchmarks/gradient_scenes.py, over one step; docs/gradients_compared.md has all, and 50 steps."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "benchmarks" / "gradient_scenes.py"
SPEC = importlib.util.spec_from_file_location("gradient_scenes", PATH)
scenes = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(scenes)

SHORT = [
    "gears, exact and soft, ctr",
    "cross, shaft, thread, plane, bead, ctr",
    "robot arm of 7 joints and a mimic gripper, bdf1",
    "gripper that lifts a cube",
]


def test_there_are_twenty_scenes():
    assert len(scenes.CASES) >= 20 and set(SHORT) <= set(scenes.CASES)


@pytest.mark.parametrize("name", SHORT)
def test_gradients_of_a_step_are_those_of_the_program(name):
    case = scenes.CASES[name]
    errors, bar = scenes.Rollouts(case, 1).errors(), 1e-5 if case.touches else 1e-6
    assert errors.pop("noise") < bar  # else differences tell nothing
    assert max(errors.values()) < bar
