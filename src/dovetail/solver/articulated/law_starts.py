"""Laws at the start of a step by sweeps: consistent.py and law_start.py, with the weights in P as rows of the sweep.

An acting coordinate x has weight w of ∇x∇xᵀ in the filter P, and a pull s along ∇x on the right-hand side. As a row of
the sweep that is P₀y = g + λ∇x with the force λ = s − w ∇x·y, P₀ being P without it:

    s/w − ∇x·y = λ/w          a joint row with residual s/w and compliance 1/w

V̂ = P⁻¹(M Vₙ − drift/h) is asked for first, the slopes of rates and curvatures follow from it, and Â by another sweep.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.articulated.arrays import SweepArrays
from dovetail.solver.articulated.special_rows import SpecialRows, place_row
from dovetail.solver.assembly.start import FAR
from dovetail.solver.contribution import Start
from dovetail.solver.joint.coordinates import compliance
from dovetail.solver.joint.law_start import bend_of, rate_along, start_of
from dovetail.solver.joint.laws import Laws, locate_law
from dovetail.typing import Array, Indices

__all__ = ["Calls", "LawStarts"]

Calls: TypeAlias = list[tuple[Any, ...]]
"""Kernels with their arguments."""

_WEIGHT, _SLOPE, _MOVED = range(3)
"""Rows of what is measured (3, a) of acting coordinates: weight of ∇x∇xᵀ, slope and drift along ∇x."""


@kernel
def _measure(laws: Laws, start: Start, triple: Indices, measured: Array) -> None:
    """measured (3, a) ← those of acting coordinates with a triple (a,), located at the start."""
    c, h = laws.coordinates, start.h
    size = 3 * c.widest
    F, dx, d2x = np.empty(size), np.empty(size), np.zeros(size * size)
    room, d = np.empty(laws.longest + 1), np.zeros((4, 3))
    for i in range(len(laws.acting)):
        locate_law(laws, i, start.Q, F, dx, d2x)
        if triple[i] < 0:
            continue
        k, x, J = laws.acting[i], laws.x[i], laws.J[i]
        left, right = c.left[k], c.right[k]
        rate, yields = rate_along(J, left, right, start.V), compliance(J, left, right, start.mass_inverse)
        found = start_of(laws, i, x, rate, yields, 0, h, start.ratio, room, d)
        measured[_WEIGHT, i], measured[_SLOPE, i], measured[_MOVED, i] = found


@kernel
def _bend(laws: Laws, start: Start, triple: Indices, measured: Array) -> None:
    """Slopes += h² weight (Ḟ·∇²x Ḟ) along V̂, and those of rate laws with the targets of the last step."""
    size = 3 * laws.coordinates.widest
    F, dx, d2x = (np.empty(size), np.empty(size)), np.empty(size), np.empty(size * size)
    room, d = np.empty(laws.longest + 1), np.zeros((2, 3))
    for i in range(len(laws.acting)):
        if triple[i] >= 0:
            measured[_SLOPE, i] += bend_of(laws, start, i, measured[_WEIGHT, i], 0, F, dx, d2x, room, d)


@kernel
def _place(
    laws: Laws, triple: Indices, number: Indices, row: Indices, flipped: Indices, mass_inverse: Array, s: SweepArrays,
    measured: Array, which: int, scale: float,
) -> None:  # fmt: skip
    """Rows of the sweep ← the weights, with `scale` times slopes or drifts as pulls; triple (a,) is −1 in no tree."""
    c = laws.coordinates
    for i in range(len(laws.acting)):
        if triple[i] >= 0:
            k, pull = laws.acting[i], scale * measured[which, i]
            resists = compliance(laws.J[i], c.left[k], c.right[k], mass_inverse)
            place_row(laws.J[i], resists, pull, measured[_WEIGHT, i], (triple[i], number[i], row[i]), flipped, s)


class LawStarts:
    """The laws of trees at a start."""

    def __init__(self, rows: SpecialRows) -> None:
        assert rows.placed_laws is not None
        self._laws, self._triple, *self._places = rows.placed_laws
        self._measured = np.zeros((3, len(self._laws.acting)))

    def for_velocity(self, start: Start, h: float) -> Calls:
        """What makes them rows of a sweep for FAR times V̂, in a step of length h."""
        return [(_measure, self._laws, start, self._triple, self._measured), self._placing(_MOVED, -FAR / h)]

    def for_acceleration(self, start: Start) -> Calls:
        """The same for −h²Â, once V̂ is known."""
        return [(_bend, self._laws, start, self._triple, self._measured), self._placing(_SLOPE, 1.0)]

    def _placing(self, which: int, scale: float) -> tuple[Any, ...]:
        return _place, self._laws, self._triple, *self._places, self._measured, which, scale
