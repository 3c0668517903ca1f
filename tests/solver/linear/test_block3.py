"""The 3×3 block operations: vector code against the plain loops that define them, and those against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from dovetail.kernel.kernel import jit_enabled
from dovetail.solver.linear import block3, block3_plain

DEFINITIONS = {"product": lambda C, A, B: A @ B, "subtract_product": lambda C, A, B: C - A.T @ B}


def padded(rng: np.random.Generator) -> np.ndarray:
    """Three blocks; an operation works on the second, so that a wrong offset shows."""
    rows = np.zeros((3, 3, 4))
    rows[:, :, :3] = rng.normal(size=(3, 3, 3))
    return rows.reshape(3, 12)


def square(block: np.ndarray) -> np.ndarray:
    return block.reshape(3, 4)[:, :3]


def test_all_operations_are_listed_here():
    for module in (block3, block3_plain):
        assert sorted(module.__all__) == sorted(DEFINITIONS)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_plain_loops_do_what_their_formula_says(name, rng):
    operation = getattr(block3_plain, name)
    C, A, B = padded(rng), padded(rng), padded(rng)
    expected = DEFINITIONS[name](square(C[1]), square(A[1]), square(B[1]))
    others = C[[0, 2]].copy()
    getattr(operation, "py_func", operation)(C, 1, A, 1, B, 1)
    np.testing.assert_allclose(square(C[1]), expected, rtol=0, atol=1e-14)  # sums of four products of size one
    assert not C[1].reshape(3, 4)[:, 3].any() and np.array_equal(C[[0, 2]], others)


@pytest.mark.skipif(not jit_enabled, reason="intrinsics need the compiler")
@pytest.mark.parametrize("name", DEFINITIONS)
def test_vector_code_does_what_the_plain_loops_do(name, rng):
    plain, operation = getattr(block3_plain, name), getattr(block3, name)
    vectorised = njit(lambda C, c, A, a, B, b: operation(C, c, A, a, B, b))
    C, A, B = padded(rng), padded(rng), padded(rng)
    expected = C.copy()
    plain.py_func(expected, 1, A, 1, B, 1)
    vectorised(C, 1, A, 1, B, 1)
    np.testing.assert_allclose(C, expected, rtol=0, atol=1e-14)  # as above
