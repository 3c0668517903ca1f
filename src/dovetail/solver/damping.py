"""Inertia added where steps are blocked: H + σM with σ by island.

A step that slides along a surface while the surface turns closes its gap to second order: continuous collision
detection lets less and less of it through, and Newton's method creeps. With σ > 0 the next step is shorter and turns
towards steepest descent, as in Levenberg's and Marquardt's method, so that most of it is free. σ grows while little of
a step is free, and goes once steps are free again.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["Damping", "damp"]

_BLOCKED = 0.25  # share of a step below which it counts as blocked; at 0.15 the wrecking ball creeps
_FREE = 0.5  # and above which it counts as free
_FIRST = 1.0  # σ after the first blocked step: as much inertia again as a step of bdf1 has
_GROWTH = 4.0
_LEAST = 0.3  # σ below which it is dropped


@kernel
def damp(of: Indices, alpha: Array, size: Array, sigma: Array) -> bool:
    """σ (n,) ← σ for the next step, size (m,) ← what an undamped step might measure; whether any σ is left.

    alpha (m,) is the share of the present step that is free.
    """
    largest = np.zeros(len(alpha))
    for b in range(len(of)):
        if of[b] >= 0:
            largest[of[b]] = max(largest[of[b]], sigma[b])
    some = False
    for m in range(len(alpha)):
        size[m] *= 1.0 + largest[m]
        if alpha[m] < _BLOCKED:
            largest[m] = max(_GROWTH * largest[m], _FIRST)
        elif alpha[m] > _FREE:
            largest[m] /= _GROWTH
        if largest[m] < _LEAST:
            largest[m] = 0.0
        some = some or largest[m] > 0.0
    for b in range(len(of)):
        sigma[b] = largest[of[b]] if of[b] >= 0 else 0.0
    return some


@kernel
def _add_inertia(active: Indices, mass: Array, sigma: Array, D: Array) -> None:
    """D += σM of active bodies."""
    for b in range(len(active)):
        if not active[b] or sigma[b] == 0.0:
            continue
        for i in range(4):
            for j in range(4):
                for x in range(3):
                    D[b, 3 * i + x, 3 * j + x] += sigma[b] * mass[b, i, j]


class Damping:
    """σ of every body in the step at hand."""

    def __init__(self, mass: Array) -> None:
        self._mass, self.sigma, self.acts = mass, np.zeros(len(mass)), False

    def begin(self) -> None:
        """A new step begins without."""
        if self.acts:
            self.sigma.fill(0.0)
        self.acts = False

    def renew(self) -> None:
        """A step was broken off: nothing of it is left."""
        self.acts = True
        self.begin()

    def update(self, of: Indices, alpha: Array, size: Array) -> None:
        """Learn from a step of the islands of which α (m,) is free; size (≥ m,) ← that of an undamped one."""
        self.acts = bool(damp(of, alpha, size, self.sigma))

    def add(self, active: Indices, D: Array) -> None:
        """D += σM of active bodies."""
        if self.acts:
            _add_inertia(active, self._mass, self.sigma, D)
