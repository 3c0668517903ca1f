"""Attributes that hold text, and the spans that give access to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.checked import shown, whole
from dovetail.errors import CollectionError
from dovetail.geometry.attribute import AttributeSlot

__all__ = ["AttributeSlotString", "CStringSpan", "StringSpan"]


class CStringSpan:
    """Read access to the strings of an attribute."""

    __slots__ = ("_strings",)

    def __init__(self, strings: NDArray[Any]) -> None:
        self._strings = strings

    def __len__(self) -> int:
        return len(self._strings)

    def __getitem__(self, index: int) -> str:
        return str(self._strings[_place(index, len(self._strings))])

    def __iter__(self) -> Iterator[str]:
        return iter(self._strings.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Iterable) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # the strings may change

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._strings.tolist()!r})"


def _place(index: object, size: int) -> int:
    """A number of one of so many strings; negative ones count from the end."""
    found = whole(index)
    if found is None or not -size <= found < size:
        raise CollectionError(f"there is no string {shown(index)}; there are {size}.")
    return found


class StringSpan(CStringSpan):
    """Write access to the strings of an attribute; a string assigned to a slice is repeated."""

    __slots__ = ()

    def __setitem__(self, index: int | slice, value: str | Iterable[str]) -> None:
        if isinstance(index, slice) and isinstance(value, (list, tuple, CStringSpan, np.ndarray)):
            texts = [value] if isinstance(value, np.ndarray) and value.ndim == 0 else list(value)
            if not all(isinstance(text, str) for text in texts):
                raise CollectionError(f"a string attribute cannot hold {shown(texts)}; use str() on them")
            self._strings[index] = texts
        elif isinstance(value, str):
            self._strings[index if isinstance(index, slice) else _place(index, len(self._strings))] = value
        else:
            raise CollectionError(f"a string attribute cannot hold {shown(value)}; convert it with str()")


class AttributeSlotString(AttributeSlot, stores="string"):
    """Text per element. `values` and `edit` give object arrays, the views spans."""

    __slots__ = ()

    def view(self) -> CStringSpan:
        return CStringSpan(self._buffer.array)

    def writable_view(self) -> StringSpan:
        return StringSpan(self.edit())

    def assign(self, value: Any) -> None:
        try:
            self.writable_view()[:] = value
        except ValueError:
            raise CollectionError(
                f"attribute '{self._name}' has {self.size()} strings; {len(value)} were given"
            ) from None
