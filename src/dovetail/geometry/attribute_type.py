"""The types an attribute can have: scalars, small vectors, small square matrices, strings and lists of UIDs.

Two shapes of the same memory are spoken of throughout the package, for n elements of size k:

    natural   scalars (n,)   vectors (n, k)      matrices (n, k, k)
    libuipc   scalars (n,)   vectors (n, k, 1)   matrices (n, k, k)

Matrices are stored column by column, so `array.swapaxes(1, 2)` of a natural matrix array is C-contiguous.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.checked import shown
from dovetail.errors import CollectionError, UnsupportedShape, UnsupportedType

__all__ = ["TYPES", "AttributeType", "type_of_default", "uid_array"]

_SIZES = (2, 3, 4, 6, 9, 12)


@dataclass(frozen=True, slots=True)
class AttributeType:
    """What one element is: `name` as libuipc spells it, NumPy `dtype`, and `shape` of the element."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...] = ()

    def allocate(self, count: int, default: Any) -> NDArray[Any]:
        """An array of `count` elements in natural shape, each equal to `default`."""
        array = np.empty((count, *self.shape), self.dtype)
        if len(self.shape) == 2:
            array = array.swapaxes(1, 2)
        if self.dtype == object:
            array.fill(default)
        else:
            array[...] = default
        return array

    def libuipc_shape(self, array: NDArray[Any]) -> NDArray[Any]:
        """The natural array seen in libuipc's shape; never a copy."""
        return array[..., np.newaxis] if len(self.shape) == 1 else array

    def natural_value(self, value: Any) -> NDArray[Any]:
        """A user's value as an array that broadcasts against a natural array of this type.

        Column vectors (k, 1) and stacks of them (n, k, 1) lose their last axis: broadcast as it is, a (3, 1)
        would silently fill the *rows* of a (3, 3) array.
        """
        try:
            array = np.asarray(value) if self.dtype.kind == "f" else self._integers(value)
        except (TypeError, ValueError, OverflowError):  # rows of different length
            raise CollectionError(f"{self.name} cannot hold {shown(value)}") from None
        if array.dtype.kind not in "fiub":
            raise CollectionError(f"{self.name} values cannot be written from an array of {array.dtype}")
        if len(self.shape) == 1 and array.ndim >= 2 and array.shape[-2:] == (*self.shape, 1):
            array = array[..., 0]
        return array

    def _integers(self, value: Any) -> NDArray[Any]:
        """Integers that fit; a plain cast would cut off decimals and wrap large numbers silently."""
        array = np.asarray(value)
        if array.dtype.kind not in "iub" and not isinstance(value, np.ndarray):
            array = np.asarray(value, object)  # NumPy makes floats of lists such as [2**64 - 1, 0]
        whole = array.dtype.kind in "iub" or all(isinstance(item, int) for item in array.flat)
        bounds = np.iinfo(self.dtype)
        if whole and (array.size == 0 or (array.min() >= bounds.min and array.max() <= bounds.max)):
            return array.astype(self.dtype)
        raise CollectionError(f"{self.name} cannot hold {shown(value)}")

    def element(self, value: Any) -> Any:
        """One element: a NumPy scalar or a read-only array of `shape`, a str, or an array of UIDs."""
        if self.name == "string":
            return str(value)
        if self.name == "VectorXu64":
            return uid_array(value)
        try:
            array = np.array(value, self.dtype).reshape(self.shape)
        except (TypeError, ValueError, OverflowError):
            raise CollectionError(f"{self.name} cannot hold {shown(value)}") from None
        array.flags.writeable = False
        return array[()]


def uid_array(uids: Sequence[int] | NDArray[Any]) -> NDArray[np.uint64]:
    """UIDs as a read-only, sorted array without repetitions."""
    try:
        array = np.unique(np.asarray(uids, np.uint64))
    except (OverflowError, TypeError, ValueError):
        raise CollectionError(f"a list of UIDs cannot hold {shown(uids)}; give whole numbers from 0 on.") from None
    array.flags.writeable = False
    return array


_F64, _I32, _OBJECT = np.dtype(np.float64), np.dtype(np.int32), np.dtype(object)

TYPES: dict[str, AttributeType] = {
    t.name: t
    for t in (
        AttributeType("F64", _F64),
        AttributeType("I32", _I32),
        AttributeType("I64", np.dtype(np.int64)),
        AttributeType("U32", np.dtype(np.uint32)),
        AttributeType("U64", np.dtype(np.uint64)),
        *(AttributeType(f"Vector{k}", _F64, (k,)) for k in _SIZES),
        *(AttributeType(f"Vector{k}i", _I32, (k,)) for k in (2, 3, 4)),
        *(AttributeType(f"Matrix{k}x{k}", _F64, (k, k)) for k in _SIZES),
        AttributeType("string", _OBJECT),
        AttributeType("VectorXu64", _OBJECT),
    )
}


def type_of_default(default: Any) -> AttributeType:
    """The attribute type that a default value stands for.

    Integers give I32 (I64 or U64 when they do not fit), unsigned NumPy scalars U32 or U64, floats F64,
    text string, float64 arrays (k,), (k, 1), (k, k) a vector or matrix, int32 arrays of 2, 3 or 4 an
    integer vector.
    """
    if isinstance(default, str):
        return TYPES["string"]
    if isinstance(default, np.uint32 | np.uint64):
        return TYPES["U32" if isinstance(default, np.uint32) else "U64"]
    if isinstance(default, bool | int | np.bool_ | np.integer):
        return _integer_type(int(default))
    if isinstance(default, float):  # np.float64 is one, np.float32 is not
        return TYPES["F64"]
    if isinstance(default, np.ndarray):
        return _array_type(default)
    raise UnsupportedType(
        f"a default of type {type(default).__name__} has no attribute type; give an int, a float, a str, "
        "or a float64 array such as Vector3.Zero() or Matrix4x4.Identity()"
    )


def _integer_type(value: int) -> AttributeType:
    if -(2**31) <= value < 2**31:
        return TYPES["I32"]
    if -(2**63) <= value < 2**63:
        return TYPES["I64"]
    if 0 <= value < 2**64:
        return TYPES["U64"]
    raise CollectionError(f"the default {shown(value)} does not fit in 64 bits")


def _array_type(default: NDArray[Any]) -> AttributeType:
    if default.size == 1 and default.dtype == _F64:
        return TYPES["F64"]
    if default.size == 1 and default.dtype.kind in "iu":
        return type_of_default(default.reshape(-1)[0])
    if default.dtype not in (_F64, _I32):
        raise UnsupportedType(
            f"a default array of {default.dtype} has no attribute type; convert it with .astype(np.float64), "
            "or .astype(np.int32) for indices"
        )
    shape = default.shape[:1] if default.ndim == 2 and default.shape[1] == 1 else default.shape
    for candidate in TYPES.values():
        if candidate.dtype == default.dtype and candidate.shape == shape:
            return candidate
    raise UnsupportedShape(
        f"a default array of shape {default.shape} and {default.dtype} has no type; float64 vectors "
        "have 2, 3, 4, 6, 9 or 12 components, matrices as many rows and columns, int32 vectors 2, 3 or 4"
    )
