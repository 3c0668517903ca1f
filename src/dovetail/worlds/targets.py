"""Targets of the drives of many worlds, and loads on their joints, written in one go where they lie in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.sim.coordinate import Coordinate
from dovetail.sim.mechanism import Mechanism
from dovetail.typing import Array, Indices
from dovetail.world.attribute_reader import AttributeReader
from dovetail.world.attribute_writer import AttributeWriter

__all__ = ["Loads", "Targets"]


class Targets:
    """What `drive.target` does to drives that hold positions, and `drive.target_velocity` to those that run at speeds,
    for all (n, k) at once.
    """

    def __init__(self, mechanisms: Sequence[Mechanism]) -> None:
        every = [c for mechanism in mechanisms for c in mechanism.coordinates]
        self._shape = len(mechanisms), len(mechanisms[0])
        self._reader, self._writer = AttributeReader(), AttributeWriter()
        self._gains, self._dampings, self._targets = (
            self._places(every, name) for name in ("stiffness", "damping", "target")
        )
        self._velocities = AttributeWriter()
        self._velocity = np.concatenate(
            [self._velocities.ask([c.joint.attributes], c.named("drive/target_velocity")) for c in every]
        )
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
    def run(self) -> bool:
        """Whether all drives run at speeds now."""
        self._reader.read()
        gains, dampings = (self._reader.values[at] for at in (self._gains, self._dampings))
        return bool((gains == 0.0).all() and (dampings > 0.0).all())

    def set_velocities(self, rows: Array) -> None:
        """Of drives that run."""
        self._velocities.put(self._velocity, rows)
        self._velocities.write()

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


class Loads:
    """Torques and forces on joints, for all (n, k) at once."""

    def __init__(self, mechanisms: Sequence[Mechanism]) -> None:
        every = [c for mechanism in mechanisms for c in mechanism.coordinates]
        self._writer = AttributeWriter()
        self._into = np.concatenate([self._writer.ask([c.joint.attributes], c.load_name) for c in every])

    @staticmethod
    def fit(mechanisms: Sequence[Mechanism]) -> bool:
        """Whether all coordinates take loads."""
        return all(c.load is not None for mechanism in mechanisms for c in mechanism.coordinates)

    def write(self, rows: Array) -> None:
        """(n, k)"""
        self._writer.put(self._into, rows)
        self._writer.write()
