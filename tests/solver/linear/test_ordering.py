"""Minimum-degree ordering against an elimination of the graph with Python sets."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.solver.linear.ordering import (
    NO_BLOCK,
    Structure,
    find_block,
    flipped,
    has_blocks,
    locate,
    sorted_rows,
    structure_of,
)


def chain(n: int) -> list[tuple[int, int]]:
    return [(k, k + 1) for k in range(n - 1)]


def tree(n: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    return [(int(rng.integers(k)), k) for k in range(1, n)]


def random_graph(n: int, edges: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Self pairs and repetitions included: both must be ignored."""
    return [tuple(map(int, rng.integers(n, size=2))) for _ in range(edges)]


def grid(n: int) -> list[tuple[int, int]]:
    across = [(n * i + j, n * i + j + 1) for i in range(n) for j in range(n - 1)]
    return across + [(n * i + j, n * (i + 1) + j) for i in range(n - 1) for j in range(n)]


GRAPHS = {
    "empty": (0, lambda rng: []),
    "single": (1, lambda rng: []),
    "separate": (7, lambda rng: []),
    "chain": (40, lambda rng: chain(40)),
    "loop": (30, lambda rng: [*chain(30), (29, 0)]),
    "tree": (60, lambda rng: tree(60, rng)),
    "grid": (64, lambda rng: grid(8)),
    "complete": (12, lambda rng: [(i, j) for i in range(12) for j in range(i)]),
    "sparse": (50, lambda rng: random_graph(50, 60, rng)),
    "dense": (40, lambda rng: random_graph(40, 300, rng)),
    "islands": (45, lambda rng: [(a + 15 * k, b + 15 * k) for k in range(3) for a, b in random_graph(15, 25, rng)]),
}


@pytest.fixture(params=sorted(GRAPHS))
def graph(request, rng) -> tuple[int, list[tuple[int, int]]]:
    count, make = GRAPHS[request.param]
    return count, make(rng)


def structure(count: int, pairs: list[tuple[int, int]]) -> Structure:
    return structure_of(count, np.array(pairs, np.int64).reshape(-1, 2))


def rows(found: Structure) -> list[list[int]]:
    return [found.column[a:b].tolist() for a, b in zip(found.row_start[:-1], found.row_start[1:], strict=True)]


def eliminate(count: int, pairs: list[tuple[int, int]], found: Structure) -> tuple[list[list[int]], list[bool]]:
    """Rows of the factor in the given order, and whether each node had the least degree when it was taken."""
    neighbours: list[set[int]] = [set() for _ in range(count)]
    for a, b in pairs:
        if a != b:
            neighbours[a].add(b)
            neighbours[b].add(a)
    order = np.argsort(found.position)
    columns, least = [], []
    left = set(range(count))
    for node in order.tolist():
        least.append(len(neighbours[node]) == min(len(neighbours[other]) for other in left))
        left.remove(node)
        for a in neighbours[node]:
            neighbours[a] |= neighbours[node] - {a}
            neighbours[a].discard(node)
        columns.append(sorted(found.position[list(neighbours[node])].tolist()))
    return columns, least


def test_every_node_has_one_place(graph):
    count, pairs = graph
    assert sorted(structure(count, pairs).position.tolist()) == list(range(count))


def test_the_rows_hold_the_graph_and_its_fill_and_nothing_else(graph):
    count, pairs = graph
    found = structure(count, pairs)
    assert rows(found) == eliminate(count, pairs, found)[0]


def test_a_node_of_least_degree_goes_first(graph):
    count, pairs = graph
    assert all(eliminate(count, pairs, structure(count, pairs))[1])


def test_the_order_is_the_same_each_time_and_however_pairs_are_written(graph, rng):
    count, pairs = graph
    once = structure(count, pairs)
    shuffled = [pair[::-1] for pair in rng.permutation(np.array(pairs, np.int64).reshape(-1, 2)).tolist()]
    for again in (structure(count, pairs), structure(count, shuffled)):
        assert (once.position == again.position).all()
        assert rows(once) == rows(again)


@pytest.mark.parametrize("name", ["chain", "tree"])
def test_chains_and_trees_have_no_fill(name, rng):
    count, make = GRAPHS[name]
    pairs = make(rng)
    assert len(structure(count, pairs).column) == count - 1


def test_a_hub_of_two_thousand_bodies_has_no_fill():
    leaves = 2000
    found = structure(leaves + 1, [(1000, k) for k in range(leaves + 1) if k != 1000])
    assert len(found.column) == leaves
    assert found.position[1000] >= leaves - 1, "the hub waits until one leaf is left"
    # with fill it would be 2000³/6 products of blocks
    assert found.work(12).sum() < 1728 * 3 * leaves


def test_blocks_are_found_by_row_and_column(graph):
    count, pairs = graph
    found = structure(count, pairs)
    present = {(k, c): s for k, row in enumerate(rows(found)) for s, c in enumerate(row, found.row_start[k])}
    for row in range(count):
        for column in range(row + 1, count):
            assert find_block(found.row_start, found.column, row, column) == present.get((row, column), -1)


def test_the_block_of_two_bodies_is_located_from_either_side_and_there_is_none_for_fixed_ones(graph):
    """Bodies are numbered apart from nodes: every third one is fixed, and has none."""
    count, pairs = graph
    found = structure(count, pairs)
    bodies = np.flatnonzero(np.arange(2 * count + 2) % 3 != 0)[:count]
    position = np.full(2 * count + 2, -1)
    position[bodies] = found.position
    first, second = (np.ascontiguousarray(part.ravel()) for part in np.meshgrid(*(2 * [np.arange(len(position))])))
    located = np.empty(len(first), np.int64)
    locate(first, second, position, found.row_start, found.column, located)
    present = {(k, c): s for k, row in enumerate(rows(found)) for s, c in enumerate(row, found.row_start[k])}
    for a, b, block in zip(first.tolist(), second.tolist(), located.tolist(), strict=True):
        row, column = int(position[a]), int(position[b])
        if min(row, column) < 0 or (min(row, column), max(row, column)) not in present:
            assert block == NO_BLOCK
        else:
            there = present[min(row, column), max(row, column)]
            assert block == (there if row < column else flipped(there))
    near = np.stack([first, second], axis=1)
    for pair, block in zip(near, located, strict=True):
        free = (position[pair] >= 0).all() and pair[0] != pair[1]
        assert has_blocks(1, pair[None], position, found.row_start, found.column) == (block != NO_BLOCK or not free)


@pytest.mark.parametrize("count", [0, 1, 40, 1000])
def test_pairs_of_different_nodes_are_sorted_and_kept_once(count):
    rows, columns = np.random.default_rng(count).integers(0, 30, (2, count))
    start, found = sorted_rows(30, rows, columns)
    wanted = sorted({(int(a), int(b)) for a, b in zip(rows, columns, strict=True) if a != b})
    assert [(a, int(b)) for a in range(30) for b in found[start[a] : start[a + 1]]] == wanted
