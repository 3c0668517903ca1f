"""Nets: mechanisms in which points are all that couples bodies, and for which the forces in them are less work.

Chains and trees have as many points as bodies and a factor without fill: blocks of 12×12 are best. Where loops make the
factor fill up, the forces in the points do, with blocks of 3×3 (linear/dual.py).
"""

from __future__ import annotations

import numpy as np

from dovetail.solver.islands import Islands
from dovetail.solver.linear.ordering import structure_of
from dovetail.solver.linear.points import neighbours
from dovetail.solver.potential import Potential
from dovetail.typing import Flags, Indices

__all__ = ["Nets"]

_ALONE = 4000.0  # multiply–adds for the block of a single body, with four points
_SLOWER = 4.0  # what a multiply–add costs in blocks of 3×3 over what it does in blocks of 12×12 (benchmarks/linear.py)


class Nets:
    """Which mechanisms are nets, and the pairs of bodies (k, 2) that all contributions couple."""

    def __init__(self, potential: Potential, islands: Islands, always: bool = False, never: bool = False) -> None:
        self._mechanism = islands.mechanism
        self.pairs = potential.pairs
        self._is_point = np.arange(len(self.pairs)) < potential.points.count
        count = int(islands.mechanism.max(initial=-1)) + 2
        inside = np.zeros(count, np.bool_)
        if not never:
            both = (islands.is_free[self.pairs] != 0).all(axis=1)
            inside[self._mechanism[self.pairs[both & self._is_point]]] = True
            inside[self._mechanism[self.pairs[both & ~self._is_point]]] = False
            # without inertia the block of one body alone is singular
            inside[self._mechanism[potential.bodies.kinetic == 0.0]] = False
            inside[-1] = False  # of fixed bodies
            if inside.any() and not always:
                points = self.pairs[self._is_point & inside[self._mechanism[self.pairs]].any(axis=1)]
                inside &= _pays(np.where(islands.is_free[points] != 0, points, -1), self._mechanism, count)
        self._inside = inside

    def split(self, touching: Indices) -> tuple[Indices, Indices]:
        """Pairs that blocks couple, those that touch (k, 2) among them, and the pairs of the points (t, 2) of nets.

        A net that touches another body is none for now.
        """
        inside = self._inside.copy()
        inside[self._mechanism[touching]] = False
        taken = inside[self._mechanism[self.pairs]].any(axis=1)
        return np.concatenate([self.pairs[~taken], touching]), self.pairs[taken & self._is_point]


def _pays(rows: Indices, mechanism: Indices, count: int) -> Flags:
    """For which of the mechanisms (count,) forces are less work than blocks; rows (t, 2) are the bodies of points."""
    by_forces = structure_of(len(rows), neighbours(rows))
    work = _SLOWER * np.bincount(mechanism[rows.max(axis=1)], by_forces.work(3)[by_forces.position], count)
    free = np.unique(rows[rows >= 0])
    work += _ALONE * np.bincount(mechanism[free], minlength=count)
    by_blocks = structure_of(len(mechanism), rows[(rows >= 0).all(axis=1)])
    pays: Flags = work < np.bincount(mechanism[free], by_blocks.work(12)[by_blocks.position[free]], count)
    return pays
