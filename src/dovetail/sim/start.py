"""From a scene to a world that runs it, or an error that says why not."""

from __future__ import annotations

from dovetail.core import Engine, Scene, World
from dovetail.errors import SceneError

__all__ = ["resume", "start"]

_TOLD = 4  # flaws in a message; each names two bodies, where, and what to do


def start(scene: Scene) -> World:
    """An initialised world; SceneError, in one paragraph, where the scene does not pass its sanity checks."""
    world = World(Engine("cpu"))
    world.init(scene)
    if not world.is_valid():
        raise _refusal(world, "start as it is")
    return world


def resume(world: World) -> None:
    """Let a world go on with what was added to its scene and removed from it; SceneError where that does not pass."""
    if not world.resume():
        raise _refusal(world, "go on with what was added or moved")


def _refusal(world: World, what: str) -> SceneError:
    flaws = [line for m in world.sanity_checker().errors().values() for line in m.message().splitlines()]
    more = f" {len(flaws) - _TOLD} more flaws are in the log." if len(flaws) > _TOLD else ""
    return SceneError(f"the scene cannot {what}: {' '.join(' '.join(flaws[:_TOLD]).split())}{more}")
