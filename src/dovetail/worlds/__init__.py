"""Many worlds of one machine: stepped together, read and driven as arrays, rolled out. Public calls only."""

from __future__ import annotations

from dovetail.worlds.gradients import WorldGradients
from dovetail.worlds.rollouts import Trajectories, rollout
from dovetail.worlds.worlds import Build, Worlds

__all__ = ["Build", "Trajectories", "WorldGradients", "Worlds", "rollout"]
