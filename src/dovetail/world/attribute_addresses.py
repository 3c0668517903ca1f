"""Where the attributes of many geometries lie in memory, as if their numbers were one array.

Attributes belong to geometries, of which there may be thousands with a joint or a body each. Kernels read and write
them all in one go, at their addresses. An attribute moves when it is shared, resized or replaced; `moved` tells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import WorldError
from dovetail.geometry import AttributeCollection
from dovetail.geometry.attribute import AttributeSlot, moved
from dovetail.kernel.peek import KINDS
from dovetail.typing import Indices

__all__ = ["AttributeAddresses", "memory"]

_KINDS = {np.dtype(name): number for name, number in KINDS.items()}
_WRITTEN = {np.dtype(np.float64)}


def memory(slot: AttributeSlot) -> NDArray[Any]:
    """All numbers of an attribute in one row, as they lie in memory: matrices column by column."""
    array = slot.buffer.array
    return (array.swapaxes(1, 2) if array.ndim == 3 else array).reshape(-1)


class AttributeAddresses:
    """Attributes one after the other: numbers `start[k]` … `start[k + 1] − 1` are those of the attribute k.

    address, kind (k,)   where it lies, and what its numbers are (`KINDS`)
    """

    def __init__(self, own: bool) -> None:
        """`own`: they are to be written, so that storage shared with others is detached first."""
        self._own = own
        self._asked: dict[tuple[int, str], tuple[AttributeCollection, str, slice]] = {}
        self._generation = -1
        self.count = 0
        self.slots: list[AttributeSlot] = []

    def ask(self, collection: AttributeCollection, name: str) -> Indices:
        """Numbers of an attribute, which is from now on among them."""
        key = (id(collection), name)
        if key not in self._asked:
            size = collection.slot(name).buffer.array.size
            self._asked[key] = collection, name, slice(self.count, self.count + size)
            self.count += size
            self._generation = -1
        rows = self._asked[key][2]
        return np.arange(rows.start, rows.stop)

    def locate(self) -> None:
        """Find them again if any has moved."""
        if self._generation == moved.count:
            return
        self.slots = [collection.slot(name) for collection, name, _ in self._asked.values()]
        for slot, (collection, name, rows) in zip(self.slots, self._asked.values(), strict=True):
            if self._own:
                slot.edit()
            slot.buffer.watched = True
            array = slot.buffer.array
            if array.size != rows.stop - rows.start or array.dtype not in (_WRITTEN if self._own else _KINDS):
                raise WorldError(
                    f"{collection!r}: '{name}' has {array.size} numbers of {array.dtype}, and had "
                    f"{rows.stop - rows.start} when the world was made; give it back its size and type."
                )
        generation = moved.count
        arrays = [slot.buffer.array for slot in self.slots]
        self.address = np.array([array.__array_interface__["data"][0] for array in arrays], np.int64)
        self.kind = np.array([_KINDS[array.dtype] for array in arrays], np.int64)
        self.start = np.array([0, *(rows.stop for _, _, rows in self._asked.values())], np.int64)
        self._generation = generation  # the last one: it tells that all are found
