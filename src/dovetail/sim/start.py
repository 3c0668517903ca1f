"""From a scene to a world that runs it, or an error that says why not."""

from __future__ import annotations

from dovetail.core import Engine, Scene, World
from dovetail.errors import SceneError

__all__ = ["start"]

_TOLD = 4  # flaws in a message; each names two bodies, where, and what to do


def start(scene: Scene) -> World:
    """An initialised world; SceneError, in one paragraph, where the scene does not pass its sanity checks."""
    world = World(Engine("cpu"))
    world.init(scene)
    if not world.is_valid():
        flaws = [line for m in world.sanity_checker().errors().values() for line in m.message().splitlines()]
        more = f" {len(flaws) - _TOLD} more flaws are in the log." if len(flaws) > _TOLD else ""
        raise SceneError(f"the scene cannot start as it is: {' '.join(' '.join(flaws[:_TOLD]).split())}{more}")
    return world
