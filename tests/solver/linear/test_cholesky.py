"""Block Cholesky on body graphs against a dense solution."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.kernel.threads import using
from dovetail.solver.blocks import Blocks
from dovetail.solver.linear.cholesky import solve
from dovetail.solver.linear.ordering import NO_BLOCK, flipped


def system(bodies: int, pairs: np.ndarray, fixed: np.ndarray, rng: np.random.Generator) -> tuple[Blocks, np.ndarray]:
    """Blocks filled with a random positive definite matrix on the graph, and that matrix over all bodies.

    It is a sum of squares, one 24×24 for each pair as a joint would give, and a 12×12 for each body.
    """
    H = np.zeros((bodies, 12, bodies, 12))
    for b in range(bodies):
        A = rng.normal(size=(12, 12))
        H[b, :, b, :] += A @ A.T + np.eye(12)
    for i, j in pairs:
        A = rng.normal(size=(24, 24))
        S = (A @ A.T).reshape(2, 12, 2, 12)
        for a, left in enumerate((i, j)):
            for b, right in enumerate((i, j)):
                H[left, :, right, :] += S[a, :, b, :]
    blocks = Blocks(fixed, pairs)
    for b in range(bodies):
        blocks.D[b] = H[b, :, b, :]
    for (i, j), s in zip(pairs, located(blocks, pairs), strict=True):
        if s >= 0:
            blocks.U[s] = H[i, :, j, :]
        elif s != NO_BLOCK:
            blocks.U[flipped(s)] = H[j, :, i, :]
    return blocks, H


def located(blocks: Blocks, pairs: np.ndarray) -> np.ndarray:
    """Blocks of pairs of bodies."""
    found = np.empty(len(pairs), np.int64)
    blocks.locate(np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1]), found)
    return found


def random_pairs(bodies: int, count: int, rng: np.random.Generator) -> np.ndarray:
    return np.array([rng.choice(bodies, 2, replace=False) for _ in range(count)], np.int64).reshape(-1, 2)


@pytest.mark.parametrize(("bodies", "joints", "held"), [(1, 0, 0), (2, 1, 0), (6, 5, 1), (12, 20, 2), (25, 40, 0)])
def test_the_solution_is_that_of_the_dense_system(bodies, joints, held, rng):
    pairs = random_pairs(bodies, joints, rng)
    fixed = np.zeros(bodies, np.int64)
    fixed[rng.choice(bodies, held, replace=False)] = 1
    blocks, H = system(bodies, pairs, fixed, rng)
    g = rng.normal(size=(bodies, 12))
    free = np.flatnonzero(fixed == 0)
    blocks.g[:] = g
    expected = np.linalg.solve(H[np.ix_(free, range(12), free, range(12))].reshape(12 * len(free), -1), g[free].ravel())
    assert blocks.factor(1 - fixed) == -1
    found = blocks.solve(1 - fixed, blocks.g)[free].ravel()
    # condition numbers of these matrices stay below 1e5, times 1e-16 round-off, with room for two decades
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_fixed_bodies_have_no_place_and_no_blocks():
    blocks = Blocks(np.array([0, 1, 0]), np.array([[0, 1], [1, 2], [0, 2]]))
    assert blocks.position[1] == -1 and len(blocks.order) == 2 and len(blocks.U) == 1
    found = located(blocks, np.array([[0, 1], [1, 2], [0, 2], [2, 0]]))
    assert found[0] == found[1] == NO_BLOCK
    assert sorted(found[2:]) == [flipped(0), 0]  # one block, which is the transposed for one of the two


@pytest.mark.parametrize("flaw", [np.nan, -1e6, np.inf])
def test_the_body_that_spoils_the_matrix_is_named(flaw, rng):
    bodies = 8
    for spoiled in range(bodies):
        blocks, _ = system(bodies, random_pairs(bodies, 0, rng), np.zeros(bodies, np.int64), rng)
        blocks.D[spoiled, 4, 4] = flaw
        if np.isinf(flaw):  # an infinite entry makes the pivots after it NaN
            blocks.D[spoiled, 4, 6] = flaw
        assert blocks.factor(np.ones(bodies, np.int64)) == spoiled


def test_a_singular_coupling_is_found_where_it_is_eliminated(rng):
    blocks = Blocks(np.zeros(2, np.int64), np.array([[0, 1]]))
    blocks.D[:] = np.eye(12)
    blocks.U[0] = 1.5 * np.eye(12)  # [[1, 1.5], [1.5, 1]] is indefinite: the second pivot is 1 − 1.5²
    assert blocks.position[blocks.factor(np.ones(2, np.int64))] == 1


def test_a_scene_without_free_bodies_has_nothing_to_solve():
    blocks = Blocks(np.ones(3, np.int64), np.array([[0, 1]]))
    nobody = np.zeros(3, np.int64)
    blocks.g[:] = 1.0
    assert blocks.factor(nobody) == -1 and not blocks.solve(nobody, blocks.g).any()


def test_bodies_that_do_not_take_part_have_no_solution_and_disturb_none(rng):
    """Two pairs of bodies; the second has converged, and may even be singular."""
    pairs = np.array([[0, 1], [2, 3]])
    blocks, H = system(4, pairs, np.zeros(4, np.int64), rng)
    g = rng.normal(size=(4, 12))
    blocks.g[:] = g
    active = np.array([1, 1, 0, 0])
    blocks.D[2, 0, 0] = np.nan
    assert blocks.factor(active) == -1
    kept = g.copy()
    rows = (0, 0, len(blocks.order))
    solve(blocks.order, blocks.row_start, blocks.column, active, blocks.D, blocks.U, blocks.R, kept, rows)
    y = blocks.solve(active, blocks.g)
    expected = np.linalg.solve(H[:2, :, :2].reshape(24, 24), g[:2].ravel())
    np.testing.assert_allclose(y[:2].ravel(), expected, rtol=0, atol=1e-9 * np.abs(expected).max())  # as above
    np.testing.assert_array_equal(y[2:], 0.0)
    np.testing.assert_array_equal(kept[:2], y[:2])
    np.testing.assert_array_equal(kept[2:], g[2:])  # the kernel leaves them alone


def test_parts_are_factored_in_chunks_to_the_same_bits(rng):
    """Five grids of 3 × 4 bodies that touch nothing else, numbered at random."""
    number, found = rng.permutation(60).reshape(5, 3, 4), []
    sides = ((number[:, :-1], number[:, 1:]), (number[:, :, :-1], number[:, :, 1:]))
    pairs = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in sides])
    everyone, b = np.ones(60, np.int64), rng.normal(size=(60, 12))
    values = rng.normal(size=(len(pairs), 2, 12))
    for grain in (1e9, 0.5):
        with using(3, grain):
            blocks = Blocks(np.zeros(60, np.int64), pairs)
            blocks.D[:], place = np.eye(12), np.empty(len(pairs), np.int64)
            blocks.locate(pairs[:, 0].copy(), pairs[:, 1].copy(), place)
            for (i, j), k, (u, v) in zip(pairs, place, values, strict=True):
                blocks.D[i] += np.outer(u, u)
                blocks.D[j] += np.outer(v, v)
                blocks.U[k if k >= 0 else flipped(k)] = np.outer(u, v) if k >= 0 else np.outer(v, u)
            assert blocks.factor(everyone) == -1
            found.append(blocks.solve(everyone, b.copy()))
            assert (len(blocks._spans) > 3) == (grain < 1.0)
    np.testing.assert_array_equal(found[1], found[0])
