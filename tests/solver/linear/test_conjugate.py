"""Conjugate gradients with an incomplete factor, against dense solutions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dovetail.solver import blocks as blocks_module
from dovetail.solver.blocks import Blocks
from dovetail.solver.linear.conjugate import conjugate_gradients


@pytest.fixture(autouse=True)
def small_systems_iterate_too(monkeypatch):
    """Dense matrices to compare with shall be small."""
    monkeypatch.setattr(blocks_module, "_BODIES", 100)


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
        blocks.D[blocks.position[b]] = np.triu(H[b, :, b, :])
    for a, b in pairs:
        first, second = (a, b) if blocks.position[a] < blocks.position[b] else (b, a)
        blocks.U[blocks.block_of(a, b)] = H[first, :, second, :]
    return H.reshape(12 * n, 12 * n)


def test_a_dense_pile_is_solved_by_conjugate_gradients_and_a_chain_is_factored():
    pairs = grid(6)
    assert not Blocks(np.zeros(216, np.int64), pairs, may_iterate=True).direct
    assert Blocks(np.zeros(216, np.int64), pairs).direct
    chain = np.stack([np.arange(999), np.arange(1, 1000)], axis=1)
    assert Blocks(np.zeros(1000, np.int64), chain, may_iterate=True).direct


@pytest.mark.parametrize("stiffness", [1.0, 100.0])
def test_the_solution_is_that_of_a_dense_solver(stiffness):
    rng = np.random.default_rng(1)
    pairs = grid(6)
    blocks = Blocks(np.zeros(216, np.int64), pairs, may_iterate=True)
    H = stiff_contacts(blocks, pairs, rng, stiffness)
    b = rng.normal(size=(216, 12))
    wanted = np.linalg.solve(H, b.reshape(-1)).reshape(216, 12)
    assert blocks.factor() == -1
    y = np.empty_like(b)
    y[blocks.position] = b
    blocks.solve(y)
    error = (y[blocks.position] - wanted).reshape(-1)
    # the residual is below 1e-4 in the norm of the preconditioner, which is that of H up to a factor of some ten
    assert error @ H @ error <= (1e-3) ** 2 * (wanted.reshape(-1) @ H @ wanted.reshape(-1))


def test_on_a_tree_the_incomplete_factor_is_the_whole_one():
    rng = np.random.default_rng(2)
    pairs = np.array([((k - 1) // 2, k) for k in range(1, 40)])
    blocks = Blocks(np.zeros(40, np.int64), pairs)
    H = stiff_contacts(blocks, pairs, rng, 10.0)
    blocks.direct = False
    assert blocks.factor() == -1
    b = rng.normal(size=(40, 12))
    y = np.empty_like(b)
    y[blocks.position] = b
    rounds = conjugate_gradients(
        blocks.row_start, blocks.column, blocks.active, blocks.D, blocks.U, blocks._factor_D, blocks._factor_U,
        blocks._R, 1e-10, 50, y,
    )  # fmt: skip
    assert rounds <= 2
    np.testing.assert_allclose(y[blocks.position].reshape(-1), np.linalg.solve(H, b.reshape(-1)), atol=1e-9)


def test_rows_that_are_not_active_are_left_alone():
    rng = np.random.default_rng(3)
    left = grid(6)
    pairs = np.concatenate([left, left + 216])
    blocks = Blocks(np.zeros(432, np.int64), pairs, may_iterate=True)
    H = stiff_contacts(blocks, pairs, rng, 10.0)
    blocks.active[blocks.position[216:]] = 0
    assert blocks.factor() == -1
    b = rng.normal(size=(432, 12))
    y = np.empty_like(b)
    y[blocks.position] = b
    blocks.solve(y)
    n = 216 * 12
    wanted = np.linalg.solve(H[:n, :n], b[:216].reshape(-1)).reshape(216, 12)
    assert np.abs(y[blocks.position[:216]] - wanted).max() < 1e-3 * np.abs(wanted).max()
    np.testing.assert_array_equal(y[blocks.position[216:]], b[216:])


def test_a_matrix_that_is_no_number_gives_no_number():
    pairs = grid(6)
    blocks = Blocks(np.zeros(216, np.int64), pairs, may_iterate=True)
    stiff_contacts(blocks, pairs, np.random.default_rng(4), 1.0)
    assert blocks.factor() == -1
    b = np.full((216, 12), np.nan)
    assert np.isnan(blocks.solve(b)).any()
