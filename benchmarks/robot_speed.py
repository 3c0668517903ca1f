"""What a step of 10 ms of a robot costs, contact on: python benchmarks/robot_speed.py

Robots of examples/robots: an arm of seven joints with a gripper, held up by its drives, that moves, and that holds a box;
a quadruped of 13 bodies that falls asleep on nothing: it stands on its feet, and trots. Times are of `advance` alone,
after it has settled: the least and the median of 200, and steps a second of the least.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from small import measured

from dovetail import Sim, World

EXAMPLES = Path(__file__).parents[1] / "examples"
READY = {"shoulder": 0.3, "elbow": 1.8, "wrist": 1.0}  # [rad]


def _arm(moves: bool) -> World:
    """An arm that holds its posture, or swings about it by a sine."""
    sim = Sim()
    sim.ground()
    arm = sim.robot(EXAMPLES / "robots" / "arm7.urdf", q=READY)
    arm.hold()
    start, reach = arm.target.copy(), np.array([0.3] * 7 + [0.0])
    if moves:
        sim.before_step(lambda: setattr(arm, "target", start + reach * np.sin(3.0 * sim.time)))
    sim.step(50)
    return sim.world


def _example(stem: str, seconds: float) -> World:
    """The world of an example after some time."""
    specification = importlib.util.spec_from_file_location(stem, EXAMPLES / f"{stem}.py")
    assert specification is not None and specification.loader is not None
    module: Any = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    sim = module.build()[0]
    sim.step(round(seconds / sim.dt))
    return sim.world


SCENES: dict[str, Callable[[], World]] = {
    "arm, held": lambda: _arm(False),
    "arm, moving": lambda: _arm(True),
    "arm, with a box": lambda: _example("48_urdf_pick_and_place", 1.1),
    "quadruped, standing": lambda: _example("49_quadruped", 0.6),
    "quadruped, trotting": lambda: _example("49_quadruped", 3.8),
}


def main() -> None:
    print(f"{'':20s}  least (ms)  median (ms)  iterations  steps/s")
    for name, build in SCENES.items():
        least, median, iterations = measured(build())
        print(f"{name:20s} {least:11.4f} {median:12.4f} {iterations:11.2f} {1e3 / least:8.0f}", flush=True)


if __name__ == "__main__":
    main()
