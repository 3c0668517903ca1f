"""Islands: bodies that influence each other within a Newton step, and are thus stepped and finished together.

Two bodies are in one island if a joint or lagged friction couples them, or if the step at hand might bring them
into contact. Fixed bodies couple nothing. Each island has its own energy, step length and convergence, so a
mechanism that has settled does not wait for one that has not, one collision does not hold back the whole scene,
and the Newton direction of coupled bodies is never scaled in parts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import Record, f8, i8, integer
from dovetail.solver.natural import natural
from dovetail.typing import Array, Flags, Indices

__all__ = [
    "Islands",
    "begin_islands",
    "components",
    "finish_islands",
    "mark_pairs",
    "number_islands",
    "restart_islands",
    "separate_islands",
    "unite",
    "unite_pairs",
]


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
def unite_pairs(parent: Indices, is_free: Indices, pairs: Indices, count: int) -> None:
    """Unite the first `count` pairs of free bodies."""
    for k in range(count):
        a, b = pairs[k, 0], pairs[k, 1]
        if b >= 0 and is_free[a] and is_free[b]:
            unite(parent, a, b)


@kernel
def mark_pairs(pairs: Indices, count: int, out: Indices) -> None:
    """out[b] ← 1 for the bodies in the first `count` rows."""
    for k in range(count):
        for side in range(2):
            b = pairs[k, side]
            if b >= 0:
                out[natural(b)] = 1


def components(nodes: int, pairs: Indices) -> Indices:
    """For every node (nodes,) the smallest one that pairs (k, 2) connect it with."""
    parent = np.arange(nodes)
    unite_pairs(parent, np.ones(nodes, np.int64), np.ascontiguousarray(pairs), len(pairs))
    while not np.array_equal(parent, parent[parent]):
        parent = parent[parent]
    return parent


class Islands(Record):
    """Which island each body is in, and how far each has come. Of what is by island, `count` entries are valid.

    of (n,)               island of a body, −1 where it is fixed
    is_free (n,)          1 for bodies that can move
    unconverged (n,)      1 for bodies that can move until their island has converged
    marks (n,)            1 for bodies that a guard is concerned with in the step at hand
    on_exact_joint (n,)   1 for bodies on exact joints
    mechanism (n,)        island of a body by joints alone
    gaps (n,)             1 for bodies whose exact joints may be open within the step at hand: it was curved
    parent, joined        sets of bodies in the making, and the pairs (k, 2) that joints unite

    by island:

    running, guarded, has_exact    1 where it has not converged, a guard is concerned, a body is on an exact joint
    size, before, by_body (n,)     of its step in units of the tolerances, and of the last one, also by body
    step, rate, taken              largest motion [m] and change of an entry of A in its last step, and their number
    alpha                          share of the step that it takes
    changing                       1 where the step changes forces too much to be the last (steady.py)
    total, limit, noise            energy, what it must not exceed, and what of that round-off may make
    done, last, curved             1 where it ends, where a whole step is the last, where the step is curved
    bends, bent                    1 where a drive comes to its cap within the step, or off it; how often, see caps.py
    tried, shortest, ended         islands that are tried on the guess, see convergence.py

    are_by_joints says whether joints alone make the islands.
    """

    count: int = integer()
    of: Indices = i8(1)
    is_free: Indices = i8(1)
    unconverged: Indices = i8(1)
    marks: Indices = i8(1)
    on_exact_joint: Indices = i8(1)
    mechanism: Indices = i8(1)
    gaps: Indices = i8(1)
    parent: Indices = i8(1)
    joined: Indices = i8(2)
    running: Indices = i8(1)
    guarded: Indices = i8(1)
    has_exact: Indices = i8(1)
    size: Array = f8(1)
    before: Array = f8(1)
    by_body: Array = f8(1)
    step: Array = f8(1)
    rate: Array = f8(1)
    taken: Indices = i8(1)
    alpha: Array = f8(1)
    changing: Indices = i8(1)
    total: Array = f8(1)
    limit: Array = f8(1)
    noise: Array = f8(1)
    done: Indices = i8(1)
    last: Indices = i8(1)
    curved: Indices = i8(1)
    bends: Indices = i8(1)
    bent: Indices = i8(1)
    tried: Indices = i8(1)
    shortest: Array = f8(1)
    ended: Indices = i8(1)

    def __init__(self, is_free: Indices, joined: Indices, on_exact_joint: Indices) -> None:
        n = len(is_free)
        free = np.ascontiguousarray(is_free, np.int64)
        given: dict[str, Any] = {
            "count": 0, "is_free": free, "unconverged": free.copy(), "parent": np.arange(n),
            "on_exact_joint": np.ascontiguousarray(on_exact_joint, np.int64),
            "joined": np.ascontiguousarray(joined, np.int64),
        }  # fmt: skip
        rest = {name: np.zeros(n, field.dtype) for name, field in self.fields.items() if name not in given}
        super().__init__(**given, **rest)
        self.are_by_joints = False
        self._rows = np.empty((0, n))
        restart_islands(self)
        self.by_joints()
        self.mechanism[:] = self.of

    def rows(self, count: int) -> Array:
        """Room for at least so many numbers of each island, with arbitrary contents."""
        if count > len(self._rows):
            self._rows = np.empty((count, len(self.of)))
        return self._rows

    def separate(self) -> Indices:
        """Start from the joints alone; the parents of the sets, to be united further before `number`."""
        separate_islands(self)
        self.are_by_joints = False
        return self.parent

    def number(self) -> bool:
        """Number the islands; one runs if any of its bodies does. True if a body runs that did not."""
        count, revived = number_islands(self)
        if count != self.count:
            self.count = count
        return bool(revived)

    def by_joints(self) -> None:
        """Let joints alone make the islands."""
        if not self.are_by_joints:
            self.separate()
            self.number()
            self.are_by_joints = True

    def begin(self) -> None:
        """Start a step: joints alone make the islands, all of which run, and nothing is known of steps."""
        self.by_joints()
        begin_islands(self)

    def renew(self) -> None:
        """A step was broken off: joints alone make the islands, and all bodies run."""
        self.count, self.are_by_joints = 0, False
        self.by_joints()
        restart_islands(self)

    def mechanisms_of(self, some: Flags) -> Flags:
        """True for all bodies (n,) that joints connect to one of these (n,); fixed bodies connect nothing."""
        marked = np.zeros(len(self.of) + 1, np.bool_)
        marked[self.mechanism[some]] = True
        marked[-1] = False
        found: Flags = marked[self.mechanism]
        return found

    def sum(self, values: Array) -> Array:
        """Sum of values (n,) over the bodies of each island (m,)."""
        return np.bincount(self.of + 1, values, self.count + 1)[1:].astype(float)  # the first are those of none


@kernel
def separate_islands(s: Islands) -> None:
    """Sets of bodies that joints unite."""
    for b in range(len(s.parent)):
        s.parent[b] = b
    unite_pairs(s.parent, s.is_free, s.joined, len(s.joined))


@kernel
def number_islands(s: Islands) -> tuple[int, bool]:
    """of ← island of each body, −1 where fixed; all bodies of an island are unconverged if one of them is.

    What is known by body (marks, exact joints, sizes) becomes known by island. Returns the number of islands and
    whether a body runs that did not.
    """
    of, unconverged, running = s.of, s.unconverged, s.running
    for b in range(len(of)):
        if of[b] >= 0 and s.count > 0:
            s.by_body[b] = s.before[of[b]]
    count = 0
    for b in range(len(of)):
        if not s.is_free[b]:
            of[b] = -1
        elif s.parent[b] == b:
            of[b] = count
            running[count] = s.guarded[count] = s.has_exact[count] = 0
            s.before[count] = -1.0
            count += 1
        else:
            # a parent precedes its members, so it already has its number
            of[b] = of[s.parent[b]]
    for b in range(len(of)):
        m = of[b]
        if m >= 0:
            running[m] |= unconverged[b]
            s.guarded[m] |= s.marks[b]
            s.has_exact[m] |= s.on_exact_joint[b]
            # islands that are what they were keep their sizes
            s.before[m] = s.by_body[b] if s.before[m] < 0.0 or s.before[m] == s.by_body[b] else math.inf
    revived = False
    for b in range(len(of)):
        if of[b] >= 0 and running[of[b]] and not unconverged[b]:
            unconverged[b] = 1
            revived = True
    return count, revived


@kernel
def restart_islands(s: Islands) -> None:
    """Let all bodies run."""
    for b in range(len(s.of)):
        s.unconverged[b] = s.is_free[b]
    for m in range(s.count):
        s.running[m] = 1


@kernel
def begin_islands(s: Islands) -> None:
    restart_islands(s)
    for m in range(s.count):
        s.before[m] = math.inf
        s.guarded[m] = s.taken[m] = s.bent[m] = 0
    for b in range(len(s.of)):
        s.gaps[b] = 0
        if s.of[b] >= 0:
            s.guarded[s.of[b]] |= s.marks[b]


@kernel
def finish_islands(s: Islands, done: Indices) -> None:
    """Stop the islands where `done` (≥ m,) is not 0."""
    for b in range(len(s.of)):
        if s.of[b] >= 0 and done[s.of[b]]:
            s.unconverged[b] = 0
    for m in range(s.count):
        if done[m]:
            s.running[m] = 0
