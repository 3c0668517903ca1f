"""Factories of scalars, column vectors and square matrices under libuipc's names.

Scalars are Python numbers, vectors float64 arrays of shape (N, 1), matrices float64 arrays of shape (N, N);
each call makes a new one that may be written to.
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dovetail.checked import LARGEST, checked, numbers, shown
from dovetail.errors import DovetailError

__all__ = [
    "I32",
    "I64",
    "U32",
    "U64",
    "Float",
    "IndexT",
    "Matrix2x2",
    "Matrix3x3",
    "Matrix4x4",
    "Matrix6x6",
    "Matrix9x9",
    "Matrix12x12",
    "SizeT",
    "Vector2",
    "Vector3",
    "Vector4",
    "Vector6",
    "Vector9",
    "Vector12",
]

Number = TypeVar("Number", int, float)


@functools.cache
def _generator() -> np.random.Generator:
    return np.random.default_rng(0)


class _Scalar(Generic[Number]):
    dtype: ClassVar[np.dtype[Any]]

    @classmethod
    def Zero(cls) -> Number:
        return cls.Value(0)

    @classmethod
    def One(cls) -> Number:
        return cls.Value(1)

    @classmethod
    def Value(cls, x: float) -> Number:
        """`x` as a Python number, if the type can hold it."""
        try:
            number: Number = np.array(x, cls.dtype).reshape(()).item()
        except (OverflowError, ValueError, TypeError, Warning):
            raise DovetailError(f"{cls.__name__}.Value: cannot hold {shown(x)}.") from None
        return number

    @classmethod
    def size_bytes(cls) -> int:
        return cls.dtype.itemsize


class Float(_Scalar[float]):
    """float64"""

    dtype = np.dtype(np.float64)


class I32(_Scalar[int]):
    """int32"""

    dtype = np.dtype(np.int32)


class I64(_Scalar[int]):
    """int64"""

    dtype = np.dtype(np.int64)


class U32(_Scalar[int]):
    """uint32"""

    dtype = np.dtype(np.uint32)


class U64(_Scalar[int]):
    """uint64"""

    dtype = np.dtype(np.uint64)


class IndexT(I32):
    """The integers that number vertices, edges and bodies."""


class SizeT(U64):
    """The integers that count."""


class _Array:
    _shape: ClassVar[tuple[int, int]]

    @classmethod
    def shape(cls) -> tuple[int, int]:
        return cls._shape

    @classmethod
    def Zero(cls) -> NDArray[np.float64]:
        return np.zeros(cls._shape)

    @classmethod
    def Ones(cls) -> NDArray[np.float64]:
        return np.ones(cls._shape)

    @classmethod
    def Identity(cls) -> NDArray[np.float64]:
        """Ones on the diagonal; of a vector that is its first component."""
        return np.eye(*cls._shape)

    @classmethod
    def Random(cls) -> NDArray[np.float64]:
        """Uniform numbers in [-1, 1): new ones at each call, the same sequence in every run."""
        return _generator().uniform(-1.0, 1.0, cls._shape)

    @classmethod
    def Values(cls, values: ArrayLike) -> NDArray[np.float64]:
        """A copy of the given numbers in this shape."""
        given = numbers(values)
        if given is None:
            raise DovetailError(f"{cls.__name__}.Values: {shown(values)} are not numbers.")
        array = given.copy()
        if array.shape not in (cls._shape, cls._accepted()):
            raise DovetailError(
                f"{cls.__name__}.Values: an array of shape {array.shape} was given; {cls._shape} is needed."
            )
        return array.reshape(cls._shape)

    @classmethod
    def _accepted(cls) -> tuple[int, ...]:
        return cls._shape


class _Vector(_Array):
    def __init_subclass__(cls, size: int) -> None:
        cls._shape = (size, 1)

    @classmethod
    def _accepted(cls) -> tuple[int, ...]:
        return cls._shape[:1]

    @classmethod
    @checked(DovetailError)
    def Unit(cls, i: int) -> NDArray[np.float64]:
        """Zeros with a one in component `i`."""
        size = cls._shape[0]
        if not 0 <= i < size:
            raise DovetailError(f"{cls.__name__}.Unit: component {i} does not exist; use 0..{size - 1}.")
        vector = cls.Zero()
        vector[i] = 1.0
        return vector

    @classmethod
    def UnitX(cls) -> NDArray[np.float64]:
        return cls.Unit(0)

    @classmethod
    def UnitY(cls) -> NDArray[np.float64]:
        return cls.Unit(1)

    @classmethod
    @checked(DovetailError)
    def LinSpaced(
        cls, start: float, end: float, n: float | None = None, step: float | None = None
    ) -> NDArray[np.float64]:
        """Equidistant numbers from `start` to `end`, both included.

        A third argument changes nothing and is checked: a whole number is the vector's size, another one the step.
        """
        size = cls._shape[0]
        if not (abs(float(start)) <= LARGEST and abs(float(end)) <= LARGEST):
            raise DovetailError(f"{cls.__name__}.LinSpaced: from {start} to {end}; give numbers up to {LARGEST:g}.")
        numbers = np.linspace(float(start), float(end), size).reshape(cls._shape)
        spacing = (end - start) / (size - 1)
        given = n if step is None else step
        if given is not None and not (step is None and given == size) and not np.isclose(given, spacing):
            raise DovetailError(
                f"{cls.__name__}.LinSpaced: {size} numbers from {start} to {end} have the step {spacing}; "
                f"{given} was given as their count or step."
            )
        return numbers


class _Vector3OrLonger(_Vector, size=3):
    @classmethod
    def UnitZ(cls) -> NDArray[np.float64]:
        return cls.Unit(2)


class _Vector4OrLonger(_Vector3OrLonger, size=4):
    @classmethod
    def UnitW(cls) -> NDArray[np.float64]:
        return cls.Unit(3)


class Vector2(_Vector, size=2):
    """Columns of 2 numbers."""


class Vector3(_Vector3OrLonger, size=3):
    """Columns of 3 numbers."""


class Vector4(_Vector4OrLonger, size=4):
    """Columns of 4 numbers."""


class Vector6(_Vector4OrLonger, size=6):
    """Columns of 6 numbers."""


class Vector9(_Vector4OrLonger, size=9):
    """Columns of 9 numbers."""


class Vector12(_Vector4OrLonger, size=12):
    """Columns of 12 numbers."""


class _Matrix(_Array):
    def __init_subclass__(cls, size: int) -> None:
        cls._shape = (size, size)


class Matrix2x2(_Matrix, size=2):
    """2×2 matrices."""


class Matrix3x3(_Matrix, size=3):
    """3×3 matrices."""


class Matrix4x4(_Matrix, size=4):
    """4×4 matrices."""


class Matrix6x6(_Matrix, size=6):
    """6×6 matrices."""


class Matrix9x9(_Matrix, size=9):
    """9×9 matrices."""


class Matrix12x12(_Matrix, size=12):
    """12×12 matrices."""
