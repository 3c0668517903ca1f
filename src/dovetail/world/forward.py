"""Joints as a tree: which of them carry bodies from the root on, and which close loops."""

from __future__ import annotations

from collections import deque

import numpy as np

from dovetail.typing import Array, Indices

__all__ = ["Forest"]


class Forest:
    """Branches from the roots on, over bodies 0 … n − 1; −1 is what does not move, and the root where there is such.

    joint (b,)          the joint of a branch; −1: the body is a root that is free to move
    ends (b, 2)         parent and child
    sign (b,)           1 where the child is the joint's right body, −1 where it is the left one
    way (n, b)          the motion of a body is the sum of way·(right relative to left) over branches
    paths (k, b)        the same of each joint's right body relative to its left one: of branches they are unit rows
    loops (l,)          joints that are no branches
    """

    def __init__(self, pairs: Indices, n: int) -> None:
        """`pairs` (k, 2) are the left and right bodies of joints."""
        at: dict[int, list[int]] = {}
        for k, pair in enumerate(pairs.tolist()):
            for b in pair:
                at.setdefault(b, []).append(k)
        joint: list[int] = []
        ends: list[tuple[int, int]] = []
        reached: set[int] = set()
        for root in sorted(at, key=lambda b: b >= 0):  # what does not move comes first, the others as joints name them
            if root in reached:
                continue
            reached.add(root)
            if root >= 0:
                joint.append(-1)
                ends.append((-1, root))
            todo = deque([root])
            while todo:
                parent = todo.popleft()
                for k in at[parent]:
                    left, right = pairs[k].tolist()
                    child = right if left == parent else left
                    if child not in reached:
                        reached.add(child)
                        todo.append(child)
                        joint.append(k)
                        ends.append((parent, child))
        self.joint: Indices = np.array(joint, np.int64)
        self.ends: Indices = np.array(ends, np.int64).reshape(-1, 2)
        child = self.ends[:, 1]
        self.sign: Array = np.where((self.joint < 0) | (pairs[self.joint, 1] == child), 1.0, -1.0)
        self.way = np.zeros((n + 1, len(joint)))  # the last row is of what does not move
        for b, (parent_, child_) in enumerate(ends):
            self.way[child_] = self.way[parent_]
            self.way[child_, b] = self.sign[b]
        self.paths: Array = self.way[pairs[:, 1]] - self.way[pairs[:, 0]]
        self.way = self.way[:n]
        self.loops: Indices = np.setdiff1d(np.arange(len(pairs)), self.joint)
