"""The dual sweep on random trees, against one dense saddle system over all bodies and rows."""

from __future__ import annotations

import numpy as np
import pytest
from articulated_trees import RandomTree

from dovetail.solver.articulated.layout import stride
from dovetail.solver.articulated.sweep import _solve_root
from dovetail.solver.articulated.sweeps import DRIVEN, ROPE, ROPES

# pivots of the sweep are compliances of 1e-1 … 1e3, so that round-off grows by about 1e4
ROUND_OFF = 1e-10

COMMON = ["balls", "hinges", "rope", "ropes", "driven"]


@pytest.mark.parametrize("seed", range(8))
def test_the_sweep_solves_the_saddle_system_of_a_tree(seed):
    tree = RandomTree(np.random.default_rng(seed))
    y, multiplier = tree.sweep(fast=False)
    expected, forces = tree.dense()
    np.testing.assert_allclose(y, expected, atol=ROUND_OFF * np.abs(expected).max())
    np.testing.assert_allclose(multiplier, forces, atol=ROUND_OFF * np.abs(forces).max())


@pytest.mark.parametrize("common", COMMON)
@pytest.mark.parametrize("seed", range(4))
def test_emitted_code_and_plain_loops_agree(seed, common):
    tree = RandomTree(np.random.default_rng(seed), bodies=61, common=common)
    for found, expected in zip(tree.sweep(fast=True), tree.sweep(fast=False), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("common", COMMON)
def test_writing_past_the_caches_changes_nothing(common):
    tree = RandomTree(np.random.default_rng(0), bodies=61, common=common)
    for found, expected in zip(tree.sweep(fast=True, far=1), tree.sweep(fast=True), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("seed", range(4))
def test_a_second_right_hand_side_is_answered_without_stress(seed):
    tree = RandomTree(np.random.default_rng(seed))
    for found, expected in zip(tree.respond(fast=False), tree.dense_response(), strict=True):
        np.testing.assert_allclose(found, expected, atol=ROUND_OFF * np.abs(expected).max())


@pytest.mark.parametrize("common", [name for name in COMMON if name != "driven"])  # trees with laws are not asked that
@pytest.mark.parametrize("seed", range(2))
def test_emitted_code_and_plain_loops_agree_on_the_second_one(seed, common):
    tree = RandomTree(np.random.default_rng(seed), bodies=61, common=common)
    for found, expected in zip(tree.respond(fast=True), tree.respond(fast=False), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_most_places_of_common_trees_take_the_emitted_code():
    for common, cases in zip(COMMON, ({0, 3}, {1, 4}, {0, ROPE}, {0, ROPES}, set(DRIVEN)), strict=True):
        tree = RandomTree(np.random.default_rng(0), bodies=61, common=common)
        chunks = tree.solver(fast=True).chunks
        assert chunks.plain_places < 10
        assert cases <= set(chunks.case.tolist())
        assert tree.solver(fast=False).chunks.plain_places == 61


@pytest.mark.parametrize("common", COMMON)
def test_bodies_that_rest_keep_their_step_and_forces(common):
    tree = RandomTree(np.random.default_rng(1), bodies=61, common=common)
    y, multiplier = tree.sweep(fast=True)
    second = tree.island == 1
    found, forces = tree.sweep(fast=True, active=tree.is_free * ~second)
    # the first tree is solved to the same digits, the forces in the second one are not touched
    np.testing.assert_array_equal(found[~second], y[~second])
    mine = second[tree.rows.near]
    np.testing.assert_array_equal(forces[~mine], multiplier[~mine])
    assert (forces[mine] == 0.0).all()


def test_rows_that_depend_on_each_other_are_reported_with_their_body():
    tree = RandomTree(np.random.default_rng(3), bodies=6)
    tree.double_first_row()
    assert tree.sweep_status() >= 0


@pytest.mark.parametrize("size", [3, 6, 7])
def test_the_forces_on_a_root_solve_its_equations_and_a_pivot_that_is_not_positive_is_told(size, rng):
    width = stride(size)
    root = rng.normal(size=(size, size))
    Phi, sides = np.zeros((size, width)), rng.normal(size=(size, 2))
    Phi[:, :size] = root @ root.T + 0.1 * np.eye(size)
    room = np.append(sides.ravel(), np.zeros(size))
    assert _solve_root(np.append(np.zeros(5), Phi.ravel()), 5, size, room)
    found = room[: 2 * size].reshape(size, 2)
    # rounding, magnified by the condition of Φ, some 1e3
    assert np.allclose(Phi[:, :size] @ found, sides, rtol=0.0, atol=1e-11)
    for k in range(size):
        bad = Phi.copy()
        bad[k, k] = -1.0
        assert not _solve_root(bad.ravel(), 0, size, np.append(sides.ravel(), np.zeros(size)))
