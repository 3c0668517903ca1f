"""Islands: bodies that influence each other within a step, and are thus solved, stepped and finished together.

Two bodies are in one island if a joint, a possible contact or a lagged friction couples them; fixed bodies couple nothing. Each
island has its own energy, step length and convergence, so a mechanism that has settled does not wait for one that has not, and the
Newton direction of coupled bodies is never scaled in parts.
"""

from __future__ import annotations

import numpy as np

from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["Islands"]


@kernel
def _number(position: Indices, pairs: Indices, island: Indices) -> int:
    """island[b] ← number of the island of body b, −1 where it is fixed; returns how many there are."""
    for b in range(len(position)):
        island[b] = b
    for k in range(len(pairs)):
        a, b = pairs[k, 0], pairs[k, 1]
        if position[a] < 0 or position[b] < 0:
            continue
        while island[a] != a:
            island[a] = island[island[a]]
            a = island[a]
        while island[b] != b:
            island[b] = island[island[b]]
            b = island[b]
        if a < b:
            island[b] = a
        elif b < a:
            island[a] = b
    count = 0
    for b in range(len(position)):
        if position[b] < 0:
            island[b] = -1
        elif island[b] == b:
            island[b] = count
            count += 1
        else:
            # a parent precedes its members, so it already carries its number
            island[b] = island[island[b]]
    return count


@kernel
def _activate(island: Indices, position: Indices, running: Indices, active: Indices) -> None:
    """active (by position) ← whether the island of that body still runs."""
    for b in range(len(island)):
        if position[b] >= 0:
            active[position[b]] = running[island[b]]


class Islands:
    """Which island each body is in, and which islands still run.

    of (n,)           island of a body, −1 where it is fixed
    running (m,)      1 until the island has converged
    active (free,)    the same by position in the elimination order; shared with the block system
    """

    def __init__(self, position: Indices, pairs: Indices, active: Indices) -> None:
        self._position = position
        self.of = np.empty(len(position), np.int64)
        self.active = active
        self.divide(pairs)

    def divide(self, pairs: Indices) -> None:
        """Find the islands that these body pairs (k, 2) make; all of them run."""
        self.count = int(_number(self._position, np.ascontiguousarray(pairs, np.int64), self.of))
        self.restart()

    def merge(self, pairs: Indices) -> None:
        """Find the islands anew; one runs if any of its bodies did."""
        free = self._position >= 0
        ran = np.zeros(len(free), np.int64)
        ran[free] = self.active[self._position[free]]
        self.divide(pairs)
        self.running[:] = 0
        np.maximum.at(self.running, self.of[free], ran[free])
        self.reactivate()

    def reactivate(self) -> None:
        """Follow a change of positions."""
        _activate(self.of, self._position, self.running, self.active)

    def restart(self) -> None:
        """Let all islands run."""
        self.running = np.ones(self.count, np.int64)
        self.active[:] = 1

    def finish(self, done: Array) -> None:
        """Stop the islands where `done` (m,) is true."""
        self.running[done] = 0
        self.reactivate()
