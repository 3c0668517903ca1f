"""Closed loops of a graph of joints: sets of edges in which each two lie on a common cycle."""

from __future__ import annotations

import numpy as np

from dovetail.solver.islands import components
from dovetail.typing import Indices

__all__ = ["loops"]


def loops(nodes: int, pairs: Indices) -> list[Indices]:
    """The edges (k, 2) of every closed loop, or of loops that share more than a node; edges on none are left out.

    These are the biconnected components with more than one edge, and the edges from a node to itself.
    """
    pairs = np.asarray(pairs, np.int64).reshape(-1, 2)
    alone = pairs[:, 0] == pairs[:, 1]
    found = [np.array([edge]) for edge in np.flatnonzero(alone)]
    part = components(nodes, pairs)
    surplus = np.bincount(part[pairs[~alone, 0]], minlength=nodes) - np.bincount(part, minlength=nodes) + 1
    edges = np.flatnonzero(~alone & (surplus[part[pairs[:, 0]]] > 0))  # parts that are no trees
    neighbours: dict[int, list[tuple[int, int]]] = {}
    for edge in edges.tolist():
        a, b = pairs[edge].tolist()
        neighbours.setdefault(a, []).append((edge, b))
        neighbours.setdefault(b, []).append((edge, a))
    number: dict[int, int] = {}
    for root in neighbours:
        if root not in number:
            found += _search(root, neighbours, number)
    return found


def _search(root: int, neighbours: dict[int, list[tuple[int, int]]], number: dict[int, int]) -> list[Indices]:
    """Depth first from a root: a subtree that reaches no further back than where it hangs is cut off there (Tarjan)."""
    found: list[Indices] = []
    reach = {root: len(number)}
    number[root] = len(number)
    trail: list[int] = []  # edges on the way, those of finished sets taken off
    stack = [(root, -1, iter(neighbours[root]))]
    while stack:
        node, entered, ahead = stack[-1]
        for edge, other in ahead:
            if edge == entered:
                continue
            if other not in number:
                trail.append(edge)
                reach[other] = number[other] = len(number)
                stack.append((other, edge, iter(neighbours[other])))
                break
            if number[other] < number[node]:
                trail.append(edge)
                reach[node] = min(reach[node], number[other])
        else:
            stack.pop()
            if stack:
                parent = stack[-1][0]
                reach[parent] = min(reach[parent], reach[node])
                if reach[node] >= number[parent]:
                    first = len(trail) - 1 - trail[::-1].index(entered)
                    if len(trail) - first > 1:
                        found.append(np.sort(trail[first:]))
                    del trail[first:]
    return found
