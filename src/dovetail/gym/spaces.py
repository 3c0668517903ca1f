"""Spaces and cameras of tasks."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box

from dovetail.gym.task import LIMIT, Task
from dovetail.picture import Camera

__all__ = ["camera_of", "spaces_of"]


def spaces_of(task: Task) -> tuple[Any, Any]:
    """Of observations and actions."""
    return Box(-LIMIT, LIMIT, (task.observations,), np.float32), Box(-1.0, 1.0, (task.actions,), np.float32)


def camera_of(task: Task) -> Camera | None:
    return None if task.camera is None else Camera(**task.camera)
