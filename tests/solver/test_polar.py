"""The rotation nearest to a matrix, and cheap facts on symmetric 3×3 matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scenes import rotation

from dovetail.solver.polar import determinant, polar
from dovetail.solver.symmetric3 import gershgorin, positive_definite


def state(A: np.ndarray) -> np.ndarray:
    Q = np.zeros((2, 4, 3))
    Q[1, 1:] = A.T
    return Q


def random_matrix(rng: np.random.Generator, low: float, high: float) -> np.ndarray:
    left, right = (rotation(rng.normal(size=3), rng.uniform(0, 3)) for _ in range(2))
    return left @ np.diag(rng.uniform(low, high, 3)) @ right


@pytest.mark.parametrize(("low", "high"), [(1.0, 1.0), (0.9, 1.1), (0.05, 3.0)])
def test_the_polar_rotation_is_that_of_the_singular_values(low, high, rng):
    for _ in range(20):
        A = random_matrix(rng, low, high)
        left, _, right = np.linalg.svd(A)
        R = np.empty((3, 3))
        polar(state(A), 1, R, 1e-14)
        np.testing.assert_allclose(R.T, left @ right, atol=1e-13)  # round-off times the condition number


def test_a_loose_tolerance_stops_early_but_near(rng):
    A = random_matrix(rng, 0.9, 1.1)
    exact, near = np.empty((3, 3)), np.empty((3, 3))
    polar(state(A), 1, exact, 1e-14)
    polar(state(A), 1, near, 1e-6)
    # quadratic: a last change below 1e-6 leaves an error of its square
    np.testing.assert_allclose(near, exact, atol=1e-11)


def test_the_determinant_tells_a_mirrored_body(rng):
    for _ in range(10):
        A = rng.normal(size=(3, 3))
        assert determinant(state(A), 1) == pytest.approx(np.linalg.det(A), rel=1e-10, abs=1e-13)
    assert determinant(state(np.diag([1.0, -1.0, 1.0])), 1) == -1.0


def entries(S: np.ndarray) -> tuple[float, ...]:
    return S[0, 0], S[1, 1], S[2, 2], S[0, 1], S[0, 2], S[1, 2]


def test_definiteness_is_that_of_the_eigenvalues_and_gershgorin_is_below_them(rng):
    seen = set()
    for _ in range(200):
        axes = rotation(rng.normal(size=3), rng.uniform(0, 3))
        S = axes @ np.diag(rng.uniform(-0.5, 2.0, 3)) @ axes.T
        smallest = np.linalg.eigvalsh(S)[0]
        seen.add(bool(positive_definite(*entries(S))))
        assert positive_definite(*entries(S)) == (smallest > 0)
        assert gershgorin(*entries(S)) <= smallest + 1e-14
    assert seen == {True, False}
    assert gershgorin(*entries(np.diag([3.0, -2.0, 1.0]))) == -2.0


def test_nothing_with_a_nan_is_positive_definite():
    for place in range(6):
        values = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
        values[place] = np.nan
        assert not positive_definite(*values)
