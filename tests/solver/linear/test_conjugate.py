"""Conjugate gradients with an incomplete factor, against dense solutions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dovetail.kernel.threads import using
from dovetail.solver.blocks import Blocks
from dovetail.solver.linear.separator import separated


def structured(bodies: int, pairs: np.ndarray, always: bool = True) -> Blocks:
    """Blocks that conjugate gradients may solve where that is less work, or always."""
    blocks = Blocks(np.zeros(bodies, np.int64))
    blocks.restructure(pairs, may_iterate=np.ones(bodies, np.bool_), always=always)
    blocks.U[:] = 0.0
    return blocks


def block_of(blocks: Blocks, a: int, b: int) -> int:
    """Block of two bodies, of which a is eliminated first."""
    found = np.empty(1, np.int64)
    blocks.locate(np.array([a]), np.array([b]), found)
    return int(found[0])


def grid(n: int) -> np.ndarray:
    """Pairs of all cells of an n × n × n grid that touch at a face, an edge or a corner."""
    cells = list(product(range(n), repeat=3))
    number = {cell: k for k, cell in enumerate(cells)}
    steps = [step for step in product((-1, 0, 1), repeat=3) if step > (0, 0, 0)]
    pairs = [(number[cell], number.get(tuple(np.add(cell, step)))) for cell in cells for step in steps]
    return np.array([pair for pair in pairs if pair[1] is not None])


def stiff_contacts(blocks: Blocks, pairs: np.ndarray, rng: np.random.Generator, stiffness: float) -> np.ndarray:
    """Unit masses and one stiff direction per pair, as contact adds it; the dense matrix by body."""
    n = len(blocks.position)
    H = np.zeros((n, 12, n, 12))
    H[np.arange(n), :, np.arange(n), :] = np.eye(12)
    for a, b in pairs:
        u, v = rng.normal(size=(2, 12))
        H[a, :, a, :] += stiffness * np.outer(u, u)
        H[b, :, b, :] += stiffness * np.outer(v, v)
        H[a, :, b, :] -= stiffness * np.outer(u, v)
        H[b, :, a, :] -= stiffness * np.outer(v, u)
    for b in range(n):
        blocks.D[b] = np.triu(H[b, :, b, :])
    for a, b in pairs:
        first, second = (a, b) if blocks.position[a] < blocks.position[b] else (b, a)
        blocks.U[block_of(blocks, first, second)] = H[first, :, second, :]
    return H.reshape(12 * n, 12 * n)


def test_a_dense_pile_is_solved_by_conjugate_gradients_and_a_chain_is_factored():
    pairs = grid(8)
    everyone = np.ones(512, np.int64)
    assert structured(512, pairs, always=False).iterates(everyone)
    assert not Blocks(np.zeros(512, np.int64), pairs).iterates(everyone)
    chain = np.stack([np.arange(999), np.arange(1, 1000)], axis=1)
    assert not structured(1000, chain, always=False).iterates(np.ones(1000, np.int64))


def test_a_pile_is_iterated_and_a_chain_beside_it_factored():
    pile, chain = grid(8), 512 + np.stack([np.arange(499), np.arange(1, 500)], axis=1)
    blocks = structured(1012, np.concatenate([pile, chain]), always=False)
    np.testing.assert_array_equal(blocks.iterative, np.arange(1012) < 512)


def test_where_one_body_must_be_factored_its_part_is():
    left = grid(8)
    blocks = Blocks(np.zeros(1024, np.int64))
    may = np.ones(1024, np.bool_)
    may[700] = False
    blocks.restructure(np.concatenate([left, left + 512]), may_iterate=may)
    np.testing.assert_array_equal(blocks.iterative, np.arange(1024) < 512)


@pytest.mark.parametrize("stiffness", [1.0, 100.0])
def test_the_solution_is_that_of_a_dense_solver(stiffness):
    rng = np.random.default_rng(1)
    pairs = grid(6)
    blocks, active = structured(216, pairs), np.ones(216, np.int64)
    H = stiff_contacts(blocks, pairs, rng, stiffness)
    b = rng.normal(size=(216, 12))
    wanted = np.linalg.solve(H, b.reshape(-1)).reshape(216, 12)
    assert blocks.factor(active) == -1
    error = (blocks.solve(active, b.copy()) - wanted).reshape(-1)
    # the residual is below 1e-4 in the norm of the preconditioner, which is that of H up to a factor of some ten
    assert error @ H @ error <= (1e-3) ** 2 * (wanted.reshape(-1) @ H @ wanted.reshape(-1))


def test_on_a_tree_the_incomplete_factor_is_the_whole_one():
    rng = np.random.default_rng(2)
    pairs = np.array([((k - 1) // 2, k) for k in range(1, 40)])
    blocks, active = structured(40, pairs), np.ones(40, np.int64)
    H = stiff_contacts(blocks, pairs, rng, 10.0)
    assert blocks.factor(active) == -1
    b = rng.normal(size=(40, 12))
    y = b.copy()
    rounds = blocks.iterate(active, 1e-10, 50, y)
    assert rounds <= 2
    np.testing.assert_allclose(y.reshape(-1), np.linalg.solve(H, b.reshape(-1)), atol=1e-9)


def test_rows_that_are_not_active_do_not_take_part():
    rng = np.random.default_rng(3)
    left = grid(6)
    pairs = np.concatenate([left, left + 216])
    blocks, active = structured(432, pairs), (np.arange(432) < 216).astype(np.int64)
    H = stiff_contacts(blocks, pairs, rng, 10.0)
    assert blocks.factor(active) == -1
    b = rng.normal(size=(432, 12))
    y = blocks.solve(active, b.copy())
    n = 216 * 12
    wanted = np.linalg.solve(H[:n, :n], b[:216].reshape(-1)).reshape(216, 12)
    assert np.abs(y[:216] - wanted).max() < 1e-3 * np.abs(wanted).max()
    assert not y[216:].any()
    y = b.copy()
    blocks.iterate(active, 1e-4, 50, y)
    np.testing.assert_array_equal(y[216:], b[216:])


def test_a_matrix_that_is_no_number_gives_no_number():
    pairs = grid(6)
    blocks, active = structured(216, pairs), np.ones(216, np.int64)
    stiff_contacts(blocks, pairs, np.random.default_rng(4), 1.0)
    assert blocks.factor(active) == -1
    b = np.full((216, 12), np.nan)
    assert np.isnan(blocks.solve(active, b)).any()


@pytest.mark.parametrize("shape", [(40, 3, 3), (40, 1, 1)], ids=["bar", "row"])
def test_leaves_are_of_like_size_and_no_pair_connects_them(shape):
    cells = np.array(list(product(*map(range, shape))))
    near = np.abs(cells[:, None] - cells[None]).max(axis=2) == 1
    pairs = np.argwhere(np.triu(near))[::-1]
    leaf = separated(len(cells), pairs, 4)
    inside = leaf[pairs][(leaf[pairs] < 4).all(axis=1)]
    np.testing.assert_array_equal(inside[:, 0], inside[:, 1])
    sizes = np.bincount(leaf, minlength=5)
    assert sizes[4] <= 3 * shape[1] * shape[2]
    assert sizes[:4].max() <= 2.0 * sizes[:4].min()
    # two that are apart, each of which is small beside the other: cut as one
    both = separated(2 * len(cells), np.concatenate([pairs, pairs + len(cells)]), 4)
    inside = both[pairs][(both[pairs] < 4).all(axis=1)]
    np.testing.assert_array_equal(inside[:, 0], inside[:, 1])
    assert not (separated(8, np.argwhere(np.triu(np.ones((8, 8)), 1)), 4)).any()  # all touch all


def test_leaves_at_the_same_time_give_the_solution_and_the_same_bits_for_any_number_of_threads():
    """A bar of 40 × 3 × 3 cells, and a chain beside it, which is factored."""
    cells = np.array(list(product(range(40), range(3), range(3))))
    near = np.abs(cells[:, None] - cells[None]).max(axis=2) == 1
    n, links = len(cells), len(cells) + np.stack([np.arange(9), np.arange(1, 10)], axis=1)
    pairs = np.concatenate([np.argwhere(np.triu(near)), links])
    rng = np.random.default_rng(5)
    b, found, active = rng.normal(size=(n + 10, 12)), [], np.ones(n + 10, np.int64)
    for threads in (1, 2, 3, 4, 8):
        with using(threads, 0.5):
            blocks = Blocks(np.zeros(n + 10, np.int64))
            may = np.arange(n + 10) < n
            blocks.restructure(pairs, may_iterate=may, always=True)
            blocks.U[:] = 0.0
            assert len(blocks._leaves) == 6
            H = stiff_contacts(blocks, pairs, np.random.default_rng(6), 10.0)
            assert blocks.factor(active) == -1
            found.append(blocks.solve(active, b.copy(), 1e-9))
    wanted = np.linalg.solve(H, b.reshape(-1))
    np.testing.assert_allclose(found[0].reshape(-1), wanted, atol=1e-7)  # residual of 1e-9, condition of some hundred
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
