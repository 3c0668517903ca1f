"""Least-fill elimination order of a graph, with the fill it causes: for graphs that are ordered once.

Eliminating a node joins all its remaining neighbours. Taking the node first that adds the fewest edges saves fill
over taking one of least degree (ordering.py), a third of the work on the points of a net, but costs more to find. Of
every node it is known how many edges there are among its neighbours; a new edge is one more for each node that both its
ends have in common.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.linear.ordering import Structure
from dovetail.typing import Flags, Indices

__all__ = ["MOST", "least_fill"]

MOST = 5000
"""Nodes from which on the table of edges is too large."""


@kernel
def _neighbours(edge: Flags, v: int, out: Indices) -> int:
    """out ← neighbours of v; how many there are."""
    count = 0
    for u in range(len(edge)):
        if edge[v, u]:
            out[count] = u
            count += 1
    return count


@kernel
def _join(edge: Flags, a: int, b: int, degree: Indices, among: Indices) -> None:
    """A new edge between a and b."""
    for w in range(len(edge)):
        if edge[a, w] and edge[b, w]:
            among[w] += 1
            among[a] += 1
            among[b] += 1
    edge[a, b] = edge[b, a] = True
    degree[a] += 1
    degree[b] += 1


@kernel
def _eliminate(edge: Flags, degree: Indices, among: Indices, position: Indices, row_start: Indices) -> Indices:
    """position, row_start ← order and lengths of rows; returns their columns (nodes, not yet positions)."""
    n = len(edge)
    near, column = np.empty(n, np.int64), np.empty(4 * n + 64, np.int64)
    for k in range(n):
        best, v = -1, -1
        for u in range(n):
            if position[u] < 0:
                fill = degree[u] * (degree[u] - 1) // 2 - among[u]
                if v < 0 or fill < best:
                    best, v = fill, u
        count = _neighbours(edge, v, near)
        if best > 0:
            for i in range(count):
                for j in range(i):
                    if not edge[near[i], near[j]]:
                        _join(edge, near[i], near[j], degree, among)
        first = row_start[k]
        if first + count > len(column):
            larger = np.empty(2 * len(column) + count, np.int64)
            for i in range(first):  # see `_copy` in joint/constraints.py
                larger[i] = column[i]
            column = larger
        for i in range(count):
            u = near[i]
            column[first + i] = u
            # all others of them are its neighbours now, and were so through v
            edge[u, v] = False
            degree[u] -= 1
            among[u] -= count - 1
        row_start[k + 1] = first + count
        position[v] = k
    return column[: row_start[n]]


@kernel
def _count_among(edge: Flags, among: Indices) -> None:
    """among ← edges among the neighbours of every node."""
    near = np.empty(len(edge), np.int64)
    for v in range(len(edge)):
        count = _neighbours(edge, v, near)
        for i in range(count):
            for j in range(i):
                among[v] += edge[near[i], near[j]]


def least_fill(node_count: int, pairs: Indices) -> Structure:
    """Order the nodes 0 … node_count−1 joined by `pairs` (k, 2); repeated and self pairs are ignored."""
    edge = np.zeros((node_count, node_count), np.bool_)
    edge[pairs[:, 0], pairs[:, 1]] = edge[pairs[:, 1], pairs[:, 0]] = True
    np.fill_diagonal(edge, False)
    degree, among = edge.sum(axis=1, dtype=np.int64), np.zeros(node_count, np.int64)
    _count_among(edge, among)
    position, row_start = np.full(node_count, -1), np.zeros(node_count + 1, np.int64)
    column = position[_eliminate(edge, degree, among, position, row_start)]
    rows = np.repeat(np.arange(node_count), np.diff(row_start))
    return Structure(position, row_start, column[np.lexsort((column, rows))])
