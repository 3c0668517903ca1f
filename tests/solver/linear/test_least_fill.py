"""Least-fill order: every step adds the fewest edges that one can, and the structure has all of them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dovetail.solver.linear.least_fill import least_fill
from dovetail.solver.linear.ordering import structure_of
from dovetail.solver.linear.points import neighbours


def random_pairs(nodes: int, count: int, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, nodes, size=(count, 2)) if count else np.zeros((0, 2), np.int64)


@pytest.mark.parametrize(("nodes", "count"), [(1, 0), (2, 1), (7, 0), (12, 15), (30, 50), (40, 200)])
def test_every_step_adds_the_fewest_edges_and_rows_are_what_is_left(nodes, count, rng):
    pairs = random_pairs(nodes, count, rng)
    found = least_fill(nodes, pairs)
    near = [set() for _ in range(nodes)]
    for a, b in pairs.tolist():
        if a != b:
            near[a].add(b)
            near[b].add(a)
    left = set(range(nodes))
    for k, v in enumerate(np.argsort(found.position).tolist()):
        added = {u: [p for p in combinations(sorted(near[u]), 2) if p[1] not in near[p[0]]] for u in left}
        assert len(added[v]) == min(len(edges) for edges in added.values())
        row = found.column[found.row_start[k] : found.row_start[k + 1]]
        np.testing.assert_array_equal(row, sorted(found.position[u] for u in near[v]))
        for a, b in added[v]:
            near[a].add(b)
            near[b].add(a)
        for u in near[v]:
            near[u].discard(v)
        left.discard(v)


def test_points_of_a_net_take_less_work_than_by_least_degree():
    number = np.arange(225).reshape(15, 15)
    joints = [np.stack([number[:-1].ravel(), number[1:].ravel()], 1), np.stack([number[:, :-1], number[:, 1:]], 2)]
    pairs = neighbours(np.concatenate([part.reshape(-1, 2) for part in joints]))
    by_fill, by_degree = (order(420, pairs).work(3).sum() for order in (least_fill, structure_of))
    assert by_fill < 0.9 * by_degree
