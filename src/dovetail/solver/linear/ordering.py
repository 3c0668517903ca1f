"""Minimum-degree elimination order of the body graph, with the fill it causes.

Bodies that share a joint or a contact are neighbours. Eliminating a body joins all its remaining neighbours; taking a
body of least degree each time keeps that fill small, and on chains and trees there is none. The elimination
graph is kept explicitly: every body's neighbours as a sorted segment of one pool. Eliminated neighbours stay in a
segment until it is next merged, so that taking a leaf off a hub costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.kernel.kernel import kernel, mapped
from dovetail.kernel.threads import Span
from dovetail.solver.natural import natural
from dovetail.typing import Array, Indices

__all__ = [
    "NO_BLOCK",
    "Structure",
    "adjacency",
    "block_of",
    "by_parts",
    "find_block",
    "flipped",
    "has_blocks",
    "has_some_blocks",
    "locate",
    "sorted_rows",
    "structure_of",
    "without_fill",
]

NO_BLOCK = -1
"""Where two bodies share no block, as one of them is fixed."""


@dataclass(frozen=True)
class Structure:
    """Where the blocks of the factor are.

    position[node]                the node's place in the elimination order
    row_start, column             row k of U has its off-diagonal blocks at row_start[k] … row_start[k+1],
                                  in columns `column` (positions, ascending)
    """

    position: Indices
    row_start: Indices
    column: Indices

    def work(self, size: int) -> Array:
        """Multiply–adds of one numerical factorisation by row, with blocks of size × size."""
        blocks = np.diff(self.row_start)
        return size**3 * (1.0 / 6.0 + 0.5 * blocks + 0.5 * blocks**2)


@kernel
def _count(keys: Indices, others: Indices, start: Indices) -> None:
    """start (n + 1,) ← where those with each key begin, in the order of keys, of pairs that are not of one node."""
    start[:] = 0
    for k in range(len(keys)):
        if keys[k] != others[k]:
            start[keys[k] + 1] += 1
    for node in range(1, len(start)):
        start[node] += start[node - 1]


@kernel
def _sort_rows(rows: Indices, columns: Indices, row_start: Indices, by_column: Indices, out: Indices) -> int:
    """As `sorted_rows`: by columns first, then by rows, each pair to where those before it end."""
    nodes = len(row_start) - 1
    place = np.empty(nodes + 1, np.int64)
    _count(columns, rows, place)
    for k in range(len(rows)):
        if rows[k] != columns[k]:
            by_column[place[columns[k]]] = k
            place[columns[k]] += 1
    _count(rows, columns, row_start)
    place[:] = row_start
    for n in range(row_start[nodes]):
        k = by_column[n]
        out[place[rows[k]]] = columns[k]
        place[rows[k]] += 1
    kept = 0
    for row in range(nodes):
        begin, end, last = row_start[row], place[row], -1
        row_start[row] = kept
        for s in range(begin, end):
            if out[s] != last:
                last = out[kept] = out[s]
                kept += 1
    row_start[nodes] = kept
    return kept


def sorted_rows(nodes: int, rows: Indices, columns: Indices) -> tuple[Indices, Indices]:
    """Pairs (rows[k], columns[k]) of different nodes, sorted, each once: where rows begin (nodes + 1,), their columns.

    In the time of some rounds over them.
    """
    row_start, out = np.empty(nodes + 1, np.int64), np.empty(len(rows), np.int64)
    kept = _sort_rows(rows, columns, row_start, np.empty(len(rows), np.int64), out)
    return row_start, out[:kept]


def adjacency(node_count: int, pairs: Indices) -> tuple[Indices, Indices]:
    """Sorted neighbour lists without repetition, as (start, neighbour)."""
    one, other = np.asarray(pairs, np.int64).reshape(-1, 2).T
    return sorted_rows(node_count, np.concatenate([one, other]), np.concatenate([other, one]))


@kernel
def _unlink(links: Indices, head: Indices, node: int, degree: int) -> None:
    """Take a node out of the doubly linked list of its degree; links[node] = (before, after)."""
    before, after = links[node, 0], links[node, 1]
    if before >= 0:
        links[before, 1] = after
    else:
        head[degree] = after
    if after >= 0:
        links[after, 0] = before


@kernel
def _link(links: Indices, head: Indices, node: int, degree: int) -> None:
    """Put a node first in the doubly linked list of its degree."""
    first = head[degree]
    links[node, 0] = -1
    links[node, 1] = first
    if first >= 0:
        links[first, 0] = node
    head[degree] = node


@kernel
def _merge_remaining(
    pool: Indices, i: int, i_end: int, column: Indices, j: int, j_end: int, position: Indices, itself: int, out: Indices
) -> int:
    """Sorted union of pool[i:i_end] and column[j:j_end] less a node itself and those eliminated; its length."""
    length = 0
    while i < i_end or j < j_end:
        if j == j_end or (i < i_end and pool[i] <= column[j]):
            value = pool[i]
            if j < j_end and column[j] == value:
                j += 1
            i += 1
        else:
            value = column[j]
            j += 1
        if value != itself and position[value] < 0:
            out[length] = value
            length += 1
    return length


@kernel
def _compact(position: Indices, begin: Indices, length: Indices, pool: Indices, spare: Indices) -> int:
    """Copy the segments of the remaining nodes to the front of the pool, by way of `spare`; returns the space used."""
    used = 0
    for w in range(len(position)):
        if position[w] < 0:
            for k in range(length[w]):
                spare[used + k] = pool[begin[w] + k]
            begin[w] = used
            used += length[w]
    for k in range(used):
        pool[k] = spare[k]
    return used


@kernel
def _eliminate(
    start: Indices, pool: Indices, spare: Indices, position: Indices, row_start: Indices, column: Indices
) -> bool:
    """Fill position, row_start and column (nodes, not yet positions); False where pool or column is too short.

    Neighbours of node v are at pool[start[v]] … pool[start[v + 1] − 1].
    """
    nodes, used = len(position), start[len(position)]
    begin, length, degree = np.empty(nodes, np.int64), np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    links, head, merged = np.empty((nodes, 2), np.int64), np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    for v in range(nodes):
        begin[v], head[v] = start[v], -1
        length[v] = degree[v] = start[v + 1] - start[v]
    for v in range(nodes - 1, -1, -1):
        _link(links, head, v, degree[v])
    least = 0
    for k in range(nodes):
        while head[least] < 0:
            least += 1
        v = head[least]
        _unlink(links, head, v, least)
        position[v] = k
        first = row_start[k]
        last = first
        if first + degree[v] > len(column):
            return False
        for s in range(begin[v], begin[v] + length[v]):
            if position[pool[s]] < 0:
                column[last] = pool[s]
                last += 1
        row_start[k + 1] = last
        for c in range(first, last):
            u = column[c]
            new = degree[u] - 1
            if last - first > 1:
                new = _merge_remaining(pool, begin[u], begin[u] + length[u], column, first, last, position, u, merged)
                if new > length[u]:
                    if used + new > len(pool):
                        used = _compact(position, begin, length, pool, spare)
                        if used + new > len(pool):
                            return False
                    begin[u] = used
                    used += new
                for s in range(new):
                    pool[begin[u] + s] = merged[s]
                length[u] = new
            if new != degree[u]:
                _unlink(links, head, u, degree[u])
                degree[u] = new
                _link(links, head, u, new)
                least = min(least, new)
    return True


def structure_of(node_count: int, pairs: Indices) -> Structure:
    """Order the nodes 0 … node_count−1 joined by `pairs` (k, 2); repeated and self pairs are ignored."""
    start, neighbour = adjacency(node_count, pairs)
    row_start = np.zeros(node_count + 1, np.int64)
    if len(neighbour) == 0:
        return Structure(np.arange(node_count), row_start, np.zeros(0, np.int64))
    room = 8 * len(neighbour) + 64  # of which nothing is there before it is written to: to begin anew takes longer
    while True:
        position = np.full(node_count, -1)
        column = np.empty(room, np.int64)
        pool = np.empty(room, np.int64)
        pool[: len(neighbour)] = neighbour
        if _eliminate(start, pool, np.empty(room, np.int64), position, row_start, column):
            break
        room *= 2
    rows = np.repeat(np.arange(node_count), np.diff(row_start))
    return Structure(position, *sorted_rows(node_count, rows, position[column[: row_start[-1]]]))


def by_parts(structure: Structure, part: Indices) -> tuple[Structure, Indices]:
    """The structure with the rows of each part next to each other, in the same order; the last row of each.

    part (m,) numbers what blocks connect, by row.
    """
    rows = np.argsort(part, kind="stable")
    place = np.empty_like(rows)
    place[rows] = np.arange(len(rows))
    counts = np.diff(structure.row_start)[rows]
    row_start = np.append(0, np.cumsum(counts))
    taken = np.repeat(structure.row_start[rows] - row_start[:-1], counts) + np.arange(row_start[-1])
    ends = np.flatnonzero(np.diff(part[rows], append=-1))
    return Structure(place[structure.position], row_start, place[structure.column[taken]]), ends


def without_fill(structure: Structure, pairs: Indices) -> Structure:
    """The same order of the same nodes with blocks for the pairs alone."""
    one, other = structure.position[pairs[:, 0]], structure.position[pairs[:, 1]]
    rows = sorted_rows(len(structure.position), np.minimum(one, other), np.maximum(one, other))
    return Structure(structure.position, *rows)


@kernel
def find_block(row_start: Indices, column: Indices, row: int, col: int) -> int:
    """Index of the block in row `row`, column `col` > row; −1 where the factor has none."""
    low, high = row_start[row], row_start[row + 1]
    while low < high:
        middle = (low + high) // 2
        if column[middle] < col:
            low = middle + 1
        else:
            high = middle
    if low < row_start[row + 1] and column[low] == col:
        return low
    return -1


@kernel
def flipped(block: int) -> int:
    """The block U of bodies of which the second one is eliminated first, so that it holds the transposed."""
    return -2 - block


@kernel
def block_of(a: int, b: int, position: Indices, row_start: Indices, column: Indices) -> int:
    """Number of the block of bodies a and b, `flipped` if b is eliminated first; NO_BLOCK where there is none."""
    row, col = position[a], position[b]
    if row < 0 or col < 0:
        return NO_BLOCK
    if row < col:
        return find_block(row_start, column, row, col)
    found = find_block(row_start, column, col, row)
    return flipped(found) if found >= 0 else NO_BLOCK


@kernel
def locate(
    first: Indices, second: Indices, position: Indices, row_start: Indices, column: Indices, block: Indices
) -> None:
    """block ← those of all pairs of bodies."""
    for k in range(len(block)):
        block[k] = block_of(first[k], second[k], position, row_start, column)


@kernel
def has_blocks(count: int, bodies: Indices, position: Indices, row_start: Indices, column: Indices) -> bool:
    """Whether the structure has a block for every pair of free bodies in the first rows of a list."""
    return has_some_blocks(bodies, position, row_start, column, (0, 0, count)) != 0


@mapped
def has_some_blocks(bodies: Indices, position: Indices, row_start: Indices, column: Indices, span: Span) -> int:
    """1 if the structure has a block for every pair of free bodies in some rows of a list, else 0."""
    last_a = last_b = -1
    for k in range(span[1], span[2]):
        k = natural(k)
        a, b = bodies[k, 0], bodies[k, 1]
        if b < 0 or a == b or (a == last_a and b == last_b):
            continue
        last_a, last_b = a, b
        row, col = position[a], position[b]
        if row < 0 or col < 0:
            continue
        if row > col:
            row, col = col, row
        if find_block(row_start, column, row, col) < 0:
            return 0
    return 1
