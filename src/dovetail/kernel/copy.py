"""Copies by entries: a slice would bring Numba's message for shapes that do not fit, which takes 2 s to compile."""

from __future__ import annotations

from dovetail.kernel.kernel import kernel
from dovetail.typing import Array

__all__ = ["copy", "copy_rows", "hand_over"]


@kernel
def copy(source: Array, out: Array) -> None:
    """out ← source, of the same shape."""
    one, other = source.reshape(source.size), out.reshape(out.size)
    for k in range(len(one)):
        other[k] = one[k]


@kernel
def copy_rows(source: Array, out: Array) -> None:
    """The same for (n, 4, 3): with a size that the compiler knows, and no views, it is faster for few bodies."""
    for b in range(len(source)):
        for i in range(4):
            for x in range(3):
                out[b, i, x] = source[b, i, x]


@kernel
def hand_over(source: Array, out: Array) -> None:
    """The same, if they are not one and the same already."""
    if source.ctypes.data != out.ctypes.data:
        copy_rows(source, out)
