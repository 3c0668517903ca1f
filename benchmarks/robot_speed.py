"""What a step of 10 ms of a robot costs, contact on: python benchmarks/robot_speed.py

The Panda of example-robot-data where that is installed, with its meshes as hulls, at rest on its drives and moving.
Robots of examples/robots: an arm of seven joints with a gripper, that rests on its drives, moves, and holds a box;
a quadruped of 13 bodies, four feet on the ground, that stands, and that trots. Targets that move are set by a function
before each step, which is part of it. Times are of `advance` alone: the least and the median of 200, and steps a second
of the least. With DOVETAIL_THREADS=1 it is one thread.
"""

from __future__ import annotations

import importlib.util
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from small import measured

from dovetail import Sim, World

EXAMPLES = Path(__file__).parents[1] / "examples"
READY = {"shoulder": 0.3, "elbow": 1.8, "wrist": 1.0}  # [rad]
PANDA = "robots/panda_description/urdf/panda.urdf"
BENT = {"panda_joint2": -0.8, "panda_joint4": -2.4, "panda_joint6": 1.6, "panda_joint7": 0.8}  # [rad]


def _arm(file: Path, q: dict[str, float], reach: float, moves: bool) -> World:
    """An arm of seven joints with a gripper that holds its posture, or swings about it by a sine [rad]."""
    sim = Sim()
    sim.ground()
    arm = sim.robot(file, q=q, folders=[file.parents[3]], visuals=False)
    arm.hold()
    start, way = arm.target.copy(), reach * (np.arange(len(arm)) < 7)
    if moves:
        sim.before_step(lambda: setattr(arm, "target", start + way * np.sin(3.0 * sim.time)))
    sim.step(50)
    return sim.world


def _dog() -> World:
    """A quadruped that stands, its targets set once."""
    sim = Sim(friction=0.8)
    sim.ground()
    bent = {f"{leg}_{part}": x for leg in ("fl", "fr", "rl", "rr") for part, x in (("thigh", 0.7), ("knee", -1.4))}
    dog = sim.robot(EXAMPLES / "robots" / "quadruped.urdf", pos=(0, 0, 0.326), q=bent, fixed_base=False)
    for joint in dog.joints.values():
        joint.drive.stiffness, joint.drive.damping = 1000.0, 10.0
    dog.hold()
    sim.step(100)
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
    "arm, held": lambda: _arm(EXAMPLES / "robots" / "arm7.urdf", READY, 0.3, False),
    "arm, moving": lambda: _arm(EXAMPLES / "robots" / "arm7.urdf", READY, 0.3, True),
    "arm, with a box": lambda: _example("48_urdf_pick_and_place", 1.1),
    "quadruped, standing": _dog,
    "quadruped, trotting": lambda: _example("49_quadruped", 3.8),
}


def scenes() -> dict[str, Callable[[], World]]:
    """All of them, with the Panda if there is one."""
    found = list(Path(sysconfig.get_paths()["purelib"]).glob(f"*/share/example-robot-data/{PANDA}"))
    pandas = {
        f"Panda, {how}": lambda moves=how == "moving": _arm(found[0], BENT, 0.2, moves) for how in ("held", "moving")
    }
    return (pandas if found else {}) | SCENES


def main() -> None:
    print(f"{'':20s}  least (ms)  median (ms)  iterations  steps/s")
    for name, build in scenes().items():
        least, median, iterations = measured(build())
        print(f"{name:20s} {least:11.4f} {median:12.4f} {iterations:11.2f} {1e3 / least:8.0f}", flush=True)


if __name__ == "__main__":
    main()
