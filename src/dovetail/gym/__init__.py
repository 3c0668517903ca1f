"""Tasks for learning, in which contact and loops decide: Gymnasium environments on `Worlds`.

    import gymnasium
    import dovetail.gym

    env = gymnasium.make("dovetail/PegInHole-v0")
    envs = gymnasium.make_vec("dovetail/PegInHole-v0", num_envs=64)

A task of your own is a subclass of `Task`.
"""

from __future__ import annotations

from importlib.util import find_spec

from dovetail.errors import MissingExtra

if find_spec("gymnasium") is None:
    raise MissingExtra("dovetail.gym needs gymnasium; pip install 'dovetail[gym]'")

from gymnasium.envs.registration import register, registry

from dovetail.gym.env import TaskEnv
from dovetail.gym.task import Task
from dovetail.gym.vector import TaskVectorEnv

__all__ = ["TASKS", "Task", "TaskEnv", "TaskVectorEnv"]

TASKS = {
    "Cartpole": "cartpole",
    "Drawer": "drawer",
    "FourBarWalker": "walker",
    "GripperLift": "lift",
    "NutOnBolt": "nut",
    "PegInHole": "peg",
}
"""Classes of tasks, and their modules in `dovetail.gym.tasks`; environments are "dovetail/<class>-v0"."""

for _name, _module in TASKS.items():
    if f"dovetail/{_name}-v0" not in registry:
        register(
            f"dovetail/{_name}-v0", entry_point="dovetail.gym.env:TaskEnv",
            vector_entry_point="dovetail.gym.vector:TaskVectorEnv",
            kwargs={"task": f"dovetail.gym.tasks.{_module}:{_name}"},
        )  # fmt: skip
