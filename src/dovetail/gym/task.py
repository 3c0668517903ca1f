"""What a task is: a machine, what an agent does to it, sees of it, and is rewarded for."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from dovetail.errors import SceneError
from dovetail.sim.mechanism import Mechanism
from dovetail.sim.sim import Sim
from dovetail.typing import Array, Flags
from dovetail.worlds import Worlds

__all__ = ["Task", "made"]


class Task:
    """Base of tasks. All of its methods are about n worlds at once, rows of arrays; an environment alone has n = 1.

    | to be given | |
    |---|---|
    | `actions`, `observations` | how many numbers an agent gives, each from −1 to 1, and sees |
    | `dt`, `steps` | length of a step [s], and steps in an action |
    | `horizon` | actions after which an episode is cut off |
    | `options` | further options of `Sim` |
    | `build(sim, rng)` | makes a world; returns its mechanism, or nothing for all joints |
    | `start(worlds, which, rngs)` | random starts of worlds that are at home, each with its own generator |
    | `act(worlds, actions)` | sets targets or efforts before the steps of an action |
    | `observe(worlds)` | (n, observations) |
    | `judge(worlds, actions)` | rewards (n,), and which worlds have come to an end (n,), reached or lost |
    | `succeeded(worlds)` | which of them have reached their aim (n,), for `info["success"]` |
    | `camera` | arguments of `Camera` for pictures, None to see everything |

    What a task remembers of episodes belongs into arrays made by `prepare(worlds)`.
    """

    actions: int
    observations: int
    dt: float = 0.01
    steps: int = 1
    horizon: int = 200
    options: ClassVar[dict[str, Any]] = {}
    camera: ClassVar[dict[str, Any] | None] = None

    def build(self, sim: Sim, rng: np.random.Generator) -> Mechanism | None:
        raise NotImplementedError

    def prepare(self, worlds: Worlds) -> None:
        """Make room for what is remembered of episodes."""

    def start(self, worlds: Worlds, which: list[int], rngs: list[np.random.Generator]) -> None:
        """Begin episodes; by default at home."""

    def act(self, worlds: Worlds, actions: Array) -> None:
        raise NotImplementedError

    def observe(self, worlds: Worlds) -> Array:
        raise NotImplementedError

    def judge(self, worlds: Worlds, actions: Array) -> tuple[Array, Flags]:
        raise NotImplementedError

    def succeeded(self, worlds: Worlds) -> Flags:
        return np.zeros(len(worlds), bool)

    # --- what environments do with it -----------------------------------------------------------------------

    def worlds(self, n: int) -> Worlds:
        """n worlds of the task. They are equal: what is random is how episodes start."""
        worlds = Worlds(lambda sim, rng: self.build(sim, np.random.default_rng(0)), n, dt=self.dt, **self.options)
        self._settings = [mechanism.settings for mechanism in worlds.mechanisms]
        self.prepare(worlds)
        return worlds

    def restart(self, worlds: Worlds, which: list[int], rngs: list[np.random.Generator]) -> None:
        """Bring worlds home, with the targets and efforts that they were made with, and begin episodes."""
        worlds.reset(which)
        for number in which:
            worlds.mechanisms[number].settings = self._settings[number]
        self.start(worlds, which, rngs)

    def advance(self, worlds: Worlds, actions: Array) -> tuple[Array, Array, Flags, Flags]:
        """Observations, rewards, ends and successes after an action; a world that cannot go on has ended."""
        self.act(worlds, np.clip(actions, -1.0, 1.0))
        worlds.step(self.steps)
        rewards, ended = self.judge(worlds, actions)
        ended = ended.copy()
        ended[list(worlds.failed)] = True
        return self.seen(worlds), np.asarray(rewards, float), ended, self.succeeded(worlds)

    def seen(self, worlds: Worlds) -> Array:
        """Observations within the bounds of their space."""
        found = np.asarray(self.observe(worlds), float)
        if found.shape != (len(worlds), self.observations):
            raise SceneError(
                f"{type(self).__name__}.observe: an array {found.shape}; give one row of {self.observations} numbers "
                f"for each of {len(worlds)} worlds."
            )
        clipped: Array = np.clip(found, -LIMIT, LIMIT).astype(np.float32)
        return clipped


LIMIT = 1e4
"""Bound of observations, in whatever unit: gymnasium asks for a finite one."""


def made(task: Any) -> Task:
    """A task, of itself, its class, or "module:Class"."""
    if isinstance(task, str):
        module, _, name = task.partition(":")
        task = getattr(import_module(module), name)
    found = task() if isinstance(task, type) else task
    if not isinstance(found, Task):
        raise SceneError(f"task = {task!r}; give a subclass of dovetail.gym.Task, or an instance of it.")
    return found
