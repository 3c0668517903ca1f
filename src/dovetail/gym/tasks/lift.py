"""Grip a cube with two fingers that mirror each other, and lift it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dovetail.gym.tasks.hand import HandTask, gantry, places, soften
from dovetail.sim.mechanism import Mechanism
from dovetail.sim.sim import Sim
from dovetail.typing import Array, Flags
from dovetail.worlds import Worlds

__all__ = ["GripperLift"]

_CUBE, _PALM = 0.04, 0.11  # [m]: its edge, and how high the palm is at first
_HIGH = 0.08  # [m], where it is lifted


class GripperLift(HandTask):
    """Actions move the palm along x and z, and the fingers, which a coupling keeps even; friction carries the cube.

    Observations: coordinates, their rates, how far targets are ahead of them, and where the cube is from the palm.
    Rewarded are nearness and height.
    """

    actions, observations = 3, 12
    reach, lead = (5e-3, 5e-3, 3e-3), (2e-2, 2e-2, 2e-2)
    camera: ClassVar[dict[str, Any] | None] = {"pos": (0.3, -0.4, 0.25), "look_at": (0, 0, 0.06)}

    def build(self, sim: Sim, rng: np.random.Generator) -> Mechanism:
        sim.ground()
        sim.box(_CUBE, pos=(0, 0, _CUBE / 2 + 1e-4), density=500, color="orange", name="cube")
        palm = sim.box((0.05, 0.14, 0.02), pos=(0, 0, _PALM), mass=0.2, color="grey", name="palm")
        slides = gantry(sim, palm, "xz", 1000.0, 40.0)
        grips = []
        for side in (-1, 1):
            finger = sim.box(
                (0.03, 0.012, 0.07), pos=(0, 0.045 * side, _PALM - 0.05), mass=0.05, color="blue", name=f"finger {side}"
            )
            grips.append(sim.prismatic(palm, finger, axis=(0, -side, 0), limit=(-0.01, 0.04), name=f"grip {side}"))
        sim.couple(grips[1], grips[0], ratio=1.0)
        grips[0].drive.target = 0.0
        return sim.mechanism(*slides, soften(grips[0], 1000.0, 20.0))

    def start(self, worlds: Worlds, which: list[int], rngs: list[np.random.Generator]) -> None:
        for number, rng in zip(which, rngs, strict=True):
            cube = worlds[number]["cube"]
            cube.pos = (rng.uniform(-0.03, 0.03), rng.uniform(-0.008, 0.008), _CUBE / 2 + 1e-4)

    def observe(self, worlds: Worlds) -> Array:
        q = worlds.q
        return np.hstack([q, worlds.v, worlds.target - q, places(worlds, "cube") - places(worlds, "palm")])

    def judge(self, worlds: Worlds, actions: Array) -> tuple[Array, Flags]:
        cube = places(worlds, "cube")
        grip = places(worlds, "palm") - (0, 0, 0.06)
        height = np.clip((cube[:, 2] - _CUBE / 2) / _HIGH, 0.0, 1.0)
        done = self.succeeded(worlds)
        return height - np.linalg.norm(cube - grip, axis=1) / 0.1 + 20.0 * done, done

    def succeeded(self, worlds: Worlds) -> Flags:
        return places(worlds, "cube")[:, 2] > _CUBE / 2 + _HIGH
