"""Arrays for speed: aligned to cache lines, and used again by every step.

A vector of eight doubles that lies across two cache lines takes twice the time. A fresh array costs a page fault for
every 4 kB, which is more than most kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.typing import Array

__all__ = ["Buffers", "Pool", "aligned"]

_LINE = 64  # bytes
_LARGE = 1 << 17  # words, from which on the system gives memory page by page, and takes it back
_MORE, _MOST = 4.0, 32.0  # room that is made, and the most that is taken, by what is asked for
_COUNT = 6  # free rooms that are kept: a step has two or three lists


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


class _Lease:
    """What views of a room have, all of them together: the pool has the room again once none of them is left."""

    __slots__ = ("__array_interface__", "_free", "_room")

    def __init__(self, room: Any, free: list[Any]) -> None:
        self._room, self._free, self.__array_interface__ = room, free, room.__array_interface__

    def __del__(self) -> None:
        self._free.append(self._room)


class Pool:
    """Large arrays for what lives as long as someone has it: their memory is used again once nobody has any of it."""

    def __init__(self) -> None:
        self._free: list[Any] = []

    def rows(self, size: int, *columns: tuple[int, Any]) -> list[Any]:
        """Arrays (size, n) of numbers of eight bytes, of arbitrary contents, for n and kind of each of the columns."""
        ends = np.cumsum([0] + [size * n for n, _ in columns]).tolist()
        if ends[-1] < _LARGE:
            return [np.empty((size, n), kind) for n, kind in columns]
        room = np.asarray(_Lease(self._room(ends[-1]), self._free))
        pairs = zip(columns, ends, strict=False)
        return [room[at : at + size * n].view(kind).reshape(size, n) for (n, kind), at in pairs]

    def _room(self, words: int) -> Any:
        """The smallest free room that is neither too small nor far too large; or a new one."""
        free = self._free
        while len(free) > _COUNT:  # what is far too large goes first, then what is smallest
            free.pop(min(range(len(free)), key=lambda k: len(free[k]) if len(free[k]) <= _MOST * words else 0))
        fits = [k for k in range(len(free)) if words <= len(free[k]) <= _MOST * words]
        if fits:
            return free.pop(min(fits, key=lambda k: len(free[k])))
        return np.empty(int(_MORE * words), np.int64)  # of which nothing is there before it is written to
