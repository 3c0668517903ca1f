"""Separators: few nodes of a graph without which it falls into parts of like size, to be worked on at the same time.

Nodes in the order of their numbers, or in which a search from a root reaches them, are cut in the middle. The edges
from one half to the other form a bipartite graph; the fewest nodes that meet all of them are as many as edges can be
matched (König): those of the first half that no alternating path from an unmatched one reaches, and those of the second
that one does. The halves are made equal work without them, and of several orders the best one is taken. Halves are cut
again in the same way.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.linear.ordering import adjacency
from dovetail.typing import Indices

__all__ = ["separated"]

_ROOTS = 3  # that are tried: of a wall of bricks they leave a half of what one at its rim does
_NEARER = 0.03  # share of the work by which numbers may be worse: whoever works on bodies by number has them at hand
_OWN, _OF_EDGE = 3, 2  # work on a node, and on each end of an edge: products and solutions with blocks
_THIN = 0.25, 0.1  # share of nodes in the separator of two leaves, or of more, beyond which it takes too long itself


@kernel
def _reached(start: Indices, neighbour: Indices, part: Indices, number: int, root: int, place: Indices) -> int:
    """place ← when each node of a part is reached from a root, those that it does not lead to after it; how many."""
    nodes = len(part)
    queue, seen, done = np.empty(nodes, np.int64), 0, 0
    for node in range(nodes):
        place[node] = -1
    for k in range(nodes):
        first = root + k if root + k < nodes else root + k - nodes
        if part[first] == number and place[first] < 0:
            queue[seen], place[first] = first, seen
            seen += 1
        while done < seen:
            node = queue[done]
            done += 1
            for s in range(start[node], start[node + 1]):
                other = neighbour[s]
                if part[other] == number and place[other] < 0:
                    queue[seen], place[other] = other, seen
                    seen += 1
    return seen


@kernel
def _search(
    start: Indices, neighbour: Indices, place: Indices, middle: int, first: int, mate: Indices, came: Indices,
    seen: Indices, search: int, queue: Indices,
) -> int:  # fmt: skip
    """Go along alternating paths from a node of the first half; an unmatched one of the second, −1 where there is none.

    Of nodes of the second half, seen ← the number of this search, came ← from where they were reached.
    """
    queue[0] = first
    done, known = 0, 1
    while done < known:
        node = queue[done]
        done += 1
        for s in range(start[node], start[node + 1]):
            other = neighbour[s]
            if place[other] < middle or seen[other] == search:
                continue
            seen[other], came[other] = search, node
            if mate[other] < 0:
                return other
            queue[known] = mate[other]
            known += 1
    return -1


@kernel
def _cover(start: Indices, neighbour: Indices, place: Indices, middle: int, cover: Indices) -> None:
    """cover ← 1 for the fewest nodes that meet all edges between places before and from the middle on, else 0.

    Places of nodes that do not take part are negative.
    """
    nodes, search = len(place), 0
    mate, seen, came, queue = np.full(nodes, -1), np.full(nodes, -1), np.full(nodes, -1), np.full(nodes, -1)
    for node in range(nodes):
        cover[node] = 0
        if not 0 <= place[node] < middle:
            continue
        end = _search(start, neighbour, place, middle, node, mate, came, seen, search, queue)
        if end >= 0:  # else what it has reached leads nowhere, until another edge is matched
            search += 1
        while end >= 0:
            one = came[end]
            mate[end], mate[one], end = one, end, mate[one]
    search += 1
    for node in range(nodes):
        if 0 <= place[node] < middle and mate[node] < 0:
            _search(start, neighbour, place, middle, node, mate, came, seen, search, queue)
    for node in range(nodes):
        other = mate[node]
        if 0 <= place[node] < middle and other >= 0:
            cover[other if seen[other] == search else node] = 1


@kernel
def _middle(work: Indices, place: Indices, count: int, share: float) -> int:
    """The place before which there is this share of the work."""
    by_place, total, done = np.zeros(count, np.int64), 0, 0
    for node in range(len(place)):
        if place[node] >= 0:
            by_place[place[node]] = work[node]
            total += work[node]
    for at in range(count):
        if done >= share * total:
            return at
        done += by_place[at]
    return count


@kernel
def _halve(start: Indices, neighbour: Indices, part: Indices, number: int, new: int, apart: int) -> None:
    """Cut a part: its second half ← new, nodes that separate the halves ← apart."""
    nodes = len(part)
    place, best, cover, work, least = (
        np.empty(nodes, np.int64), np.empty(nodes, np.int64), np.empty(nodes, np.int64), np.empty(nodes, np.int64), -1.0
    )  # fmt: skip
    for node in range(nodes):
        work[node] = _OWN + _OF_EDGE * (start[node + 1] - start[node])
    for k in range(-1, _ROOTS):
        if k < 0:
            count = 0
            for node in range(nodes):
                place[node] = count if part[node] == number else -1
                count += part[node] == number
        else:
            count = _reached(start, neighbour, part, number, k * nodes // _ROOTS, place)
        share = 0.5
        for _ in range(2):
            middle = _middle(work, place, count, share)
            _cover(start, neighbour, place, middle, cover)
            first = second = between = taken = 0
            for node in range(nodes):
                if cover[node]:
                    between += work[node]
                    taken += work[node] if place[node] < middle else -work[node]
                elif 0 <= place[node] < middle:
                    first += work[node]
                elif place[node] >= 0:
                    second += work[node]
            total = first + second + between
            time = between + max(first, second) + (_NEARER * total if k >= 0 else 0.0)
            if least < 0.0 or time < least:
                least = time
                for node in range(nodes):
                    side = number if place[node] < middle else new
                    best[node] = part[node] if place[node] < 0 else apart if cover[node] else side
            share = min(max(0.5 + 0.5 * taken / max(total, 1), 0.0), 1.0)
    for node in range(nodes):
        part[node] = best[node]


def separated(node_count: int, pairs: Indices, leaves: int) -> Indices:
    """Cut the nodes into 2ᵏ leaves of like size that no pair connects, and a separator: the leaf of each, or how many.

    Where the separator is large there are half as many leaves, in the end one with all nodes.
    """
    start, neighbour = adjacency(node_count, pairs)
    leaf, parts = np.zeros(node_count, np.int64), 1
    while parts < leaves:
        finer = leaf.copy()
        for part in range(parts):
            _halve(start, neighbour, finer, part, parts + part, leaves)
        share = (finer == leaves).sum() / node_count
        if not share < _THIN[parts > 1] or len(np.unique(finer)) <= 2 * parts:
            break
        leaf, parts = finer, 2 * parts
        if 2.0 * share > _THIN[1]:
            break  # as many again would be too many
    leaf[leaf == leaves] = parts
    return leaf if parts > 1 else np.zeros(node_count, np.int64)
