"""Nets: mechanisms in which points are all that couples bodies, and for which the forces in them are less work.

Chains and trees have as many points as bodies and a factor without fill: blocks of 12×12 are best. Where loops make the
factor fill up, the forces in the points do, with blocks of 3×3 (linear/dual.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.solver.contribution import Contribution
from dovetail.solver.linear.ordering import structure_of
from dovetail.solver.linear.points import neighbours
from dovetail.typing import Flags, Indices

__all__ = ["Couplings"]

_ALONE = 4000.0  # multiply–adds for the block of a single body, with four points
_SLOWER = 4.0  # what a multiply–add costs in blocks of 3×3 over what it does in blocks of 12×12


class Couplings:
    """Pairs of bodies (k, 2) that contributions couple, and which of them are points in nets.

    There are nets only where nothing but these contributions may couple bodies (`all_known`).
    """

    def __init__(self, contributions: Sequence[Contribution], all_known: bool) -> None:
        self.pairs = np.concatenate([c.pairs() for c in contributions])
        self._is_point = np.concatenate([np.arange(len(c.pairs())) < c.points for c in contributions]) & all_known
        self._divided: tuple[Indices, Indices] | None = None

    def split(
        self, position: Indices, mechanism: Indices, apart: Indices, touching: Indices
    ) -> tuple[Indices, Indices]:
        """Pairs that are coupled by blocks, those that touch among them, and pairs of the points (t, 2) in nets.

        position (n,) is below zero for fixed bodies, mechanism (n,) says what joints hold together, apart are bodies
        that cannot be in a net: without inertia the block of one alone is singular. Nets are found once.
        """
        if self._divided is None:
            pairs, is_point, free = self.pairs, self._is_point, position >= 0
            inside = np.zeros(mechanism.max(initial=-1) + 2, np.bool_)
            both = free[pairs].all(axis=1)
            inside[mechanism[pairs[both & is_point]]] = True
            inside[mechanism[pairs[both & ~is_point]]] = False
            inside[mechanism[apart]] = False
            inside[-1] = False  # of fixed bodies
            if inside.any():
                points = pairs[is_point & inside[mechanism[pairs]].any(axis=1)]
                inside &= _pays(np.where(free[points], points, -1), len(position), mechanism, len(inside))
            taken = inside[mechanism[pairs]].any(axis=1)
            self._divided = pairs[~taken], pairs[taken & is_point]
        by_blocks, points = self._divided
        return np.concatenate([by_blocks, touching]), points


def _pays(rows: Indices, bodies: int, mechanism: Indices, count: int) -> Flags:
    """For which of the mechanisms (count,) forces are less work than blocks; rows (t, 2) are the bodies of points."""
    by_forces = structure_of(len(rows), neighbours(rows))
    work = _SLOWER * np.bincount(mechanism[rows.max(axis=1)], by_forces.work(3)[by_forces.position], count)
    free = np.unique(rows[rows >= 0])
    work += _ALONE * np.bincount(mechanism[free], minlength=count)
    by_blocks = structure_of(bodies, rows[(rows >= 0).all(axis=1)])
    pays: Flags = work < np.bincount(mechanism[free], by_blocks.work(12)[by_blocks.position[free]], count)
    return pays
