"""Attributes: storage shared until someone writes, and the slots that name it.

A slot owns a part in a buffer. Copies and `share` let several slots own the same buffer; the first write
through one of them gives that slot a buffer of its own and leaves the others as they were (copy on write).
A buffer counts its owners, so that the last remaining one writes in place whatever became of the others.

A writable view is a window on the buffer of the moment: take a new one after copying, sharing or resizing.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dovetail.checked import checked
from dovetail.errors import CollectionError
from dovetail.geometry.attribute_type import AttributeType, uid_array

__all__ = ["AttributeSlot", "AttributeSlotUidList", "Buffer", "moved", "view"]


class _Moved:
    """Counts how often a watched buffer was given up, shared anew, or its attribute destroyed.

    Who keeps the addresses of buffers watches them, and looks for them again when the count has changed.
    """

    count = 0


moved = _Moved()


class Buffer:
    """The values of an attribute in natural shape, its default, and the number of slots that own it.

    `watched`: someone knows where it lies, see `moved`.
    """

    __slots__ = ("array", "default", "owners", "type", "watched")

    def __init__(self, type: AttributeType, array: NDArray[Any], default: Any) -> None:
        self.type = type
        self.array = array
        self.default = default
        self.owners = 0
        self.watched = False

    def __reduce__(self) -> tuple[Any, ...]:
        # owners are counted anew by the slots that are copied or unpickled along
        return Buffer.holding, (self.type, self.array, self.default)

    def hold(self) -> None:
        """Count one more owner."""
        self.owners += 1
        if self.watched:
            moved.count += 1

    @classmethod
    def filled(cls, type: AttributeType, count: int, default: Any) -> Buffer:
        element = type.element(default)
        return cls(type, type.allocate(count, element), element)

    @classmethod
    def holding(cls, type: AttributeType, values: NDArray[Any], default: Any) -> Buffer:
        """A buffer with its own copy of `values` (natural shape), laid out as the type wants."""
        array = type.allocate(len(values), default)
        array[...] = values
        return cls(type, array, default)

    def copy(self) -> Buffer:
        return Buffer.holding(self.type, self.array, self.default)

    def resized(self, count: int) -> Buffer:
        """A new buffer with the first `count` elements, missing ones equal to the default."""
        array = self.type.allocate(count, self.default)
        kept = min(count, len(self.array))
        array[:kept] = self.array[:kept]
        return Buffer(self.type, array, self.default)

    def selected(self, indices: NDArray[np.intp]) -> Buffer:
        return Buffer.holding(self.type, self.array[indices], self.default)


class AttributeSlot:
    """A named attribute. Called, it returns itself, so `geo.transforms()` is `geo.transforms`."""

    __slots__ = ("__weakref__", "_allow_destroy", "_buffer", "_name")
    _classes: ClassVar[dict[str, type[AttributeSlot]]] = {}

    def __init_subclass__(cls, stores: str) -> None:
        AttributeSlot._classes[stores] = cls

    def __init__(self, name: str, buffer: Buffer, allow_destroy: bool = True) -> None:
        self._name = name
        self._allow_destroy = bool(allow_destroy)
        self._buffer = buffer
        buffer.hold()

    @staticmethod
    def of(name: str, buffer: Buffer, allow_destroy: bool = True) -> AttributeSlot:
        """The slot class of the buffer's type, owning that buffer."""
        return AttributeSlot._classes[buffer.type.name](name, buffer, allow_destroy)

    def __del__(self) -> None:
        self._buffer.owners -= 1

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._name, self._buffer, self._allow_destroy)

    def __call__(self) -> Self:
        return self

    def name(self) -> str:
        return self._name

    def size(self) -> int:
        return len(self._buffer.array)

    def __len__(self) -> int:
        return len(self._buffer.array)

    def __bool__(self) -> bool:
        return True  # `if slot:` asks whether find() found one, not whether it has elements

    def is_shared(self) -> bool:
        """Whether another slot owns the same values."""
        return self._buffer.owners > 1

    def allow_destroy(self) -> bool:
        return self._allow_destroy

    def type_name(self) -> str:
        return self._buffer.type.name

    @property
    def first(self) -> Any:
        """The value of the first element, of which there must be one."""
        if not len(self._buffer.array):
            raise CollectionError(f"attribute '{self._name}' has no elements; resize its collection.")
        return self._buffer.array[0]

    @property
    def values(self) -> NDArray[Any]:
        """All values in natural shape, read-only; never detaches."""
        array = self._buffer.array[:]
        array.flags.writeable = False
        return array

    def edit(self) -> NDArray[Any]:
        """All values in natural shape, writable, after detaching shared storage."""
        if self._buffer.owners > 1:
            self.replace(self._buffer.copy())
        return self._buffer.array[:]

    def view(self) -> Any:
        """All values in libuipc's shape, read-only."""
        return self._buffer.type.libuipc_shape(self.values)

    def writable_view(self) -> Any:
        """All values in libuipc's shape, writable, after detaching shared storage: `view(slot)`."""
        return self._buffer.type.libuipc_shape(self.edit())

    def assign(self, value: Any) -> None:
        """Write all values; `value` broadcasts against the natural shape."""
        kind = self._buffer.type
        try:
            given = kind.natural_value(value)
        except CollectionError as error:
            raise CollectionError(f"attribute '{self._name}': {error}") from None
        try:
            array = given if given.shape == kind.shape else np.broadcast_to(given, (self.size(), *kind.shape))
        except ValueError:
            raise CollectionError(
                f"attribute '{self._name}' ({kind.name}) has shape {(self.size(), *kind.shape)}; values "
                f"of shape {np.shape(value)} do not broadcast to it"
            ) from None
        self.edit()[...] = array

    def replace(self, buffer: Buffer) -> None:
        """Give up the part in the present buffer and own another of the same type."""
        if self._buffer.watched:
            moved.count += 1
        self._buffer.owners -= 1
        buffer.hold()
        self._buffer = buffer

    @property
    def buffer(self) -> Buffer:
        return self._buffer

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self._name}' of {self.size()} {self.type_name()}>"


class AttributeSlotUidList(AttributeSlot, stores="VectorXu64"):
    """A sorted set of UIDs per element; `values[i]` is a read-only uint64 array. libuipc gives it no view."""

    __slots__ = ()

    def view(self) -> None:
        return None

    def writable_view(self) -> None:
        return None

    @checked(CollectionError)
    def insert(self, uid: int) -> None:
        """Add a UID to the set of every element."""
        if not 0 <= uid < 2**64:
            raise CollectionError(f"attribute '{self._name}': {uid} is no UID; give a number from 0 to 2⁶⁴ − 1")
        sets = self.edit()
        for i, present in enumerate(sets):
            sets[i] = uid_array([*present.tolist(), uid])

    def assign(self, value: Any) -> None:
        raise CollectionError(f"attribute '{self._name}' is a set of UIDs; add to it with insert(uid)")


@checked(CollectionError)
def view(slot: AttributeSlot | None) -> Any:
    """The values of an attribute for writing, in libuipc's shape; shared storage is detached first.

    None, which is what `find` returns for an unknown name, is an error.
    """
    if slot is None:
        raise CollectionError("view: None is not an attribute; find() found none of that name.")
    return slot.writable_view()
