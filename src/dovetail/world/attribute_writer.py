"""Numbers of many attributes, written from one array in one go."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dovetail.geometry import AttributeCollection
from dovetail.kernel.kernel import jit_enabled
from dovetail.kernel.peek import scatter_numbers
from dovetail.typing import Array, Indices
from dovetail.world.attribute_addresses import AttributeAddresses, memory

__all__ = ["AttributeWriter"]


class AttributeWriter:
    """Attributes of float64; `values` has their numbers as they lie in memory, one attribute after the other."""

    def __init__(self) -> None:
        self._places = AttributeAddresses(own=True)
        self._values = np.zeros(0)

    def ask(self, collections: Iterable[AttributeCollection], name: str) -> Indices:
        """Where in `values` the numbers of an attribute of these collections go."""
        return np.concatenate([np.zeros(0, np.int64), *(self._places.ask(c, name) for c in collections)])

    @property
    def values(self) -> Array:
        if len(self._values) != self._places.count:
            self._values = np.zeros(self._places.count)
        return self._values

    def put(self, at: Indices, values: Array) -> None:
        """Set numbers to be written."""
        self.values[at] = values.reshape(-1)

    def write(self) -> None:
        """Write all of them."""
        places = self._places
        places.locate()
        if jit_enabled:
            scatter_numbers(places.address, places.start, self.values)
            return
        for slot, start, stop in zip(places.slots, places.start, places.start[1:], strict=False):
            memory(slot)[:] = self.values[start:stop]
