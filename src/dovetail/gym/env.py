"""A task as one environment of Gymnasium."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from dovetail.gym.spaces import camera_of, spaces_of
from dovetail.gym.task import made
from dovetail.typing import Array

__all__ = ["TaskEnv"]


class TaskEnv(gymnasium.Env[Array, Array]):
    """`TaskEnv(task)`: a `Task`, its class, or "module:Class". Equal seeds and actions give equal bits."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 50}  # noqa: RUF012 - gymnasium's own form

    def __init__(self, task: Any, render_mode: str | None = None, width: int = 320, height: int = 240) -> None:
        self.task = made(task)
        self.observation_space, self.action_space = spaces_of(self.task)
        self.metadata = {**self.metadata, "render_fps": round(1.0 / (self.task.dt * self.task.steps))}
        self.render_mode, self._size = render_mode, (width, height)
        self.worlds = self.task.worlds(1)
        self._count = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        self._count = 0
        self.task.restart(self.worlds, [0], [self.np_random])
        return self.task.seen(self.worlds)[0], {"success": False}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        seen, rewards, ended, successes = self.task.advance(self.worlds, np.asarray(action, float)[None])
        self._count += 1
        info = {"success": bool(successes[0])}
        return seen[0], float(rewards[0]), bool(ended[0]), self._count >= self.task.horizon, info

    def render(self) -> Any:
        if self.render_mode is None:
            return None
        return self.worlds[0].picture(*self._size, camera_of(self.task))
