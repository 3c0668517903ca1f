"""Copies by entries: a slice would bring Numba's message for shapes that do not fit, which takes 2 s to compile."""

from __future__ import annotations

from dovetail.kernel.kernel import kernel
from dovetail.typing import Array

__all__ = ["copy_matrices", "copy_matrix"]


@kernel
def copy_matrix(source: Array, out: Array) -> None:
    """out ← source, both (k, m)."""
    for k in range(len(source)):
        for i in range(source.shape[1]):
            out[k, i] = source[k, i]


@kernel
def copy_matrices(source: Array, out: Array) -> None:
    """out ← source, both (n, k, m)."""
    for b in range(len(source)):
        copy_matrix(source[b], out[b])
