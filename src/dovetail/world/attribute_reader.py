"""Numbers of many attributes, read into one array in one go, and whether any of them has changed.

Attributes belong to geometries, of which there may be thousands with a joint each. What a step needs of them is
gathered by one kernel from where they lie in memory; attributes that nobody wrote since the last reading cost a
comparison.
"""

from __future__ import annotations

import numpy as np

from dovetail.geometry import AttributeCollection
from dovetail.geometry.attribute import AttributeSlot, moved
from dovetail.solver.kernel import jit_enabled
from dovetail.solver.peek import KINDS, gather_numbers
from dovetail.typing import Indices

__all__ = ["AttributeReader"]


class AttributeReader:
    """Attributes with a number for each element; `values` has those of all, one attribute after the other."""

    def __init__(self) -> None:
        self._asked: dict[tuple[int, str], tuple[AttributeCollection, str, slice]] = {}
        self._count = 0
        self._generation = -1
        self.values = np.zeros(0)

    def ask(self, collection: AttributeCollection, name: str) -> Indices:
        """Where in `values` the numbers of an attribute will be."""
        key = (id(collection), name)
        if key not in self._asked:
            size = collection.slot(name).size()
            self._asked[key] = collection, name, slice(self._count, self._count + size)
            self._count += size
        rows = self._asked[key][2]
        return np.arange(rows.start, rows.stop)

    def read(self) -> bool:
        """Read all of them; whether any has changed since the last time."""
        if self._generation != moved.count or len(self.values) != self._count:
            self._locate()
        if jit_enabled:
            return bool(gather_numbers(self._address, self._kind, self._start, self.values))
        new = np.concatenate([np.zeros(0), *(slot.values.astype(float) for slot in self._slots)])
        changed = not np.array_equal(new, self.values)
        self.values[:] = new
        return changed

    def _locate(self) -> None:
        """Find where the attributes lie: they move when they are shared, resized or replaced."""
        generation = moved.count
        self._slots: list[AttributeSlot] = [collection.slot(name) for collection, name, _ in self._asked.values()]
        arrays = [slot.buffer.array for slot in self._slots]
        self._address = np.array([a.__array_interface__["data"][0] for a in arrays], np.int64)
        self._kind = np.array([KINDS[str(a.dtype)] for a in arrays], np.int64)
        self._start = np.array([0, *(rows.stop for _, _, rows in self._asked.values())], np.int64)
        if len(self.values) != self._count:
            self.values = np.full(self._count, np.nan)
        self._generation = generation  # the last one: it tells that all are found
