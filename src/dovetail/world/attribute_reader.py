"""Numbers of many attributes, read into one array in one go, and whether any of them has changed.

Writable views are windows on the attributes, and their owners may write at any time: what tells that a number has
changed is the number itself. Looking at all of them is one kernel, some nanoseconds for each.
"""

from __future__ import annotations

import numpy as np

from dovetail.geometry import AttributeCollection
from dovetail.kernel.kernel import jit_enabled
from dovetail.kernel.peek import gather_numbers
from dovetail.typing import Indices
from dovetail.world.attribute_addresses import AttributeAddresses, memory

__all__ = ["AttributeReader"]


class AttributeReader:
    """Attributes; `values` has the numbers of all as they lie in memory, one attribute after the other, at `places`."""

    def __init__(self) -> None:
        self.places = AttributeAddresses(own=False)
        self.values = np.zeros(0)

    def ask(self, collection: AttributeCollection, name: str) -> Indices:
        """Where in `values` the numbers of an attribute will be."""
        return self.places.ask(collection, name)

    def read(self) -> bool:
        """Read all of them; whether any has changed since the last time."""
        places = self.places
        places.locate()
        if len(self.values) != places.count:
            self.values = np.full(places.count, np.nan)
        if jit_enabled:
            return bool(gather_numbers(places.address, places.kind, places.start, self.values))
        new = np.concatenate([np.zeros(0), *(memory(slot).astype(float) for slot in places.slots)])
        changed = not np.array_equal(new, self.values)
        self.values[:] = new
        return changed
