"""The 12×12 block operations: vector code against the plain loops that define them, and those against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from dovetail.kernel.kernel import jit_enabled
from dovetail.solver.linear import block12, block12_plain

# which operands an operation takes: D block to be factored, I the same but indefinite, U factored block, B any block,
# R reciprocal diagonal, v vector
OPERANDS = {
    "add_dyad": "Bvv",
    "add_gram": "BB",
    "cholesky": "DR",
    "signed_cholesky": "IRv",
    "subtract_gram": "BB",
    "subtract_product": "BBB",
    "subtract_times": "vBv",
    "subtract_transposed_times": "vBv",
    "upper_solve": "URv",
    "upper_transposed_solve": "URv",
    "upper_transposed_solve_block": "URB",
}
UPPER_ONLY = {"add_gram": 0, "cholesky": 0, "signed_cholesky": 0, "subtract_gram": 0}
"""Operations whose result counts on and above the diagonal only, with the operand that holds it."""

OPERATIONS = sorted(OPERANDS)


def test_all_operations_are_listed_here():
    for module in (block12, block12_plain):
        assert sorted(module.__all__) == OPERATIONS


def positive_definite(rng: np.random.Generator) -> np.ndarray:
    A = rng.normal(size=(12, 12))
    return A @ A.T + np.eye(12)


def operands(name: str, rng: np.random.Generator) -> list[np.ndarray]:
    """Arrays of three entries; the operation works on entry 1, so that a wrong offset shows."""
    S = np.array([positive_definite(rng) for _ in range(3)])
    U = np.linalg.cholesky(S).transpose(0, 2, 1)
    make = {
        "D": lambda: S,
        "I": lambda: np.array([u.T @ np.diag(rng.choice([-1.0, 1.0], 12)) @ u for u in U]),
        "U": lambda: np.ascontiguousarray(U),
        "R": lambda: 1.0 / np.ascontiguousarray(np.einsum("kii->ki", U)),
        "B": lambda: rng.normal(size=(3, 12, 12)),
        "v": lambda: rng.normal(size=(3, 12)),
    }
    return [make[kind]().copy() for kind in OPERANDS[name]]


def call(operation, arrays: list[np.ndarray]):
    return operation(*[part for array in arrays for part in (array, 1)])


def plain(name: str):
    """The defining loops, run by Python itself."""
    operation = getattr(block12_plain, name)
    return getattr(operation, "py_func", operation)


def vectorised(name: str):
    """The intrinsic, which only compiled code can call."""
    operation = getattr(block12, name)
    if len(OPERANDS[name]) == 2:
        return njit(lambda A, a, B, b: operation(A, a, B, b))
    return njit(lambda A, a, B, b, C, c: operation(A, a, B, b, C, c))


def same(name: str, found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for k, (left, right) in enumerate(zip(found, expected, strict=True)):
        if UPPER_ONLY.get(name) == k:
            left, right = np.triu(left), np.triu(right)
        # 12 multiply-adds per entry and condition numbers below 1e3: 1e-16 grows to 1e-12 at most
        np.testing.assert_allclose(left, right, rtol=1e-11, atol=1e-11)


@pytest.mark.skipif(not jit_enabled, reason="intrinsics need the compiler")
@pytest.mark.parametrize("name", OPERATIONS)
def test_vector_code_does_what_the_plain_loops_do(name, rng):
    operation = vectorised(name)
    for _ in range(5):
        arrays = operands(name, rng)
        expected = [array.copy() for array in arrays]
        wanted, got = call(plain(name), expected), call(operation, arrays)
        same(name, arrays, expected)
        if wanted is not None:
            assert got == pytest.approx(wanted, rel=1e-11)  # the smallest pivot, same reason


DEFINITIONS = {
    "add_dyad": lambda C, x, y: {0: C + np.outer(x, y)},
    "add_gram": lambda C, A: {0: C + A.T @ A},
    "cholesky": lambda D, R: {0: np.linalg.cholesky(D).T, 1: 1 / np.diag(np.linalg.cholesky(D))},
    "subtract_gram": lambda C, A: {0: C - A.T @ A},
    "subtract_product": lambda C, A, B: {0: C - A.T @ B},
    "subtract_times": lambda y, A, x: {0: y - A @ x},
    "subtract_transposed_times": lambda y, A, x: {0: y - A.T @ x},
    "upper_solve": lambda U, R, y: {2: np.linalg.solve(U, y)},
    "upper_transposed_solve": lambda U, R, y: {2: np.linalg.solve(U.T, y)},
    "upper_transposed_solve_block": lambda U, R, X: {2: np.linalg.solve(U.T, X)},
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_plain_loops_do_what_their_formula_says(name, rng):
    arrays = operands(name, rng)
    expected = [array.copy() for array in arrays]
    for k, value in DEFINITIONS[name](*[array[1] for array in arrays]).items():
        expected[k][1] = value
    call(plain(name), arrays)
    same(name, arrays, expected)


def test_the_signed_factor_gives_back_an_indefinite_matrix(rng):
    D, R, G = operands("signed_cholesky", rng)
    matrix = D[1].copy()
    smallest = call(plain("signed_cholesky"), [D, R, G])
    U, diagonal = np.triu(D[1]), np.diag(D[1])
    np.testing.assert_allclose(U.T @ np.diag(G[1]) @ U, matrix, rtol=0, atol=1e-11 * np.abs(matrix).max())  # as above
    np.testing.assert_allclose(R[1] * diagonal, 1.0, rtol=1e-14)  # one division
    assert smallest == pytest.approx(diagonal.min() ** 2) and diagonal.min() > 0.0
    assert (G[1] < 0).sum() == (np.linalg.eigvalsh(matrix) < 0).sum() > 0


@pytest.mark.parametrize(
    "form", ["plain", pytest.param("simd", marks=pytest.mark.skipif(not jit_enabled, reason="JIT"))]
)
@pytest.mark.parametrize("flaw", [np.nan, -1.0, 0.0])
def test_a_block_that_is_not_positive_definite_is_reported(form, flaw, rng):
    cholesky = plain("cholesky") if form == "plain" else vectorised("cholesky")
    for place in (0, 5, 11):
        D, R = operands("cholesky", rng)
        D[1] = np.diag(np.where(np.arange(12) == place, flaw, 1.0))
        assert not call(cholesky, [D, R]) > 0.0, "the smallest pivot must fail the comparison, also if it is NaN"
