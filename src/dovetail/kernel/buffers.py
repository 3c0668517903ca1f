"""Arrays for speed: aligned to cache lines, and used again by every step.

A vector of eight doubles that lies across two cache lines takes twice the time. A fresh array costs a page fault for
every 4 kB, which is more than most kernels.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from dovetail.typing import Array

__all__ = ["Buffers", "Pool", "aligned"]

_LINE = 64  # bytes
_LARGE = 1 << 17  # words, from which on the system gives memory page by page, and takes it back
_MORE, _MOST = 4.0, 32.0  # room that is made, and the most that is taken, by what is asked for
_COUNT = 8  # arrays of one width that are kept: a step has two or three lists, and some are handed out


def aligned(*shape: int) -> Array:
    """An array of arbitrary contents that begins with a cache line."""
    size = int(np.prod(shape, dtype=np.int64))
    room = np.empty(size + _LINE // 8)
    first = -room.ctypes.data % _LINE // 8
    return room[first : first + size].reshape(shape)


class Buffers:
    """Arrays of one shape for what does not outlive a step; their contents are arbitrary."""

    def __init__(self, *shape: int) -> None:
        self._shape = shape
        self._kept: list[Array] = []

    def spare(self, *taken: Array) -> Array:
        """An array that is none of those that are taken."""
        for array in self._kept:
            if all(array is not other for other in taken):
                return array
        self._kept.append(aligned(*self._shape))
        return self._kept[-1]


class Pool:
    """Large arrays for what lives as long as someone has it: their memory is used again once nobody has any of it."""

    def __init__(self) -> None:
        self._kept: dict[int, list[Any]] = {}

    def rows(self, size: int, columns: int, dtype: Any) -> Any:
        """An array (size, columns) of numbers of eight bytes, with arbitrary contents."""
        words = size * columns
        if words < _LARGE:
            return np.empty((size, columns), dtype)
        kept = self._kept.setdefault(columns, [])
        # had by the list, and by the function that counts; a view of an array has it as well
        free = [k for k in range(len(kept)) if sys.getrefcount(kept[k]) <= 2]
        fits = [k for k in free if words <= len(kept[k]) <= _MOST * words]
        if fits:
            room = kept[min(fits, key=lambda k: len(kept[k]))]
        else:
            room = np.empty(int(_MORE * words), np.int64)  # of which nothing is there before it is written to
            stay = [array for k, array in enumerate(kept) if k not in free or len(array) > words]
            kept[:] = [*stay[1 - _COUNT :], room]
        return room[:words].view(dtype).reshape(size, columns)
