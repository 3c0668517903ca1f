"""Coordinates that joints report: angles and distances with their offsets, of all joints in a few array operations."""

from __future__ import annotations

import math

import numpy as np

from dovetail.constitution.terms import Angle
from dovetail.typing import Array, Flags, Indices
from dovetail.world.attribute_reader import AttributeReader
from dovetail.world.attribute_writer import AttributeWriter
from dovetail.world.lower.lowered import LoweredJoints

__all__ = ["JointCoordinates"]


def _wrap(angle: Array) -> Array:
    """To (−π, π]."""
    wrapped: Array = math.pi - np.mod(math.pi - angle, 2.0 * math.pi)
    return wrapped


class JointCoordinates:
    """All reported coordinates, geometry by geometry; `multi_turn`: `angle` itself is not wrapped, as in libuipc.

    where    (slot, attribute) of a joint geometry → the first of its numbers; one for each joint follows
    of (m,)  their rows among the solver's coordinates
    """

    def __init__(self, lowered: LoweredJoints, multi_turn: bool) -> None:
        self._coordinates, self._multi_turn = lowered.coordinates, multi_turn
        self.where: dict[tuple[int, str], int] = {}
        self._offsets, self._told, self._writer = AttributeReader(), AttributeReader(), AttributeWriter()
        rows, offset, angle, told, count = [], [], [], [], 0
        words = []
        for k, entry in enumerate(lowered.geometries):
            elements = entry.elements
            for word in entry.kind.coordinates():
                self.where[entry.slot.id(), word.attribute] = count
                count += entry.count
                row = lowered.coordinate_rows[word, k]
                rows.append(np.arange(row.start, row.stop))
                offset.append(self._offsets.ask(elements, word.offset))
                angle.append(np.full(entry.count, isinstance(word, Angle)))
                if isinstance(word, Angle):
                    told.append(self._told.ask(elements, word.attribute))
                words.append((elements, word))
        none = np.zeros(0, np.int64)
        self.of: Indices = np.concatenate([none, *rows])
        self._offset_at, self._told_at = np.concatenate([none, *offset]), np.concatenate([none, *told])
        self._is_angle: Flags = np.concatenate([np.zeros(0, np.bool_), *angle])
        asked = [
            (
                self._writer.ask([elements], word.attribute),
                self._writer.ask([elements], word.velocity),
                self._writer.ask([elements], word.multi_turn) if isinstance(word, Angle) else none,
            )
            for elements, word in words
        ]
        self._value_at, self._rate_at, self._turns_at = (
            np.concatenate([none, *(part[i] for part in asked)]) for i in range(3)
        )
        self._published = np.zeros(count)

    def values(self) -> Array:
        """All of them now (m,) [rad or m], angles over turns."""
        self._offsets.read()
        values: Array = self._coordinates.value[self.of] + self._offsets.values[self._offset_at]
        return values

    def rates(self) -> Array:
        """Their rates (m,) [rad/s or m/s]."""
        rates: Array = self._coordinates.rate[self.of]
        return rates

    def publish(self) -> None:
        """Write them and their rates into the attributes."""
        values = self.values()
        self._writer.put(self._turns_at, values[self._is_angle])
        if not self._multi_turn:
            values[self._is_angle] = _wrap(values[self._is_angle])
        self._writer.put(self._value_at, values)
        self._writer.put(self._rate_at, self.rates())
        self._writer.write()
        self._published = values

    def adopt(self) -> None:
        """Take over angles that a user wrote since they were published, with their winding."""
        if not self._is_angle.any():
            return
        self._offsets.read()
        self._told.read()
        told = self._told.values[self._told_at]
        changed = told != self._published[self._is_angle]
        rows, offset = self.of[self._is_angle], self._offsets.values[self._offset_at][self._is_angle]
        self._coordinates.value[rows[changed]] = (told - offset)[changed]
