"""Gradients by the attributes of couplings x_f = ratio·x_l + offset, from those by their rows or energies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dovetail.gradient.sums import Sums
from dovetail.typing import Array

if TYPE_CHECKING:
    from dovetail.world.lower.coupling import Couplings
    from dovetail.world.lower.lowered import JointGeometry

__all__ = ["coupling_gradients", "weighed_couplings"]


def coupling_gradients(couplings: Couplings, numbers: slice, attribute: str, sums: Sums) -> Array:
    """(T, k) by an attribute of some couplings; w = (1, −ratio), c = offset − x̂_f + ratio·x̂_l with shifts x̂."""
    columns = []
    for k in range(numbers.start, numbers.stop):
        follower, leader = couplings.ends[k]
        place = couplings.place(k)
        if couplings.is_exact[k]:
            by_c = sums.steps["combined/target"][:, -couplings.exact_count + place]
            by_leader = sums.steps["combined/weight"][:, 2 * (place - couplings.exact_count) + 1]
            by_ratio, by_K = -by_leader, np.full_like(by_c, np.nan)
        else:
            by_c, by_ratio = sums.steps["soft/offset"][:, place], sums.steps["soft/ratio"][:, place]
            by_K = sums.steps["soft/strength"][:, place] * follower.entry.mass[follower.index]
        found = {"offset": by_c, "ratio": by_ratio + leader.shift * by_c, "strength_ratio": by_K}
        columns.append(found[attribute])
    return np.stack(columns, axis=1)


def weighed_couplings(couplings: Couplings, sums: Sums) -> Iterator[tuple[JointGeometry, Array]]:
    """Joint geometries with the gradients (k,) by ln K of couplings, weighed by the mass on their followers."""
    for k in np.flatnonzero(~couplings.is_exact).tolist():
        follower, _ = couplings.ends[k]
        both, place = np.zeros(follower.entry.count), couplings.place(k)
        assert couplings.soft is not None
        both[follower.index] = sums.steps["soft/strength"][:, place].sum() * couplings.soft.matrix(place)[0, 0]
        yield follower.entry, both
