"""Elements (contact materials, subscenes) and a symmetric table of what holds between each two of them."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from dovetail.checked import checked, shown
from dovetail.errors import SceneError
from dovetail.geometry.attribute import AttributeSlot
from dovetail.geometry.collection import AttributeCollection
from dovetail.geometry.geometry import Geometry
from dovetail.scene.commit import CollectionCommit

__all__ = ["Element", "ModelCollection", "PairTable"]


class Element:
    """One element of a table: a number and a name that geometries can be given."""

    attribute: ClassVar[str]
    """Meta attribute of a geometry that holds the number of its element."""

    @checked(SceneError)
    def __init__(self, id: int, name: str) -> None:
        self._id = operator.index(id)
        self._name = str(name)
        self._table: PairTable[Any] | None = None

    def id(self) -> int:
        return self._id

    def name(self) -> str:
        return self._name

    def apply_to(self, geometry: Geometry) -> AttributeSlot:
        """Give this element to the geometry: writes its meta attribute (made if missing) and returns it."""
        if not isinstance(geometry, Geometry):
            raise SceneError(
                f"{type(self).__name__} '{self._name}': apply_to needs a geometry, got "
                f"{type(geometry).__name__}; of a slot, pass slot.geometry()."
            )
        slot = geometry.meta.find(self.attribute)
        if slot is None:
            slot = geometry.meta.create(self.attribute, self._id)
        else:
            slot.assign(self._id)
        return slot

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._id}, {self._name!r})"


E = TypeVar("E", bound=Element)


class ModelCollection:
    """The rows of a table as attributes: `find`, `create`, iteration over names; length is the row count."""

    def __init__(self, attributes: AttributeCollection) -> None:
        self._attributes = attributes

    def __call__(self) -> Self:
        return self

    @checked(SceneError)
    def find(self, name: str) -> AttributeSlot | None:
        return self._attributes.find(name)

    def create(self, name: str, default: Any) -> AttributeSlot:
        """Add an attribute of your own to every row; the solver does not look at it."""
        return self._attributes.create(name, default)

    def to_json(self) -> dict[str, Any]:
        return self._attributes.to_json()

    def __iter__(self) -> Iterator[str]:
        return iter(self._attributes)

    def __len__(self) -> int:
        return self._attributes.size()

    def __repr__(self) -> str:
        return repr(self.to_json())


class PairTable(Generic[E]):
    """Elements 0, 1, …, element 0 being 'default', and rows that belong to unordered pairs of elements.

    Row 0 belongs to the pair (0, 0). Rows are stored as attributes: `topo` (the pair, smaller number first)
    and what the derived table adds.
    """

    element_class: type[E]

    def __init__(self, row: dict[str, Any]) -> None:
        self._elements: list[E] = []
        self._rows = AttributeCollection(type(self).__name__, 1)
        self._rows.create("topo", np.zeros(2, np.int32), allow_destroy=False)
        for name, value in row.items():
            self._rows.create(name, value, allow_destroy=False)
        self._row_of: dict[tuple[int, int], int] = {(0, 0): 0}
        self.create("default")

    def __call__(self) -> Self:
        return self

    def create(self, name: str = "") -> E:
        """A new element; the name is for error messages and files, and need not be unique."""
        if not isinstance(name, str):
            raise SceneError(f"{type(self).__name__}: an element's name must be a str, got {shown(name)}.")
        element = self.element_class(len(self._elements), name)
        element._table = self
        self._elements.append(element)
        return element

    def default_element(self) -> E:
        """Element 0, which every geometry has that was given no other."""
        return self._elements[0]

    def element_count(self) -> int:
        return len(self._elements)

    @property
    def elements(self) -> tuple[E, ...]:
        """All elements in order of their numbers."""
        return tuple(self._elements)

    @property
    def attributes(self) -> AttributeCollection:
        """The collection that stores the rows (for files and snapshots)."""
        return self._rows

    def restore(self, names: Sequence[str], commit: CollectionCommit) -> None:
        """Become the table with these element names and changed rows; elements that stay remain the same."""
        self._row_of = self.check(names, commit)
        commit.apply_to(self._rows)
        for i, name in enumerate(names):
            if i == len(self._elements) or self._elements[i].name() != name:
                element = self.element_class(i, name)
                element._table = self
                self._elements[i : i + 1] = [element]
        del self._elements[len(names) :]

    def check(self, names: Sequence[str], commit: CollectionCommit) -> dict[tuple[int, int], int]:
        """Raise SceneError if `restore` cannot be done; otherwise return the row of each pair afterwards."""
        who = type(self).__name__
        commit.check(self._rows, who)
        rows = self._rows.copy()
        commit.apply_to(rows)
        for name in self._rows:
            before, after = self._rows.slot(name), rows.find(name)
            if not before.allow_destroy() and (after is None or after.type_name() != before.type_name()):
                raise SceneError(f"{who}: attribute '{name}' is missing or not of type {before.type_name()}.")
        row_of = {(int(i), int(j)): row for row, (i, j) in enumerate(rows.slot("topo").values)}
        fits = all(0 <= i <= j < len(names) for i, j in row_of) and len(row_of) == rows.size()
        if not fits or row_of.get((0, 0)) != 0:
            raise SceneError(f"{who}: the pairs {sorted(row_of)} do not fit {len(names)} elements.")
        return row_of

    def _insert(self, left: E, right: E, row: dict[str, Any]) -> int:
        pair = self._pair(self._own(left), self._own(right))
        index = self._row_of.get(pair)
        if index is None:
            index = self._row_of[pair] = self._rows.size()
            self._rows.resize(index + 1)
            self._rows["topo"][index] = pair
        for name, value in row.items():
            self._rows[name][index] = value
        return index

    def _own(self, element: E) -> int:
        """Number of the element, which must be one of this table's."""
        id, table = element.id(), element._table
        if (
            table not in (None, self)
            or not 0 <= id < len(self._elements)
            or self._elements[id].name() != element.name()
        ):
            raise SceneError(
                f"{type(self).__name__}: {shown(element)} belongs to another scene; this one has "
                + ", ".join(repr(known) for known in self._elements[:8])
                + (", …" if len(self._elements) > 8 else "")
                + ". Make elements with this scene's create(name)."
            )
        return id

    @staticmethod
    def _pair(i: int, j: int) -> tuple[int, int]:
        return (i, j) if i <= j else (j, i)

    @checked(SceneError)
    def _pair_at(self, i: int, j: int) -> tuple[int, int]:
        for id in (i, j):
            if not 0 <= id < len(self._elements):
                raise SceneError(
                    f"{type(self).__name__}: there is no element {id}; the numbers are 0..{len(self._elements) - 1}."
                )
        return self._pair(i, j)

    def _spread(self, name: str, table: NDArray[Any]) -> NDArray[Any]:
        """Write the rows' values of one attribute to both halves of an N x N table."""
        i, j = self._rows.slot("topo").values.T
        table[i, j] = table[j, i] = self._rows.slot(name).values
        return table
