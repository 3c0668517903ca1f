"""Screw a nut onto a bolt: a real thread of which flank meets flank, no joint between the two."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dovetail.geometry import AngleAxis
from dovetail.gym.tasks.hand import HandTask, gantry, places, soften
from dovetail.sim import Part
from dovetail.sim.mechanism import Mechanism
from dovetail.sim.sim import Sim
from dovetail.typing import Array, Flags
from dovetail.worlds import Worlds

__all__ = ["NutOnBolt", "thread"]

_PITCH, _CORE, _RIDGE = 0.008, 0.008, 0.011  # [m]: rise a turn; radii of the bolt without and with its thread
_BORE, _TOOTH = 0.012, 0.0088  # [m]: radii of the nut without and with its thread
_FLANK = 0.0015  # [m], half of the thickness of a thread
_SIDES = 16  # parts of a turn
_ABOVE = 0.008  # [m], the middle of the nut above the bolt at first
_DOWN = 0.024  # [m], where it is on: two turns of the thread lower than where it begins


def thread(inner: float, outer: float, start: float, end: float) -> list[Part]:
    """A right-handed thread between two heights [m], in pieces that are convex."""
    count = round((end - start) / _PITCH * _SIDES)
    heights = np.linspace(start, end, count + 1)
    angles = 2.0 * np.pi * heights / _PITCH
    faces = [
        (0, 2, 1), (1, 2, 3), (4, 5, 6), (5, 7, 6), (0, 1, 4), (1, 5, 4), (2, 6, 3), (3, 6, 7), (0, 4, 2), (2, 4, 6),
        (1, 3, 5), (3, 7, 5),
    ]  # fmt: skip
    parts = []
    for k in range(count):
        corners = [
            (radius * np.cos(angles[m]), radius * np.sin(angles[m]), heights[m] + side * _FLANK)
            for m in (k, k + 1)
            for radius in (inner, outer)
            for side in (-1, 1)
        ]
        parts.append(Part.mesh((np.array(corners), np.array(faces))))
    return parts


class NutOnBolt(HandTask):
    """Actions move the nut along x, y, z and about z on soft drives: to the bolt, into the thread, and round.

    Observations: coordinates (sine and cosine of the turn), rates, and how far targets are ahead. Rewarded is how far
    down the nut is.
    """

    actions, observations = 4, 13
    reach, lead = (1e-3, 1e-3, 2e-3, 0.4), (4e-3, 4e-3, 1e-2, 0.8)
    options: ClassVar[dict[str, Any]] = {**HandTask.options, "friction": 0.2}
    camera: ClassVar[dict[str, Any] | None] = {"pos": (0.07, -0.1, 0.05), "look_at": (0, 0, 0)}

    def build(self, sim: Sim, rng: np.random.Generator) -> Mechanism:
        bolt = [Part.cylinder(_CORE, 0.04, pos=(0, 0, -0.02), detail=1), *thread(0.9 * _CORE, _RIDGE, -0.036, -0.002)]
        sim.compound(bolt, fixed=True, color="grey", name="bolt")
        wide = 2.0 * (_BORE + 0.004) * np.tan(np.pi / 6)
        far = _BORE + 0.002
        wall = [
            Part.box((0.004, wide, 0.01), pos=(far * np.cos(a), far * np.sin(a), 0), rot=AngleAxis(a, [0, 0, 1]))
            for a in np.arange(6) * np.pi / 3
        ]
        nut = sim.compound(
            [*wall, *thread(_TOOTH, 1.1 * _BORE, -_PITCH / 2, _PITCH / 2)],
            pos=(0, 0, _ABOVE), mass=0.05, color="orange", name="nut",
        )  # fmt: skip
        wrist = sim.box(0.01, pos=(0, 0, 0.06), mass=0.1, contact=False, name="wrist")
        slides = gantry(sim, wrist, "xyz", 300.0, 10.0)
        turn = sim.revolute(wrist, nut, pos=wrist.pos, axis=(0, 0, 1), drive=0.0, name="turn")
        return sim.mechanism(*slides, soften(turn, 0.5, 0.02))

    def start(self, worlds: Worlds, which: list[int], rngs: list[np.random.Generator]) -> None:
        q = np.zeros((len(which), 4))
        for k, rng in enumerate(rngs):
            q[k, :2], q[k, 3] = rng.uniform(-0.002, 0.002, 2), rng.uniform(-np.pi, np.pi)
        worlds.reset(which, q=q)
        for k, number in enumerate(which):
            worlds.mechanisms[number].target = q[k]

    def observe(self, worlds: Worlds) -> Array:
        q = worlds.q
        turn = q[:, 3:]
        return np.hstack([q[:, :3], np.sin(turn), np.cos(turn), worlds.v, worlds.target - q])

    def judge(self, worlds: Worlds, actions: Array) -> tuple[Array, Flags]:
        done = self.succeeded(worlds)
        return (_ABOVE - places(worlds, "nut")[:, 2]) / _DOWN + 20.0 * done, done

    def succeeded(self, worlds: Worlds) -> Flags:
        return places(worlds, "nut")[:, 2] < _ABOVE - _DOWN
