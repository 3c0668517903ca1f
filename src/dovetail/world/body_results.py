"""Transforms of all bodies, into the attributes of their geometries."""

from __future__ import annotations

import numpy as np

from dovetail.geometry.rows import write_transforms
from dovetail.solver.state import State
from dovetail.world.attribute_writer import AttributeWriter
from dovetail.world.lower.bodies import BodyTable

__all__ = ["BodyResults"]


class BodyResults:
    """Writes `transform` of every instance."""

    def __init__(self, table: BodyTable) -> None:
        self._writer = AttributeWriter()
        self._at = self._writer.ask([entry.geometry.instances for entry in table.geometries], "transform")
        self._columns = np.zeros((table.count, 4, 4))  # attributes hold matrices column by column
        self._columns[:, 3, 3] = 1.0

    def retrieve(self, state: State) -> None:
        """Write where the bodies are."""
        write_transforms(state.Q, self._columns.swapaxes(1, 2))
        self._writer.put(self._at, self._columns)
        self._writer.write()
