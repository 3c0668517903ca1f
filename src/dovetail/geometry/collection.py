"""Attribute collections: the attributes of all vertices, edges, instances, or of the geometry itself."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dovetail.checked import checked, shown
from dovetail.errors import CollectionError
from dovetail.geometry.attribute import AttributeSlot, AttributeSlotUidList, Buffer, moved
from dovetail.geometry.attribute_json import buffer_to_json
from dovetail.geometry.attribute_type import TYPES, type_of_default

__all__ = ["AttributeCollection", "MetaCollection", "SimplexCollection", "write_attribute"]

_MOST = 2**31 - 1  # elements are numbered by int32


class _Kept:
    """Names, values, and whether each may be destroyed, of copies that nobody has looked into yet.

    It owns the values once for all of its users, so that a copy of such a copy costs nothing.
    """

    __slots__ = ("allowed", "buffers", "names", "users")

    def __init__(self, slots: dict[str, AttributeSlot]) -> None:
        self.names = tuple(slots)
        self.buffers = tuple([slot.buffer for slot in slots.values()])
        self.allowed = tuple([slot.allow_destroy() for slot in slots.values()])
        self.users = 0
        for buffer in self.buffers:
            buffer.hold()

    def let_go(self) -> None:
        """One user less."""
        self.users -= 1
        if not self.users:
            for buffer in self.buffers:
                buffer.owners -= 1


class AttributeCollection:
    """Attributes of equal size, by name.

    `find`, `create`, `destroy`, `share`, `resize` speak of slots as libuipc does; `collection["name"]` reads
    and writes the values as a NumPy array. Called, a collection returns itself: `geo.edges()` is `geo.edges`.
    """

    __slots__ = ("__weakref__", "_kept", "_name", "_size", "_slots")

    _slots: dict[str, AttributeSlot]
    _kept: _Kept | None
    """What a copy that nobody has looked into yet is made of."""

    @checked(CollectionError)
    def __init__(self, name: str = "attributes", size: int = 0) -> None:
        self._name = name
        self._size = size
        self._slots = {}
        self._kept = None

    def __call__(self) -> Self:
        return self

    def copy(self) -> Self:
        """The same attributes in another collection; values are shared until one of the two writes."""
        other = object.__new__(type(self))
        kept = self._kept or _Kept(self._slots)
        kept.users += 1
        other._name, other._size, other._kept = self._name, self._size, kept
        return other

    def __getattr__(self, name: str) -> Any:
        """Slots of a copy are made when they are first asked for: most copies are never looked at."""
        if name != "_slots" or self._kept is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        made = zip(self._kept.names, self._kept.buffers, self._kept.allowed, strict=True)
        self._slots = {key: AttributeSlot.of(key, buffer, allow) for key, buffer, allow in made}
        self._let_go()
        return self._slots

    def _let_go(self) -> None:
        """Give up the part in the buffers that a copy has until its slots own them."""
        kept = getattr(self, "_kept", None)  # which is not there where the name was refused
        if kept is not None:
            self._kept = None
            kept.let_go()

    def __del__(self) -> None:
        self._let_go()

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        return None, {"_name": self._name, "_size": self._size, "_slots": self._slots, "_kept": None}

    __copy__ = copy

    def size(self) -> int:
        """Number of elements."""
        return self._size

    def __len__(self) -> int:
        return self._size

    @checked(CollectionError)
    def resize(self, size: int) -> None:
        """Change the number of elements; new ones take each attribute's default."""
        count = int(size)
        if not 0 <= count <= _MOST:
            raise CollectionError(f"{self._name}: cannot have {count} elements; give 0 to {_MOST:,}.")
        if count == self._size:
            return
        try:
            buffers = [slot.buffer.resized(count) for slot in self._slots.values()]
        except MemoryError:
            raise CollectionError(f"{self._name}: {count:,} elements do not fit into the memory.") from None
        for slot, buffer in zip(self._slots.values(), buffers, strict=True):
            slot.replace(buffer)
        self._size = count

    @checked(CollectionError)
    def reserve(self, size: int) -> None:
        """Announce a later size. Storage is allocated when `resize` is called, so nothing changes here."""
        if size < 0:
            raise CollectionError(f"{self._name}: cannot reserve {size} elements")

    def clear(self) -> None:
        """Remove all elements; the attributes stay."""
        self.resize(0)

    @checked(CollectionError)
    def reorder(self, indices: ArrayLike) -> None:
        """Element i becomes what element `indices[i]` was; `indices` is a permutation."""
        order = np.asarray(indices).reshape(-1)
        if not np.array_equal(np.sort(order), np.arange(self._size)):
            raise CollectionError(f"{self._name}: reorder needs a permutation of 0..{self._size - 1}.")
        self.select(order.astype(np.intp))

    def select(self, indices: NDArray[np.intp]) -> None:
        """Keep the elements `indices`, in that order, and no others; whatever refers to them stays."""
        for slot in self._slots.values():
            slot.replace(slot.buffer.selected(indices))
        self._size = len(indices)

    def attribute_count(self) -> int:
        return len(self._slots)

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._slots))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._slots

    def find(self, name: str) -> AttributeSlot | None:
        """The slot of an attribute, or None."""
        try:
            return self._slots.get(name)
        except TypeError:  # what cannot be hashed is no name
            raise CollectionError(f"{self._name}: {shown(name)} cannot name an attribute; use a str.") from None

    @checked(CollectionError)
    def create(self, name: str, value: Any, *, allow_destroy: bool = True) -> AttributeSlot:
        """A new attribute whose present and future elements are `value`, from which its type follows."""
        try:
            kind = type_of_default(value)
        except CollectionError as error:
            raise type(error)(f"{self._name}: attribute '{name}': {error}.") from None
        return self._insert(name, Buffer.filled(kind, self._size, value), allow_destroy)

    def create_uid_list(self, name: str) -> AttributeSlotUidList:
        """The attribute that holds a set of UIDs per element; created empty if it is not there yet."""
        slot = self.find(name)
        if slot is None:
            slot = self._insert(name, Buffer.filled(TYPES["VectorXu64"], self._size, ()), True)
        if not isinstance(slot, AttributeSlotUidList):
            raise CollectionError(f"{self._name}: attribute '{name}' is {slot.type_name()}, not a set of UIDs.")
        return slot

    def destroy(self, name: str) -> None:
        """Remove an attribute; a slot of it that someone holds stays usable. Unknown names are ignored."""
        slot = self.find(name)
        if slot is None:
            return
        if not slot.allow_destroy():
            raise CollectionError(f"{self._name}: attribute '{name}' is built in and cannot be destroyed.")
        del self._slots[name]
        if slot.buffer.watched:
            moved.count += 1

    @checked(CollectionError)
    def share(self, name: str, slot: AttributeSlot) -> AttributeSlot:
        """A new attribute with the values of `slot`, shared until one of the two writes."""
        if slot.size() != self._size:
            raise CollectionError(
                f"{self._name}: cannot share attribute '{slot.name()}' of {slot.size()} elements as "
                f"'{name}'; this collection has {self._size}, resize it first."
            )
        return self._insert(name, slot.buffer, True)

    def insert_buffer(self, name: str, buffer: Buffer, allow_destroy: bool = True) -> None:
        """Let an attribute own `buffer`, which holds one value per element; a missing one is created."""
        if len(buffer.array) != self._size:
            raise CollectionError(
                f"{self._name}: attribute '{name}' has {len(buffer.array)} values for {self._size} elements."
            )
        slot = self._slots.get(name)
        if slot is None:
            self._insert(name, buffer, allow_destroy)
        elif slot.buffer.type is buffer.type:
            slot.replace(buffer)
        else:
            raise CollectionError(f"{self._name}: '{name}' is {slot.type_name()}, not {buffer.type.name}.")

    def _insert(self, name: str, buffer: Buffer, allow_destroy: bool) -> AttributeSlot:
        if not isinstance(name, str) or not name:
            raise CollectionError(f"{self._name}: {shown(name)} cannot name an attribute; use a non-empty str.")
        if name in self._slots:
            raise CollectionError(f"{self._name}: attribute '{name}' already exists; use find(), or destroy it first.")
        slot = self._slots[name] = AttributeSlot.of(name, buffer, allow_destroy)
        return slot

    def __getitem__(self, name: str) -> Any:
        """All values, writable: scalars (n,), vectors (n, k), matrices (n, k, k), strings a `StringSpan`."""
        slot = self.slot(name)
        return slot.writable_view() if slot.type_name() == "string" else slot.edit()

    def __setitem__(self, name: str, value: Any) -> None:
        try:
            self.slot(name).assign(value)
        except CollectionError as error:
            raise CollectionError(f"{self._name}: {error}") from None

    def slot(self, name: str) -> AttributeSlot:
        """The slot of an attribute that must be there; the error names the most similar one."""
        slot = self.find(name)
        if slot is None:
            text = name if isinstance(name, str) else shown(name)
            similar = difflib.get_close_matches(text, self._slots, 1, 0.5)
            if similar:
                advice = f"did you mean '{similar[0]}'?"
            elif self._slots:
                advice = f"there are: {', '.join(self._slots)}."
            else:
                advice = "it has none yet; create(name, default) makes one."
            raise CollectionError(f"{self._name}: no attribute '{text}'; {advice}")
        return slot

    def to_json(self) -> dict[str, Any]:
        """`{name: {"name", "type", "allow_destroy", "attribute": {"default_value", "values"}}}`"""
        return {
            name: {
                "name": name,
                "type": slot.type_name(),
                "allow_destroy": slot.allow_destroy(),
                "attribute": buffer_to_json(slot.buffer),
            }
            for name, slot in self._slots.items()
        }

    def __repr__(self) -> str:
        names = ", ".join(n if s.allow_destroy() else n + "*" for n, s in self._slots.items())
        return f"<{self._name}({self._size}): {names}>"


class MetaCollection(AttributeCollection):
    """Attributes of the geometry as a whole: always one element."""

    __slots__ = ()

    def __init__(self, name: str = "meta", size: int = 1) -> None:
        super().__init__(name, 1)

    @checked(CollectionError)
    def resize(self, size: int) -> None:
        if int(size) != 1:
            raise CollectionError(f"{self._name}: one element, the geometry itself; {size} are impossible.")

    def __repr__(self) -> str:
        return json.dumps(self.to_json())


class SimplexCollection(AttributeCollection):
    """Attributes of edges, triangles or tetrahedra; `topo` holds their vertices."""

    __slots__ = ()

    @property
    def topo(self) -> AttributeSlot:
        """Vertex indices of each simplex, Vector2i, Vector3i or Vector4i."""
        return self.slot("topo")


def write_attribute(collection: AttributeCollection, name: str, default: Any, values: Any) -> AttributeSlot:
    """Write all values of an attribute, which is created with `default` if it is not there."""
    slot = collection.find(name)
    if slot is None:
        slot = collection.create(name, default)
    slot.assign(values)
    return slot
