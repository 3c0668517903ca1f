"""Copies by entries: a slice would bring Numba's message for shapes that do not fit, which takes 2 s to compile."""

from __future__ import annotations

from dovetail.kernel.kernel import kernel
from dovetail.typing import Array

__all__ = ["copy"]


@kernel
def copy(source: Array, out: Array) -> None:
    """out ← source, of the same shape."""
    one, other = source.reshape(source.size), out.reshape(out.size)
    for k in range(len(one)):
        other[k] = one[k]
