"""Hard limits while a world runs: the bounds that a step may not cross, and what to say where a joint is beyond them.

A barrier needs room. A joint that starts on a bound, or within 1e-6·min(1, u − l) of it, gets that much of it behind
the bound, once and for all; everywhere else the bound is the one that was asked for.
"""

from __future__ import annotations

import numpy as np

from dovetail.constitution.place import Place
from dovetail.solver.joint.coordinates import Coordinates
from dovetail.typing import Array
from dovetail.world.lower.lowered import LawOnJoints

__all__ = ["keep_inside"]

_ROOM = 1e-6


def keep_inside(use: LawOnJoints, slacks: Array, coordinates: Coordinates, where: str) -> None:
    """Put the bounds of a hard limit, as just read, where the barrier has them; refuse joints beyond them.

    slacks (m, 2) is how far behind the bounds that were asked for those are, of the whole batch; `where` names the
    coordinate. Room is given the first time.
    """
    stops = use.laws
    lower, upper, strength = stops.p[use.rows, :3].T
    hard = np.isinf(strength)
    x = coordinates.value[stops.of[use.rows]]
    place = Place(use.entry.kind.__name__, "joint", use.entry.count, use.entry.slot.object_name)
    unit = use.coordinate.unit
    empty = np.flatnonzero(hard & ~(upper > lower))
    if empty.size:
        at = int(empty[0])
        raise place.error(f"has lower = upper = {lower[at]:g} [{unit}]; a hard limit needs a range, give one.", at)
    room = _ROOM * np.minimum(1.0, upper - lower)
    slack = slacks[use.rows]
    fresh = np.isnan(slack[:, 0]) & hard
    gaps = np.stack([x - lower, upper - x], axis=1)
    slack[fresh] = np.clip(room[:, None] - gaps, 0.0, 2.0 * room[:, None])[fresh]
    gaps += np.where(hard[:, None], slack, 0.0)
    outside = np.flatnonzero(hard & ~(gaps > 0.0).all(axis=1))
    if outside.size:
        at = int(outside[0])
        offset = use.entry.elements.slot(use.base_word.offset).values[at] if use.base_word.offset else 0.0
        low, high, value = (float(v[at] + offset) for v in (lower, upper, x))
        by = max(low - value, value - high)
        raise place.error(
            f"has {where} = {value:g} [{unit}], which is {by:.3g} outside of its hard limits {low:g} … {high:g}; move "
            "the bodies inside or the bounds outside, or give the limit a finite strength.",
            at,
        )
    stops.p[use.rows, 0] -= np.where(hard, slack[:, 0], 0.0)
    stops.p[use.rows, 1] += np.where(hard, slack[:, 1], 0.0)
