"""Scenes for sanity checks, and what these find in them."""

from __future__ import annotations

from contact_scenes import BOX, Stage

from dovetail.core import SanityCheckResult

__all__ = ["Error", "Success", "findings", "pair"]

Success, Error = SanityCheckResult.Success, SanityCheckResult.Error


def findings(world) -> dict[int, str]:
    """Texts of the failed checks of a world by their numbers; its state must agree with them."""
    errors = world.sanity_checker().errors()
    assert world.is_valid() == (not errors)
    return {id: message.message() for id, message in errors.items()}


def pair(where=(0.8, 0.1, 0.2), **config) -> Stage:
    """Two unit cubes that overlap by default."""
    stage = Stage(**config)
    stage.add("left", BOX)
    stage.add("right", BOX, [(9, 9, 9), where])
    return stage
