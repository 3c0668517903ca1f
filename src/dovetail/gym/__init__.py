"""Tasks for learning, in which contact and loops decide: Gymnasium environments on `Worlds`.

    import gymnasium

    env = gymnasium.make("dovetail/PegInHole-v0")
    envs = gymnasium.make_vec("dovetail/PegInHole-v0", num_envs=64)

Gymnasium finds the tasks by itself where dovetail is installed; `import dovetail.gym` registers them elsewhere. A task of
your own is a subclass of `Task`. Names are loaded when they are used, since gymnasium asks for the list of tasks while it
is being imported itself.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from dovetail.errors import MissingExtra

if TYPE_CHECKING:
    from dovetail.gym.env import TaskEnv
    from dovetail.gym.task import Task
    from dovetail.gym.vector import TaskVectorEnv

__all__ = ["TASKS", "Task", "TaskEnv", "TaskVectorEnv", "register_tasks"]

TASKS = {
    "Cartpole": "cartpole",
    "Drawer": "drawer",
    "FourBarWalker": "walker",
    "GripperLift": "lift",
    "NutOnBolt": "nut",
    "PegInHole": "peg",
}
"""Classes of tasks, and their modules in `dovetail.gym.tasks`; environments are "dovetail/<class>-v0"."""
_HOMES = {"Task": "task", "TaskEnv": "env", "TaskVectorEnv": "vector"}

if find_spec("gymnasium") is None:
    raise MissingExtra("dovetail.gym needs gymnasium; pip install 'dovetail[gym]'")


def register_tasks() -> None:
    """Tell gymnasium of all tasks; a second time does nothing."""
    from gymnasium.envs.registration import register, registry

    for name, module in TASKS.items():
        if f"dovetail/{name}-v0" not in registry:
            task = f"dovetail.gym.tasks.{module}:{name}"
            register(
                f"dovetail/{name}-v0", entry_point="dovetail.gym.env:TaskEnv", kwargs={"task": task},
                vector_entry_point="dovetail.gym.vector:TaskVectorEnv",
            )  # fmt: skip


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'dovetail.gym' has no attribute '{name}'")
        return getattr(import_module(f"dovetail.gym.{_HOMES[name]}"), name)


if "gymnasium.envs.registration" in sys.modules or "gymnasium" not in sys.modules:
    register_tasks()
