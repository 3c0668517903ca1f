"""Islands: which bodies influence each other within a step."""

from __future__ import annotations

import numpy as np
from plain_bodies import plain_bodies

from dovetail.solver.assembly.bodies import Weights
from dovetail.solver.islands import Islands, components, finish_islands, restart_islands, unite_pairs
from dovetail.solver.iterate import set_limits


def divided(is_free: np.ndarray, pairs: np.ndarray, on_exact_joint: np.ndarray | None = None) -> Islands:
    exact = np.zeros(len(is_free), np.int64) if on_exact_joint is None else on_exact_joint
    return Islands(is_free.astype(np.int64), pairs, exact)


def flood(is_free: np.ndarray, pairs: np.ndarray) -> list[set[int]]:
    """Connected components of the free bodies, the plain way."""
    found = [{b} for b in range(len(is_free)) if is_free[b]]
    for a, b in pairs.tolist():
        if is_free[a] and is_free[b]:
            joined = [c for c in found if a in c or b in c]
            found = [c for c in found if c not in joined] + [set().union(*joined)]
    return found


def test_islands_are_the_connected_components_of_free_bodies(rng):
    for bodies, joints in ((1, 0), (5, 0), (8, 6), (30, 20), (30, 60), (60, 45)):
        for _ in range(5):
            free = rng.random(bodies) < 0.8
            pairs = rng.integers(bodies, size=(joints, 2))
            islands = divided(free, pairs)
            assert (islands.of[~free] == -1).all()
            found = [set(np.flatnonzero(islands.of == k).tolist()) for k in range(islands.count)]
            assert sorted(map(sorted, found)) == sorted(map(sorted, flood(free, pairs)))


def test_a_fixed_body_joins_nothing():
    islands = divided(np.array([1, 0, 1]), np.array([[0, 1], [1, 2]]))
    assert islands.count == 2 and islands.of.tolist() == [0, -1, 1]


def test_only_bodies_of_running_islands_are_unconverged():
    islands = divided(np.array([1, 0, 1, 1, 1]), np.array([[0, 2]]))
    restart_islands(islands)
    assert islands.unconverged.tolist() == [1, 0, 1, 1, 1]
    done = np.zeros(islands.count, np.int64)
    done[islands.of[0]] = 1
    finish_islands(islands, done)
    assert islands.unconverged.tolist() == [0, 0, 0, 1, 1]
    finish_islands(islands, np.ones(islands.count, np.int64))
    assert not islands.running[: islands.count].any() and not islands.unconverged.any()
    restart_islands(islands)
    assert islands.running[: islands.count].all() and islands.unconverged.tolist() == [1, 0, 1, 1, 1]


def test_a_settled_island_runs_again_when_a_running_one_reaches_it():
    free = np.ones(4, np.int64)
    islands = divided(free, np.array([[0, 1]]))
    restart_islands(islands)
    finish_islands(islands, (np.arange(islands.count) == islands.of[0]).astype(np.int64))
    assert islands.unconverged.tolist() == [0, 0, 1, 1]
    unite_pairs(islands.separate(), free, np.array([[2, 1]]), 1)
    assert islands.number() and islands.count == 2
    assert islands.unconverged.tolist() == [1, 1, 1, 1]
    assert not islands.number(), "nothing is revived twice"


def test_joints_alone_make_mechanisms_whatever_islands_there_are():
    free = np.array([1, 1, 0, 1, 1])
    islands = divided(free, np.array([[0, 1], [1, 2], [2, 3]]))
    unite_pairs(islands.separate(), free, np.array([[1, 3]]), 1)
    islands.number()
    assert islands.of.tolist() == [0, 0, -1, 0, 1]
    assert islands.mechanism.tolist() == [0, 0, -1, 1, 2]
    found = islands.mechanisms_of(np.array([False, True, True, False, False]))
    assert found.tolist() == [True, True, False, False, False], "a fixed body connects nothing"
    islands.by_joints()
    assert islands.of.tolist() == islands.mechanism.tolist()


def test_nodes_are_named_by_the_smallest_that_pairs_connect_them_with(rng):
    for nodes, count in ((1, 0), (9, 4), (40, 30)):
        pairs = rng.integers(nodes, size=(count, 2))
        found = components(nodes, pairs)
        for part in flood(np.ones(nodes), pairs):
            assert {int(found[k]) for k in part} == {min(part)}


def test_energies_of_bodies_add_up_to_those_of_islands():
    islands = divided(np.array([1, 0, 1, 1]), np.array([[0, 3]]))
    energies = np.array([1.0, 100.0, 2.0, 4.0])
    assert islands.sum(energies).tolist() == [5.0, 2.0]
    weights = Weights(bodies=plain_bodies(np.tile(np.eye(4), (4, 1, 1))), c=np.zeros(4), w=np.zeros(4))
    set_limits(weights, islands, np.zeros((4, 4, 3)), energies)
    assert islands.total[:2].tolist() == [5.0, 2.0]
    assert ((islands.limit[:2] > (5.0, 2.0)) & (islands.limit[:2] < (5.0 + 1e-9, 2.0 + 1e-9))).all(), (
        "round-off is no rise"
    )


def test_what_is_known_by_body_is_known_by_island():
    free = np.array([1, 1, 0, 1, 1])
    islands = divided(free, np.array([[0, 1]]), np.array([0, 1, 1, 0, 0]))
    assert islands.has_exact[: islands.count].tolist() == [1, 0, 0]
    islands.marks[:] = 0, 0, 1, 1, 0
    unite_pairs(islands.separate(), free, np.array([[3, 4]]), 1)
    islands.number()
    assert islands.count == 2 and islands.guarded[:2].tolist() == [0, 1]
    assert islands.has_exact[:2].tolist() == [1, 0]
    islands.begin()
    assert islands.count == 3 and islands.guarded[:3].tolist() == [0, 1, 0]


def test_sizes_of_steps_outlive_a_change_of_islands_where_all_their_bodies_agree():
    free = np.array([1, 1, 0, 1, 1])
    islands = divided(free, np.array([[0, 1]]))
    islands.begin()
    assert np.isinf(islands.before[: islands.count]).all()
    islands.before[:3] = 2.0, 3.0, 2.0
    unite_pairs(islands.separate(), free, np.array([[1, 4]]), 1)
    islands.number()
    assert islands.before[: islands.count].tolist() == [2.0, 3.0]
    islands.separate()
    islands.number()
    assert islands.before[: islands.count].tolist() == [2.0, 3.0, 2.0]
    unite_pairs(islands.separate(), free, np.array([[1, 3]]), 1)
    islands.number()
    assert islands.before[: islands.count].tolist() == [np.inf, 2.0]
