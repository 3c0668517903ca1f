"""Hard limits while a world runs: the bounds that a step may not cross, and what to say where a joint is beyond them.

A barrier needs room. A joint that starts on a bound, or within 1e-6·min(1, u − l) of it, gets that much of it behind
the bound, once and for all; everywhere else the bound is the one that was asked for.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dovetail.solver.joint.coordinates import Coordinates
from dovetail.solver.joint.laws import LawBatch
from dovetail.typing import Array, Flags

__all__ = ["Refuse", "keep_inside"]

_ROOM = 1e-6


class Refuse(Protocol):
    """Raises for a joint of the batch; the text may hold {low}, {high}, {x}, {name} and {unit}."""

    def __call__(self, row: int, text: str, low: float, high: float, x: float) -> None: ...


def keep_inside(stops: LawBatch, slack: Array, coordinates: Coordinates, refuse: Refuse) -> None:
    """Put the bounds of hard limits, as just read, where the barrier has them; refuse joints beyond them.

    slack (m, 2) is how far behind the bounds that were asked for those are. Room is given the first time.
    """
    lower, upper, strength = stops.p[:, :3].T
    hard = np.isinf(strength)
    x = coordinates.value[stops.of]

    def complain(bad: Flags, text: str) -> None:
        for row in np.flatnonzero(bad)[:1].tolist():
            refuse(row, text, float(lower[row]), float(upper[row]), float(x[row]))

    empty = hard & ~(upper > lower)
    bound = lower[int(np.argmax(empty))]
    complain(empty, f"has lower = upper = {bound:g} [{{unit}}]; a hard limit needs a range, give one.")
    room = _ROOM * np.minimum(1.0, upper - lower)
    fresh = np.isnan(slack[:, 0]) & hard
    gaps = np.stack([x - lower, upper - x], axis=1)
    slack[fresh] = np.clip(room[:, None] - gaps, 0.0, 2.0 * room[:, None])[fresh]
    by = np.maximum(lower - x, x - upper)
    gaps += np.where(hard[:, None], slack, 0.0)
    outside = hard & ~(gaps > 0.0).all(axis=1)
    complain(
        outside,
        f"has {{name}} = {{x:g}} [{{unit}}], which is {by[int(np.argmax(outside))]:.3g} outside of its hard limits "
        "{low:g} … {high:g}; move the bodies inside or the bounds outside, or give the limit a finite strength.",
    )
    lower -= np.where(hard, slack[:, 0], 0.0)
    upper += np.where(hard, slack[:, 1], 0.0)
