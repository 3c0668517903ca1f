"""A task as many environments at once, stepped together by `Worlds`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from dovetail.gym.spaces import camera_of, spaces_of
from dovetail.gym.task import made
from dovetail.typing import Array, Flags

__all__ = ["TaskVectorEnv"]


class TaskVectorEnv(VectorEnv[Array, Array, Any]):
    """`TaskVectorEnv(task, num_envs)`: environment i after `reset(seed=s)` does what one alone does with seed s + i.

    An environment whose episode has ended begins the next one in the same step: what is returned of it is the first
    observation, and the last one is `infos["final_obs"][i]`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - gymnasium's own form
        "render_modes": ["rgb_array"],
        "render_fps": 50,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self, task: Any, num_envs: int = 1, render_mode: str | None = None, width: int = 320, height: int = 240
    ) -> None:
        self.task = made(task)
        self.num_envs, self.render_mode, self._size = num_envs, render_mode, (width, height)
        self.single_observation_space, self.single_action_space = spaces_of(self.task)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.metadata = {**self.metadata, "render_fps": round(1.0 / (self.task.dt * self.task.steps))}
        self.worlds = self.task.worlds(num_envs)
        self._counts = np.zeros(num_envs, np.int64)
        self._rngs = [np_random()[0] for _ in range(num_envs)]

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed
        for i, one in enumerate(seeds or []):
            if one is not None:
                self._rngs[i] = np_random(one)[0]
        mask = (options or {}).get("reset_mask")
        chosen = np.ones(self.num_envs, bool) if mask is None else np.asarray(mask, bool)
        self._begin(chosen)
        return self.task.seen(self.worlds), self._told(np.zeros(self.num_envs, bool))

    def step(self, actions: Array) -> tuple[Array, Array, Flags, Flags, dict[str, Any]]:
        seen, rewards, ended, successes = self.task.advance(self.worlds, np.asarray(actions, float))
        self._counts += 1
        cut = self._counts >= self.task.horizon
        infos, over = self._told(successes), ended | cut
        if over.any():
            last = np.full(self.num_envs, None, object)
            for i in np.flatnonzero(over):
                last[i] = seen[i]
            infos |= {"final_obs": last, "_final_obs": over, "_final_info": over}
            infos["final_info"] = {"success": successes & over, "_success": over}
            self._begin(over)
            seen = np.where(over[:, None], self.task.seen(self.worlds), seen)
        return seen, rewards, ended, cut, infos

    def _begin(self, chosen: Flags) -> None:
        which = np.flatnonzero(chosen).tolist()
        self.task.restart(self.worlds, which, [self._rngs[i] for i in which])
        self._counts[chosen] = 0

    def _told(self, successes: Flags) -> dict[str, Any]:
        return {"success": successes, "_success": np.ones(self.num_envs, bool)}

    def render(self) -> Any:
        if self.render_mode is None:
            return None
        return tuple(sim.picture(*self._size, camera_of(self.task)) for sim in self.worlds)
