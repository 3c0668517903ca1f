"""Islands: bodies that influence each other within a Newton step, and are thus stepped and finished together.

Two bodies are in one island if a joint or lagged friction couples them, or if the step at hand might bring them
into contact. Fixed bodies couple nothing. Each island has its own energy, step length and convergence, so a
mechanism that has settled does not wait for one that has not, one collision does not hold back the whole scene,
and the Newton direction of coupled bodies is never scaled in parts.
"""

from __future__ import annotations

import numpy as np

from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Flags, Indices

__all__ = ["Islands", "unite", "unite_pairs"]


@kernel
def unite(parent: Indices, a: int, b: int) -> None:
    """Put two bodies into one set; the root of a set is its smallest member."""
    while parent[a] != a:
        parent[a] = parent[parent[a]]
        a = parent[a]
    while parent[b] != b:
        parent[b] = parent[parent[b]]
        b = parent[b]
    if a < b:
        parent[b] = a
    elif b < a:
        parent[a] = b


@kernel
def unite_pairs(parent: Indices, position: Indices, pairs: Indices, count: int) -> None:
    """Unite the first `count` pairs of free bodies."""
    for k in range(count):
        a, b = pairs[k, 0], pairs[k, 1]
        if b >= 0 and position[a] >= 0 and position[b] >= 0:
            unite(parent, a, b)


@kernel
def _number(parent: Indices, position: Indices, runs: Indices, of: Indices, running: Indices) -> tuple[int, bool]:
    """of (n,) ← island of each body, −1 where fixed; bodies of islands that run are set running.

    Returns the number of islands and whether a body runs that did not.
    """
    count = 0
    for b in range(len(position)):
        if position[b] < 0:
            of[b] = -1
        elif parent[b] == b:
            of[b] = count
            running[count] = 0
            count += 1
        else:
            # a parent precedes its members, so it already has its number
            of[b] = of[parent[b]]
    for b in range(len(position)):
        if of[b] >= 0 and runs[b]:
            running[of[b]] = 1
    revived = False
    for b in range(len(position)):
        if of[b] >= 0 and running[of[b]] and not runs[b]:
            runs[b] = 1
            revived = True
    return count, revived


@kernel
def _activate(position: Indices, runs: Indices | Flags, active: Indices) -> None:
    for b in range(len(position)):
        if position[b] >= 0:
            active[position[b]] = runs[b]


@kernel
def _finish(of: Indices, done: Flags, runs: Indices) -> None:
    for b in range(len(of)):
        if of[b] >= 0 and done[of[b]]:
            runs[b] = 0


@kernel
def _total(of: Indices, E: Array, out: Array) -> None:
    for m in range(len(out)):
        out[m] = 0.0
    for b in range(len(of)):
        if of[b] >= 0:
            out[of[b]] += E[b]


class Islands:
    """Which island each body is in, and which bodies still run.

    of (n,)           island of a body, −1 where it is fixed
    runs (n,)         1 until the island of a body has converged
    running (m,)      the same by island
    active (free,)    the same by position in the elimination order; shared with the block system
    mechanism (n,)    island of a body by joints alone
    """

    def __init__(self, position: Indices, joined: Indices, active: Indices) -> None:
        self._position, self._joined = position, joined
        self._themselves = np.arange(len(position))
        self._parent = np.empty(len(position), np.int64)
        self._running = np.empty(len(position), np.int64)
        self.of = np.empty(len(position), np.int64)
        self.runs = np.ones(len(position), np.int64)
        self.active = active
        self._some_finished = True
        self.separate()
        self.number()
        self.mechanism = self.of.copy()

    def separate(self) -> Indices:
        """Start from the joints alone; the parents of the sets, to be united further before `number`."""
        self._parent[:] = self._themselves
        unite_pairs(self._parent, self._position, self._joined, len(self._joined))
        return self._parent

    def number(self) -> bool:
        """Number the islands; one runs if any of its bodies does. True if a body runs that did not."""
        self.count, revived = _number(self._parent, self._position, self.runs, self.of, self._running)
        self.running = self._running[: self.count]
        if revived:
            self.reactivate()
        return bool(revived)

    def mechanisms_of(self, some: Flags) -> Flags:
        """True for all bodies (n,) that joints connect to one of these (n,); fixed bodies connect nothing."""
        marked = np.zeros(len(self.of) + 1, np.bool_)
        marked[self.mechanism[some]] = True
        marked[-1] = False
        found: Flags = marked[self.mechanism]
        return found

    def restart(self) -> None:
        """Let all bodies run."""
        if self._some_finished:
            self.runs.fill(1)
            self.running.fill(1)
            self.active.fill(1)
            self._some_finished = False

    def finish(self, done: Flags) -> None:
        """Stop the islands where `done` (m,) is true."""
        self._some_finished = True
        _finish(self.of, done, self.runs)
        self.running[done] = 0
        self.reactivate()

    def reactivate(self) -> None:
        """Follow a change of positions or of what runs."""
        _activate(self._position, self.runs, self.active)

    def select(self, bodies: Flags) -> None:
        """Let the rows of some bodies (n,) alone be active, until the next `restart`."""
        _activate(self._position, bodies, self.active)

    def ones(self) -> Array:
        """A new array with a 1 for every island."""
        alpha = np.empty(self.count)
        alpha.fill(1.0)
        return alpha

    def none(self) -> Flags:
        """A new array with False for every island."""
        return np.zeros(self.count, np.bool_)

    def total(self, E: Array) -> Array:
        """Sum over the bodies of each island."""
        out = np.empty(self.count)
        _total(self.of, E, out)
        return out
