"""Balance a pole on a cart by pushing the cart: no contact, a first thing to try a learner on."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dovetail.gym.task import Task
from dovetail.sim.mechanism import Mechanism
from dovetail.sim.sim import Sim
from dovetail.typing import Array, Flags
from dovetail.worlds import Worlds

__all__ = ["Cartpole"]

_FORCE, _RAIL, _LEAN = 10.0, 2.4, 0.21  # [N], [m], [rad]


class Cartpole(Task):
    """The action is a force on the cart of at most 10 N; an episode ends 2.4 m from the middle or 0.21 rad off.

    Observations are the place of the cart, the angle of the pole, and their rates; each action is worth 1.
    """

    actions, observations = 1, 4
    dt, horizon = 0.02, 500
    options: ClassVar[dict[str, Any]] = {"contact": False}
    camera: ClassVar[dict[str, Any] | None] = {"pos": (0, -4.5, 1.0), "look_at": (0, 0, 0.4)}

    def build(self, sim: Sim, rng: np.random.Generator) -> Mechanism:
        cart = sim.box((0.4, 0.2, 0.15), mass=1.0, color="grey", name="cart")
        pole = sim.box((0.05, 0.05, 1.0), pos=(0, -0.13, 0.5), mass=0.1, color="orange", name="pole")
        rail = sim.prismatic(None, cart, axis=(1, 0, 0), name="rail")
        hinge = sim.revolute(cart, pole, pos=(0, -0.13, 0), axis=(0, 1, 0), name="hinge")
        return sim.mechanism(rail, hinge)

    def start(self, worlds: Worlds, which: list[int], rngs: list[np.random.Generator]) -> None:
        q, v = np.array([rng.uniform(-0.05, 0.05, (2, 2)) for rng in rngs]).swapaxes(0, 1)
        worlds.reset(which, q=q, v=v)

    def act(self, worlds: Worlds, actions: Array) -> None:
        worlds.effort = np.column_stack([_FORCE * actions[:, 0], np.zeros(len(worlds))])

    def observe(self, worlds: Worlds) -> Array:
        return np.hstack([worlds.q, worlds.v])

    def judge(self, worlds: Worlds, actions: Array) -> tuple[Array, Flags]:
        return np.ones(len(worlds)), ~self.succeeded(worlds)

    def succeeded(self, worlds: Worlds) -> Flags:
        x, lean = np.abs(worlds.q.T)
        up: Flags = (x <= _RAIL) & (lean <= _LEAN)
        return up
