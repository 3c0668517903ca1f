"""Rows of small matrices, eight entries at a time: what plain places of the sweep spend most of their time on.

Compilers see loops over some entries whose number they do not know, and hardly use registers of eight for these. Places
are counted in doubles from the first entry of a matrix.
"""

from __future__ import annotations

from typing import Any

from dovetail.kernel.emit import LANES, Emitter, emitted
from dovetail.kernel.kernel import jit_enabled
from dovetail.typing import Array

__all__ = ["multiply_eight", "subtract_eight"]


def multiply_eight(Z: Array, wide: int, r: int, q: int, A: Array, at: int) -> None:
    """Eight entries of A from `at` on ← Σ Z[k, r] Z[k, q …] over the twelve rows of Z, which are `wide`."""
    A.reshape(-1)[at : at + LANES] = Z[:, r] @ Z[:, q : q + LANES]


def subtract_eight(A: Array, at: int, factor: int, pivot: int) -> None:
    """Eight entries of A from `at` on −= that at `factor` times those from `pivot` on."""
    entries = A.reshape(-1)
    entries[at : at + LANES] -= entries[factor] * entries[pivot : pivot + LANES]


if jit_enabled:

    @emitted("Z, wide, r, q, A, at")
    def multiply_eight(e: Emitter) -> None:
        """The same in registers."""
        total: Any = 0.0
        for k in range(12):
            row = e.times(e.index(1), k)
            entry = e.scalars(0, e.plus(row, e.index(2))).at(0)
            total = total + e.wide(entry) * e.lanes(0, e.plus(row, e.index(3))).at(0)
        e.lanes(4, e.index(5)).put(0, total)

    @emitted("A, at, factor, pivot")
    def subtract_eight(e: Emitter) -> None:
        """The same in registers."""
        row, factor = e.lanes(0, e.index(1)), e.scalars(0, e.index(2)).at(0)
        row.put(0, row.at(0) - e.wide(factor) * e.lanes(0, e.index(3)).at(0))
