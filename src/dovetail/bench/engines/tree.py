"""The joints of a scene as a tree with loops, for engines in reduced coordinates."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from dovetail.bench.scene import BenchScene
from dovetail.typing import Indices

__all__ = ["Tree", "loose", "spanning_tree"]


@dataclass(frozen=True)
class Tree:
    """A spanning tree of the bodies, breadth first from the world and from fixed bodies, so that paths are short.

    parent (n,)    body that each hangs on; −1 the world
    joint (n,)     the joint by which; −1 none, the body is free or fixed
    order (n,)     bodies, parents first
    loops          joints that are not in the tree
    """

    parent: Indices
    joint: Indices
    order: list[int]
    loops: list[int]


def spanning_tree(scene: BenchScene) -> Tree:
    """Of the joints of a scene."""
    parent, of_body = np.full(scene.count, -1), np.full(scene.count, -1)
    joints = scene.joints
    if joints is None:
        return Tree(parent, of_body, list(range(scene.count)), [])
    at: dict[int, list[tuple[int, int]]] = {}
    for k, (left, right) in enumerate(zip(joints.left.tolist(), joints.right.tolist(), strict=True)):
        at.setdefault(left, []).append((k, right))
        at.setdefault(right, []).append((k, left))
    used: set[int] = set()
    seen: dict[int, None] = {}
    roots = [-1, *np.flatnonzero(scene.fixed).tolist(), *sorted(at)]
    for root in roots:
        if root in seen or root not in at:
            continue
        seen[root] = None
        todo = deque([root])
        while todo:
            body = todo.popleft()
            for k, other in at.get(body, ()):
                if k in used or other in seen or (other >= 0 and scene.fixed[other]):
                    continue
                used.add(k)
                seen[other] = None
                parent[other], of_body[other] = body, k
                todo.append(other)
    order = [body for body in seen if body >= 0]
    order += [body for body in range(scene.count) if body not in seen]
    return Tree(parent, of_body, order, [k for k in range(len(joints.left)) if k not in used])


def loose(scene: BenchScene) -> Tree:
    """Every body on its own; all joints close loops."""
    none = np.full(scene.count, -1)
    joints = 0 if scene.joints is None else len(scene.joints.left)
    return Tree(none, none, list(range(scene.count)), list(range(joints)))
