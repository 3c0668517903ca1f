"""Rows of joints by place in the trees: which triples a body shares with its parent, and which with fixed bodies.

Fixed bodies that hold a root are its parent, which tells nothing: so it is a body like all others.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.emit import LANES
from dovetail.solver.articulated.layout import stride
from dovetail.solver.articulated.tree import Forest
from dovetail.typing import Indices

__all__ = ["Rows"]


class Rows:
    """Triples of rows of all joints in a forest, sorted: first those to parents, then those to fixed bodies, by place.

    upward, ground (m + 1,)       triples of place i to its parent and to fixed bodies: upward[i] … upward[i+1] − 1
    source (t,)                   number of a triple in the order it was given in
    flipped (t,)                  1 where the right body is the near one, the child (or the free one)
    other (t,)                    the far body: the parent, or the fixed one
    near (t,)                     the near body
    row_at (t + 1,)               rows before a triple: it has up to three, and what is beyond them is idle
    phi_start (m,), y_start (m + 1,)   where the sweep keeps its blocks of each place; phi_size of all
    widest                        most rows on one body
    """

    def __init__(self, forest: Forest, left: Indices, right: Indices, lengths: Indices) -> None:
        """Triples between bodies with `lengths` rows each, (t,) all three."""
        m = forest.count
        at_left, at_right = forest.place[left], forest.place[right]
        # a fixed body has place −1; of two free ones the child comes later
        self.flipped = (at_right > at_left).astype(np.int64)
        near = np.maximum(at_left, at_right)
        grounded = (np.minimum(at_left, at_right) < 0) & (forest.parent[near] >= 0)
        self.source = np.lexsort((near, grounded))
        joints_up, joints_ground = near[~grounded], near[grounded]
        self.upward = np.concatenate([[0], np.cumsum(np.bincount(joints_up, minlength=m))])
        self.ground = self.upward[-1] + np.concatenate([[0], np.cumsum(np.bincount(joints_ground, minlength=m))])
        self.flipped = np.ascontiguousarray(self.flipped[self.source])
        self.other = np.where(self.flipped, left[self.source], right[self.source])
        self.near = forest.body[near[self.source]]
        self.row_at = np.concatenate([[0], np.cumsum(lengths[self.source])])
        mine = np.diff(self.row_at[self.upward])
        below = np.diff(self.row_at[self.upward[forest.children]]) + np.diff(self.row_at[self.ground])
        width = stride(mine)
        size = mine * width
        before = np.cumsum(size) - size
        level = forest.level
        first = np.searchsorted(level, np.arange(level.max(initial=-1) + 1))
        offset = before - before[first][level]
        # what a level tells is read by the level above, so two buffers do in turns
        longest = int((offset + size).max(initial=0))
        self.phi_start = offset + longest * (level % 2)
        self.phi_size = 2 * longest
        # every place begins with a cache line, so that rows of eight can go past the caches
        self.y_start = np.concatenate([[0], np.cumsum(-(-below * width // LANES) * LANES)])
        self.widest = int((mine + below).max(initial=0))

    @property
    def count(self) -> int:
        return len(self.source)
