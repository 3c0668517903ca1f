"""The floor of round-off: islands whose steps get no shorter and change no energy end there, tolerances or not.

A tolerance can be below what arithmetic resolves, where bodies are stiff or far from the origin. Steps are then what
round-off in the gradient makes of them, of a size that stays. An island that is free to take all of such a step takes
half of it: where Newton's method swings between two states of the same energy, that is lower halfway, and the island
goes on; where it is the same to round-off there is nothing left to be gained.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.solver.islands import Islands
from dovetail.solver.iterate import SLACK
from dovetail.typing import Flags

__all__ = ["PATIENCE", "Floor"]

PATIENCE = 8  # iterations before anyone asks whether steps still get shorter
_SHRINK = 0.97  # of the shortest step so far: below that one is progress, slow as it may be
_STALLS = 4  # steps in a row that are none and change no energy, after which the next is halved


class Floor:
    """How the steps of one time step have developed: by body, for islands change."""

    def __init__(self, bodies: int) -> None:
        self._shortest = np.full(bodies, math.inf)
        self._stalls = np.zeros(bodies, np.int64)

    def halve_stalled(self, islands: Islands) -> Flags:
        """α ← 1/2 in islands (m,) that may take all of a step, but whose steps have stalled; which they are."""
        m = islands.count
        stalled: Flags = islands.sum((self._stalls < _STALLS).astype(float)) == 0.0
        stalled &= (islands.running[:m] > islands.done[:m]) & (islands.alpha[:m] == 1.0) & (islands.size[:m] < math.inf)
        islands.alpha[:m][stalled] = 0.5
        return stalled

    def end_stalled(self, islands: Islands, stalled: Flags) -> int:
        """done ← also stalled islands (m,) whose energy has not changed but by noise; how many."""
        m = islands.count
        limit, noise = islands.limit[:m], islands.noise[:m]
        is_same = np.abs(islands.total[:m] - limit) <= 2.0 * (SLACK * np.abs(limit) + noise)
        size = np.append(islands.size[:m], 0.0)[islands.of]
        stalls = np.append(is_same, False)[islands.of] & (size >= _SHRINK * self._shortest)
        self._stalls = np.where(stalls, self._stalls + 1, 0)
        np.minimum(self._shortest, size, out=self._shortest)
        ends = stalled & is_same & (islands.done[:m] == 0)
        islands.done[:m] |= ends
        return int(ends.sum())
