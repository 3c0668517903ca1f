"""Records: named arrays and numbers that belong together, and that a kernel takes as one argument.

    class Rows(Record):
        left: Indices = i8(1)
        W: Array = f8(3)
        first_exact: int = integer()

    rows = Rows(left=…, W=…, first_exact=0)

In Python a record is an object with these attributes. A compiled kernel sees a pointer to their descriptions (address,
shape and strides of an array), so that handing over one record costs 0.3 µs however many arrays it has; twenty arrays
one by one cost 1.2 µs, and 6 µs as a named tuple (numba 0.66). Records may hold records.

An array is shared, not copied. Setting an attribute of a record takes a microsecond, and every kernel sees it at once.
"""

from __future__ import annotations

import struct
from typing import Any, ClassVar

import numpy as np

from dovetail.kernel.kernel import jit_enabled

__all__ = ["Record", "b1", "bits", "f8", "i8", "integer", "nested", "real"]

_HEAD = 5  # words of an array before its shape: two owners, size, bytes of an item, address


_DOUBLE, _INTEGER = struct.Struct("d"), struct.Struct("q")


def bits(value: float) -> int:
    """The integer with the bits of a float."""
    found: int = _INTEGER.unpack(_DOUBLE.pack(value))[0]
    return found


class _Field:
    """An attribute: an array with a number of dimensions, a number (0 dimensions), or a record."""

    def __init__(self, dtype: Any, dimensions: int, kind: type[Record] | None = None) -> None:
        self.dtype, self.dimensions, self.kind = np.dtype(dtype), dimensions, kind
        self.words = 1 if dimensions == 0 else _HEAD + 2 * dimensions

    def checked(self, who: str, value: Any) -> Any:
        """The value as kernels can take it; a TypeError where it is not of this kind, since they would crash."""
        if self.kind is not None:
            if not isinstance(value, self.kind):
                raise TypeError(f"{who} is {type(value).__name__}, not {self.kind.__name__}")
        elif self.dimensions == 0:
            return float(value) if self.dtype.kind == "f" else int(value)
        elif jit_enabled and not (
            isinstance(value, np.ndarray)
            and value.dtype == self.dtype
            and value.ndim == self.dimensions
            and value.flags.c_contiguous
        ):
            found = f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
            raise TypeError(f"{who} is {found}, not {self.dtype} with {self.dimensions} dimensions, by rows")
        return value

    def describe(self, value: Any, words: Any, at: int) -> None:
        """Write what kernels read."""
        if self.kind is not None:
            words[at] = value._pointer
        elif self.dimensions == 0:
            words[at] = value if self.dtype.kind != "f" else bits(value)
        else:
            words[at + 2], words[at + 3] = value.size, value.itemsize
            words[at + 4] = value.__array_interface__["data"][0]
            at += _HEAD
            for number in value.shape + value.strides:
                words[at] = number
                at += 1


def f8(dimensions: int) -> Any:
    """An array of floats."""
    return _Field(np.float64, dimensions)


def i8(dimensions: int) -> Any:
    """An array of integers."""
    return _Field(np.int64, dimensions)


def b1(dimensions: int) -> Any:
    """An array of truth values."""
    return _Field(np.bool_, dimensions)


def real() -> Any:
    """A float."""
    return _Field(np.float64, 0)


def integer() -> Any:
    """An integer."""
    return _Field(np.int64, 0)


def nested(kind: type[Record]) -> Any:
    """Another record."""
    return _Field(np.int64, 0, kind)


class Record:
    """Base of all records; see the module."""

    fields: ClassVar[dict[str, _Field]] = {}
    _at: ClassVar[dict[str, int]] = {}
    _pointer: int

    def __init_subclass__(cls) -> None:
        own = {name: value for name, value in vars(cls).items() if isinstance(value, _Field)}
        for name in own:
            delattr(cls, name)
        cls.fields = {**cls.fields, **own}
        cls._at, size = {}, 0
        for name, field in cls.fields.items():
            cls._at[name] = size
            size += field.words
        cls._size = size
        if jit_enabled:
            from dovetail.kernel.record_type import record_type

            cls._numba_type_ = record_type(cls)

    _size: ClassVar[int] = 0
    _numba_type_: ClassVar[Any] = None

    def __init__(self, **values: Any) -> None:
        words = np.zeros(self._size, np.int64)
        object.__setattr__(self, "_words", memoryview(words.data))  # which Python writes to in a third of the time
        object.__setattr__(self, "_pointer", words.__array_interface__["data"][0])
        if values.keys() != self.fields.keys():
            raise TypeError(f"{type(self).__name__} takes {', '.join(self.fields)}; got {', '.join(values)}")
        for name, value in values.items():
            setattr(self, name, value)

    _words: Any

    def place_of(self, name: str) -> int:
        """The address at which kernels find a number, or how long an array is."""
        field = self.fields[name]
        return self._pointer + 8 * (self._at[name] + (_HEAD if field.dimensions else 0))

    def __setattr__(self, name: str, value: Any) -> None:
        field = self.fields.get(name)
        if field is not None:
            value = field.checked(f"{type(self).__name__}.{name}", value)
            if jit_enabled:
                field.describe(value, self._words, self._at[name])
        object.__setattr__(self, name, value)
