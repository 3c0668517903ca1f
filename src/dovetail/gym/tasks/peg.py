"""Put a square peg into a hole that is half a millimetre wider, and whose place is known to a millimetre only."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dovetail.gym.tasks.hand import HandTask, gantry, places, soften
from dovetail.sim import Part
from dovetail.sim.mechanism import Mechanism
from dovetail.sim.sim import Sim
from dovetail.typing import Array, Flags
from dovetail.worlds import Worlds

__all__ = ["PegInHole"]

_PEG, _HOLE, _LENGTH = 0.02, 0.0205, 0.06  # [m]
_DEEP = 0.015  # [m], where it is in
_ABOVE = 0.005
_GUESS = 1e-3  # [m] by which the place of the hole may be off


class PegInHole(HandTask):
    """Actions move the peg along x, y, z and about z; the drives are soft, so that the hole can be felt.

    Observations: coordinates, their rates, how far targets are ahead of them (which is the force felt), and where the
    hole is believed to be. Rewarded are depth and being above the hole.
    """

    actions, observations = 4, 14
    reach, lead = (1e-3, 1e-3, 2e-3, 0.02), (5e-3, 5e-3, 1e-2, 0.1)
    options: ClassVar[dict[str, Any]] = {**HandTask.options, "friction": 0.2}
    camera: ClassVar[dict[str, Any] | None] = {"pos": (0.12, -0.2, 0.15), "look_at": (0, 0, 0.02)}

    def build(self, sim: Sim, rng: np.random.Generator) -> Mechanism:
        middle, width = 0.5 * (_HOLE + _PEG), _HOLE + 2 * _PEG
        walls = [
            Part.box((_PEG, width, 0.03), pos=(middle, 0, 0)), Part.box((_PEG, width, 0.03), pos=(-middle, 0, 0)),
            Part.box((_HOLE, _PEG, 0.03), pos=(0, middle, 0)), Part.box((_HOLE, _PEG, 0.03), pos=(0, -middle, 0)),
        ]  # fmt: skip
        sim.compound(walls, pos=(0, 0, -0.015), fixed=True, color="grey", name="block")
        wrist = sim.box(0.02, pos=(0, 0, _ABOVE + _LENGTH + 0.02), mass=0.1, contact=False, name="wrist")
        peg = sim.box((_PEG, _PEG, _LENGTH), pos=(0, 0, _ABOVE + _LENGTH / 2), color="orange", name="peg")
        slides = gantry(sim, wrist, "xyz", 1000.0, 30.0)
        turn = sim.revolute(wrist, peg, pos=wrist.pos, axis=(0, 0, 1), drive=0.0, name="turn")
        return sim.mechanism(*slides, soften(turn, 2.0, 0.02))

    def prepare(self, worlds: Worlds) -> None:
        self._guess = np.zeros((len(worlds), 2))

    def start(self, worlds: Worlds, which: list[int], rngs: list[np.random.Generator]) -> None:
        q = np.zeros((len(which), 4))
        for k, rng in enumerate(rngs):
            q[k, :2], q[k, 3] = rng.uniform(-0.004, 0.004, 2), rng.uniform(-0.1, 0.1)
            self._guess[which[k]] = rng.uniform(-_GUESS, _GUESS, 2)
        worlds.reset(which, q=q)
        for k, number in enumerate(which):
            worlds.mechanisms[number].target = q[k]

    def observe(self, worlds: Worlds) -> Array:
        q = worlds.q
        return np.hstack([q, worlds.v, worlds.target - q, self._guess])

    def judge(self, worlds: Worlds, actions: Array) -> tuple[Array, Flags]:
        place, turn = places(worlds, "peg"), worlds.q[:, 3]
        depth = np.clip(_LENGTH / 2 - place[:, 2], 0.0, _DEEP)
        aside = np.hypot(place[:, 0], place[:, 1])
        done = self.succeeded(worlds)
        return depth / _DEEP - aside / 0.01 - np.abs(turn) + 20.0 * done, done

    def succeeded(self, worlds: Worlds) -> Flags:
        return places(worlds, "peg")[:, 2] < _LENGTH / 2 - _DEEP
