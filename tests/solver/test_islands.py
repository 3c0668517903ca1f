"""Islands: which bodies influence each other within a step."""

from __future__ import annotations

import numpy as np

from dovetail.solver.islands import Islands, unite_pairs


def divided(position: np.ndarray, pairs: np.ndarray) -> tuple[Islands, np.ndarray]:
    active = np.zeros(int((position >= 0).sum()), np.int64)
    return Islands(position, pairs, active), active


def flood(position: np.ndarray, pairs: np.ndarray) -> list[set[int]]:
    """Connected components of the free bodies, the plain way."""
    components = [{b} for b in range(len(position)) if position[b] >= 0]
    for a, b in pairs.tolist():
        if position[a] >= 0 and position[b] >= 0:
            joined = [c for c in components if a in c or b in c]
            components = [c for c in components if c not in joined] + [set().union(*joined)]
    return components


def test_islands_are_the_connected_components_of_free_bodies(rng):
    for bodies, joints in ((1, 0), (5, 0), (8, 6), (30, 20), (30, 60), (60, 45)):
        for _ in range(5):
            free = rng.random(bodies) < 0.8
            position = np.where(free, np.cumsum(free) - 1, -1)
            pairs = rng.integers(bodies, size=(joints, 2))
            islands, _ = divided(position, pairs)
            assert (islands.of[~free] == -1).all()
            found = [set(np.flatnonzero(islands.of == k).tolist()) for k in range(islands.count)]
            assert sorted(map(sorted, found)) == sorted(map(sorted, flood(position, pairs)))


def test_a_fixed_body_joins_nothing():
    islands, _ = divided(np.array([0, -1, 1]), np.array([[0, 1], [1, 2]]))
    assert islands.count == 2 and islands.of.tolist() == [0, -1, 1]


def test_only_bodies_of_running_islands_are_active():
    position = np.array([3, -1, 0, 2, 1])
    islands, active = divided(position, np.array([[0, 2]]))
    islands.restart()
    assert active.tolist() == [1, 1, 1, 1]
    done = np.zeros(islands.count, bool)
    done[islands.of[0]] = True
    islands.finish(done)
    assert active[position[[0, 2]]].tolist() == [0, 0]
    assert active[position[[3, 4]]].tolist() == [1, 1]
    islands.finish(np.ones(islands.count, bool))
    assert not islands.running.any() and not active.any()
    islands.restart()
    assert islands.running.all() and active.all()


def test_a_settled_island_runs_again_when_a_running_one_reaches_it():
    position = np.arange(4)
    islands, active = divided(position, np.array([[0, 1]]))
    islands.restart()
    islands.finish(np.arange(islands.count) == islands.of[0])
    assert active.tolist() == [0, 0, 1, 1]
    unite_pairs(islands.separate(), position, np.array([[2, 1]]), 1)
    assert islands.number() and islands.count == 2
    assert active.tolist() == [1, 1, 1, 1]
    assert not islands.number(), "nothing is revived twice"


def test_energies_of_bodies_add_up_to_those_of_islands():
    islands, _ = divided(np.array([0, -1, 1, 2]), np.array([[0, 3]]))
    assert islands.total(np.array([1.0, 100.0, 2.0, 4.0])).tolist() == [5.0, 2.0]
