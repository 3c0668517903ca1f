"""Hook a finger behind the handle of a drawer and pull it open."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dovetail.gym.tasks.hand import HandTask, gantry, places
from dovetail.sim import Part
from dovetail.sim.mechanism import Mechanism
from dovetail.sim.sim import Sim
from dovetail.typing import Array, Flags
from dovetail.worlds import Worlds

__all__ = ["Drawer"]

_OPEN = 0.12  # [m], where it is open
_FRICTION = 1.0  # [N] in its slide
_GAP = np.array([0.127, 0.0, 0.02])  # [m] behind the handle, from the middle of the drawer; where a finger hooks


class Drawer(HandTask):
    """Actions move a finger along x, y and z. The drawer slides along x on a joint with friction and stops.

    Observations: coordinates, their rates, how far targets are ahead of them, where the handle is from the finger, and
    how far the drawer is open. Rewarded are nearness to the handle and how far the drawer is open.
    """

    actions, observations = 3, 13
    reach, lead = (8e-3, 8e-3, 8e-3), (3e-2, 3e-2, 3e-2)
    camera: ClassVar[dict[str, Any] | None] = {"pos": (0.5, -0.4, 0.4), "look_at": (0.05, 0, 0.1)}

    def build(self, sim: Sim, rng: np.random.Generator) -> Mechanism:
        sim.ground()
        bar = [
            Part.box((0.2, 0.16, 0.08)),
            Part.box((0.06, 0.01, 0.01), pos=(0.13, 0.045, 0)), Part.box((0.06, 0.01, 0.01), pos=(0.13, -0.045, 0)),
            Part.box((0.01, 0.1, 0.01), pos=(0.155, 0, 0)),
        ]  # fmt: skip
        drawer = sim.compound(bar, pos=(-0.1, 0, 0.1), mass=0.5, color="brown", name="drawer")
        sim.prismatic(
            None, drawer, axis=(1, 0, 0), limit=(0.0, 0.15), friction=_FRICTION, damping=1.0, name="drawer slide"
        )
        finger = sim.capsule(0.008, 0.06, pos=(0.12, 0, 0.2), mass=0.2, color="blue", name="finger")
        return sim.mechanism(*gantry(sim, finger, "xyz", 1000.0, 40.0))

    def start(self, worlds: Worlds, which: list[int], rngs: list[np.random.Generator]) -> None:
        q = np.array([rng.uniform(-0.02, 0.02, 3) for rng in rngs])
        worlds.reset(which, q=q)
        for k, number in enumerate(which):
            worlds.mechanisms[number].target = q[k]

    def _opened(self, worlds: Worlds) -> Array:
        return np.array([sim["drawer slide"].distance for sim in worlds])

    def _behind(self, worlds: Worlds) -> Array:
        """From the finger to the gap behind the handle."""
        away: Array = places(worlds, "drawer") + _GAP - places(worlds, "finger")
        return away

    def observe(self, worlds: Worlds) -> Array:
        q = worlds.q
        return np.hstack([q, worlds.v, worlds.target - q, self._behind(worlds), self._opened(worlds)[:, None]])

    def judge(self, worlds: Worlds, actions: Array) -> tuple[Array, Flags]:
        far, opened = np.linalg.norm(self._behind(worlds), axis=1), self._opened(worlds)
        done = self.succeeded(worlds)
        return 2.0 * opened / _OPEN - far / 0.1 + 20.0 * done, done

    def succeeded(self, worlds: Worlds) -> Flags:
        return self._opened(worlds) > _OPEN
