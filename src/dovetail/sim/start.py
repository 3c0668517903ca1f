"""From a scene to a world that runs it, or an error that says why not."""

from __future__ import annotations

from dovetail.core import Engine, Scene, World
from dovetail.errors import SceneError

__all__ = ["start"]


def start(scene: Scene) -> World:
    """An initialised world; SceneError, in one paragraph, where the scene does not pass its sanity checks."""
    world = World(Engine("cpu"))
    world.init(scene)
    if not world.is_valid():
        flaws = " ".join(message.message() for message in world.sanity_checker().errors().values())
        raise SceneError(f"the scene cannot start as it is: {' '.join(flaws.split())}")
    return world
