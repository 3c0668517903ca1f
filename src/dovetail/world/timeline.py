"""A world that can go back to where it was, its attributes included: what tapes with checkpoints are recorded on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dovetail import builtin
from dovetail.errors import GradientError
from dovetail.geometry.attribute import AttributeSlot
from dovetail.typing import Array
from dovetail.world.world_state import WorldState

if TYPE_CHECKING:
    from dovetail.world.world import World

__all__ = ["Mark", "WorldTimeline"]


class Mark(NamedTuple):
    """A state of a world, and the attributes that differ from those at the first mark, by their numbers."""

    state: WorldState
    changed: dict[int, Array]


class WorldTimeline:
    """The steps of a world whose scene stays the same."""

    def __init__(self, world: World, check: Callable[[], bool]) -> None:
        """`check` says whether the scene is still the same."""
        self._world, self._check = world, check
        self._slots: list[tuple[AttributeSlot, Array]] = []

    def advance(self) -> None:
        self._world.advance()
        if not self._check():
            raise GradientError("World.rollout: geometries were added or removed; begin a new rollout after that.")

    def mark(self) -> Mark:
        """The present."""
        if not self._slots:
            self._slots = [(slot, slot.values.copy()) for slot in self._attributes()]
        changed = {
            number: slot.values.copy()
            for number, (slot, first) in enumerate(self._slots)
            if not np.array_equal(slot.values, first)
        }
        return Mark(self._world.state(), changed)

    def go_to(self, mark: Mark) -> None:
        """Go to a mark."""
        for number, (slot, first) in enumerate(self._slots):
            wanted = mark.changed.get(number, first)
            if not np.array_equal(slot.values, wanted):
                slot.edit()[...] = wanted
        self._world.restore(mark.state)

    def _attributes(self) -> list[AttributeSlot]:
        """All attributes of the scene that are numbers, and its config."""
        scene = self._world.scene
        acting = [slot.geometry for slot, _ in scene.geometries if slot.geometry.meta.find(builtin.looks_of) is None]
        collections = [each for geometry in acting for _, each in geometry.collections()]
        slots = [each.slot(name) for each in (*collections, scene.config.attributes) for name in each]
        return [slot for slot in slots if slot.values.dtype.kind in "fiub"]
