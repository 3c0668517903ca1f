"""Trees: bodies in an order in which every one comes after its parent, so that a sweep against it meets children first.

Bodies are nodes and joined pairs of free bodies are edges; joints with fixed bodies are no edges. An island is a tree
if it has one edge less than bodies. The order is breadth first from all roots at once: the children of a body are
neighbours in it, and equal mechanisms go through it side by side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.typing import Flags, Indices

__all__ = ["Forest", "plant", "tree_islands"]


@dataclass(frozen=True)
class Forest:
    """Bodies of some trees by place in the order.

    body (m,)            body at a place
    place (n,)           place of a body; −1 for those in no tree
    parent (m,)          place of the parent; −1 for roots, which come first
    children (m + 1,)    the children of place i are at children[i] … children[i+1] − 1
    level (m,)           how many joints a body is away from its root; never falls
    """

    body: Indices
    place: Indices
    parent: Indices
    children: Indices
    level: Indices

    @property
    def count(self) -> int:
        return len(self.body)


def _edges(is_free: Indices, pairs: Indices) -> Indices:
    """Distinct pairs (k, 2) of free bodies, smaller body first."""
    free = pairs[(is_free[pairs] != 0).all(axis=1)]
    keys = np.unique(free.min(axis=1) * len(is_free) + free.max(axis=1))
    return np.stack([keys // len(is_free), keys % len(is_free)], axis=1)


def tree_islands(island: Indices, count: int, is_free: Indices, pairs: Indices) -> Flags:
    """Which of the islands (count,) are trees; island (n,) is −1 for fixed bodies."""
    bodies = np.bincount(island[island >= 0], minlength=count)
    edges = np.bincount(island[_edges(is_free, pairs)[:, 0]], minlength=count)
    found: Flags = edges == bodies - 1
    return found


@kernel
def _adjacency(edges: Indices, first: Indices, neighbour: Indices) -> None:
    """first (n + 1), neighbour (2k) ← the neighbours of body b are at first[b] … first[b+1] − 1."""
    first[:] = 0
    for e in range(len(edges)):
        first[edges[e, 0] + 1] += 1
        first[edges[e, 1] + 1] += 1
    for b in range(len(first) - 1):
        first[b + 1] += first[b]
    fill = np.empty(len(first), np.int64)
    for b in range(len(first)):
        fill[b] = first[b]
    for e in range(len(edges)):
        for side in range(2):
            a = edges[e, side]
            neighbour[fill[a]] = edges[e, 1 - side]
            fill[a] += 1


@kernel
def _breadth_first(
    roots: Indices, first: Indices, neighbour: Indices, body: Indices, place: Indices, parent: Indices,
    children: Indices, level: Indices,
) -> None:  # fmt: skip
    count = 0
    for r in range(len(roots)):
        body[count], parent[count], place[roots[r]], level[count] = roots[r], -1, count, 0
        count += 1
    for i in range(len(body)):
        children[i] = count
        for s in range(first[body[i]], first[body[i] + 1]):
            b = neighbour[s]
            if place[b] < 0:
                body[count], parent[count], place[b], level[count] = b, i, count, level[i] + 1
                count += 1
    children[len(body)] = count


def plant(is_free: Indices, pairs: Indices, island: Indices, chosen: Flags, grounded: Indices) -> Forest:
    """The trees of the chosen islands. A root is the first body of an island that a fixed one holds, or its first.

    grounded are the bodies that are joined with fixed ones.
    """
    n = len(is_free)
    member = (island >= 0) & np.append(chosen, False)[island]
    edges = _edges(is_free, pairs)
    edges = np.ascontiguousarray(edges[member[edges[:, 0]]])
    preferred = np.zeros(n, np.int64)
    preferred[grounded] = -1
    bodies = np.flatnonzero(member)
    if len(bodies) == 0:
        # nothing is to be compiled for
        return Forest(bodies, np.full(n, -1), bodies, np.zeros(1, np.int64), bodies)
    bodies = bodies[np.lexsort((bodies, preferred[bodies]))]
    _, at = np.unique(island[bodies], return_index=True)
    first, neighbour = np.empty(n + 1, np.int64), np.empty(2 * len(edges), np.int64)
    _adjacency(edges, first, neighbour)
    body, place = np.empty(len(bodies), np.int64), np.full(n, -1)
    parent, level = np.empty_like(body), np.empty_like(body)
    children = np.empty(len(bodies) + 1, np.int64)
    _breadth_first(bodies[at], first, neighbour, body, place, parent, children, level)
    return Forest(body, place, parent, children, level)
