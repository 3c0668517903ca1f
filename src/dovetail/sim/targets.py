"""Targets of many drives, set in one go: controllers do so before every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dovetail.typing import Array, Indices
from dovetail.world.attribute_reader import AttributeReader
from dovetail.world.attribute_writer import AttributeWriter

if TYPE_CHECKING:
    from dovetail.sim.coordinate import Coordinate

__all__ = ["Targets"]


class Targets:
    """Those of drives that joints have, at least one."""

    def __init__(self, coordinates: list[Coordinate]) -> None:
        self._gains, self._writer = AttributeReader(), AttributeWriter()
        for c in coordinates:
            self._gains.ask(c.joint.attributes, c.named("drive/stiffness"))
        asked = [[self._ask(c, name) for c in coordinates] for name in ("target", "target_velocity")]
        self._at = np.concatenate(asked[0])  # velocities stay 0

    def _ask(self, coordinate: Coordinate, name: str) -> Indices:
        return self._writer.ask([coordinate.joint.attributes], coordinate.named(f"drive/{name}"))

    def put(self, targets: Array) -> bool:
        """Hold positions (n,); False where nothing was set, for a drive does not hold a position yet."""
        self._gains.read()
        if not self._gains.values.min() > 0.0:
            return False
        self._writer.put(self._at, targets)
        self._writer.write()
        return True
