"""Targets of the drives of many worlds, read and written in one go where they lie in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.sim.coordinate import Coordinate
from dovetail.sim.mechanism import Mechanism
from dovetail.typing import Array, Indices
from dovetail.world.attribute_reader import AttributeReader
from dovetail.world.attribute_writer import AttributeWriter

__all__ = ["Targets"]


class Targets:
    """Of drives that hold positions: what `drive.target` does to each, for all (n, k) at once."""

    def __init__(self, mechanisms: Sequence[Mechanism]) -> None:
        every = [c for mechanism in mechanisms for c in mechanism.coordinates]
        self._shape = len(mechanisms), len(mechanisms[0])
        self._reader, self._writer = AttributeReader(), AttributeWriter()
        self._gains, self._targets = (self._places(every, name) for name in ("stiffness", "target"))
        self._into, self._speeds = (
            np.concatenate([self._writer.ask([c.joint.attributes], c.named(f"drive/{name}")) for c in every])
            for name in ("target", "target_velocity")
        )

    def _places(self, every: list[Coordinate], name: str) -> Indices:
        return np.concatenate([self._reader.ask(c.joint.attributes, c.named(f"drive/{name}")) for c in every])

    @staticmethod
    def fit(mechanisms: Sequence[Mechanism]) -> bool:
        """Whether all coordinates have a drive."""
        return all(c.drive.present for mechanism in mechanisms for c in mechanism.coordinates)

    @property
    def hold(self) -> bool:
        """Whether all drives hold positions now: for others a target changes more than that."""
        self._reader.read()
        return bool((self._reader.values[self._gains] > 0.0).all())

    @property
    def values(self) -> Array:
        """(n, k)"""
        self._reader.read()
        found: Array = self._reader.values[self._targets].reshape(self._shape)
        return found

    @values.setter
    def values(self, rows: Array) -> None:
        self._writer.put(self._into, rows)
        self._writer.put(self._speeds, np.zeros(rows.size))
        self._writer.write()
