"""Arrays for speed: aligned to cache lines, and used again by every step.

A vector of eight doubles that lies across two cache lines takes twice the time. A fresh array costs a page fault for
every 4 kB, which is more than most kernels.
"""

from __future__ import annotations

import numpy as np

from dovetail.typing import Array

__all__ = ["Buffers", "aligned"]

_LINE = 64  # bytes


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
