"""Checks of users' numbers, and the opening words of the messages: who, which element, of which object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail.checked import LARGEST, numbers, shown
from dovetail.errors import ConstitutionError
from dovetail.typing import Array, ArrayLike, Indices

__all__ = ["Place"]

_PLURAL = {"vertex": "vertices"}


@dataclass(frozen=True, slots=True)
class Place:
    """The elements a constitution writes to: `count` of kind `element`, on the object `name` if known."""

    who: str
    element: str
    count: int
    name: str = ""

    def error(self, problem: str, at: int | None = None) -> ConstitutionError:
        """An error that reads *who: where problem*."""
        subject = "" if at is None else f"{self.element} {at} "
        owner = f"of '{self.name}' " if self.name else ""
        return ConstitutionError(f"{self.who}: {subject}{owner}{problem}")

    def numbers(self, what: str, values: ArrayLike, unit: str = "") -> Array:
        """Finite numbers, one per element; a single number stands for all of them."""
        array: Array = self.sized(what, self.array(what, values))
        bad = np.flatnonzero(~(np.abs(array) <= LARGEST))
        if bad.size:
            at = int(bad[0])
            raise self.error(f"has {what} = {_spell(array[at], unit)}; give {_finite(array[at])}.", at)
        return array

    def positive(self, what: str, values: ArrayLike, unit: str = "", infinite: str = "") -> Array:
        """Numbers > 0, one per element or one for all; `infinite` says what inf means where it is allowed."""
        array: Array = self.sized(what, self.array(what, values))
        bad = np.flatnonzero(~((array > 0) & ((array <= LARGEST) | (np.isinf(array) & bool(infinite)))))
        if bad.size:
            at = int(bad[0])
            range_ = f"a number > 0, or inf for {infinite}" if infinite else f"{_finite(array[at])} > 0"
            raise self.error(f"has {what} = {_spell(array[at], unit)}; give {range_}.", at)
        return array

    def at_least_zero(self, what: str, values: ArrayLike, unit: str = "", infinite: str = "") -> Array:
        """Numbers ≥ 0, one per element or one for all; `infinite` says what inf means where it is allowed."""
        array: Array = self.sized(what, self.array(what, values))
        bad = np.flatnonzero(~((array >= 0) & ((array <= LARGEST) | (np.isinf(array) & bool(infinite)))))
        if bad.size:
            at = int(bad[0])
            range_ = f"a number ≥ 0, or inf for {infinite}" if infinite else f"{_finite(array[at])} ≥ 0"
            raise self.error(f"has {what} = {_spell(array[at], unit)}; give {range_}.", at)
        return array

    def indices(self, what: str, values: ArrayLike) -> Indices:
        """Whole numbers, one per element or one for all."""
        if isinstance(values, np.ndarray) and values.dtype == np.int64 and values.shape == (self.count,):
            return values
        array = self.array(what, values)
        if not (np.isfinite(array).all() and (array == np.rint(array)).all() and (np.abs(array) < 2.0**53).all()):
            raise self.error(f"{what} are {array.dtype} {array.ravel()[:4]}; give whole numbers.")
        whole: Indices = self.sized(what, array).astype(np.int64)
        return whole

    def points(self, what: str, values: ArrayLike) -> Array:
        """Finite points [m], one per element, as (count, 3); (count, 3, 1) is accepted."""
        array = self.array(what, values)
        if array.ndim == 3 and array.shape[1:] == (3, 1):
            array = array[..., 0]
        if array.shape != (self.count, 3):
            raise self.error(f"{what} has shape {array.shape} for {self.counted()}; give ({self.count}, 3).")
        bad = np.flatnonzero(~(np.abs(array) <= LARGEST).all(axis=1))
        if bad.size:
            at = int(bad[0])
            raise self.error(f"has {what} = {array[at].tolist()} [m]; give finite coordinates.", at)
        return array

    def vector(self, what: str, values: ArrayLike, *sizes: int, unit: str = "") -> Array:
        """Finite components of a quantity that all elements share, flat, as many as one of `sizes`."""
        array = self.array(what, values).reshape(-1)
        if array.size not in sizes or not (np.abs(array) <= LARGEST).all():
            wanted = " or ".join(map(str, sizes))
            raise self.error(f"{what} = {array.tolist()}{_bracket(unit)}; give {wanted} finite numbers.")
        return array

    def sized(self, what: str, array: Any) -> Any:
        """A 0-D array spread over all elements, or an array with one entry per element."""
        if array.ndim == 0:
            return np.full(self.count, array[()])
        flat = array.reshape(-1) if array.ndim == 2 and 1 in array.shape else array
        if flat.shape != (self.count,):
            raise self.error(f"{what} has {_extent(array)} for {self.counted()}; give one, or one per {self.element}.")
        return flat

    def counted(self) -> str:
        """How many elements, in words."""
        plural = _PLURAL.get(self.element, self.element + "s")
        return f"{self.count} {self.element if self.count == 1 else plural}"

    def array(self, what: str, values: ArrayLike) -> Array:
        """Numbers of any shape."""
        array = numbers(values)
        if array is None:
            raise self.error(f"{what} = {shown(values)} is not a number or an array of numbers.")
        return array


def _finite(value: float) -> str:
    """What to give instead of a number that is too large, or none."""
    return f"a number up to {LARGEST:g}" if np.isfinite(value) and abs(value) > LARGEST else "a finite number"


def _extent(array: Any) -> str:
    return f"{array.size} values" if array.ndim == 1 else f"shape {array.shape}"


def _spell(value: float, unit: str) -> str:
    return f"{value:g}{_bracket(unit)}"


def _bracket(unit: str) -> str:
    return f" [{unit}]" if unit else ""
