"""Shape energies: derivatives, invariance and safety, for every potential a body can have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scenes import rotation

from dovetail.constitution import AffineBodyConstitution
from dovetail.solver.assembly import bodies
from dovetail.solver.energy.arap import add_arap, arap_energy
from dovetail.solver.energy.kinetic import kinetic_energy, set_kinetic_gradient
from dovetail.solver.energy.ortho import add_ortho, ortho_energy


@dataclass(frozen=True)
class Shape:
    """A potential: value of w·E, and the call that adds its gradient and sets base + Hessian."""

    energy: Callable[[float, np.ndarray], float]
    add: Callable[..., None]


SHAPES = {
    "OrthoPotential": Shape(
        lambda w, Q: ortho_energy(w, Q, 0),
        lambda w, c, J, Q, base, g, D, exact=0.0: add_ortho(
            w, c, exact, J, Q, 0, np.zeros((3, 12)), np.zeros((3, 12)), base, g, D
        ),
    ),
    "ARAP": Shape(
        lambda w, Q: arap_energy(w, Q, 0, np.empty((3, 3))),
        lambda w, c, J, Q, base, g, D, exact=0.0: add_arap(
            w, c, exact, J, Q, 0, np.empty((3, 3)), np.empty((3, 3)), base, g, D
        ),
    ),
}
# the definitions, with A's columns as rows of Q[1:]
DEFINITIONS = {
    "OrthoPotential": lambda A: np.linalg.norm(A @ A.T - np.eye(3)) ** 2,
    "ARAP": lambda A: np.linalg.norm(A - nearest_rotation(A)) ** 2,
}


def nearest_rotation(A: np.ndarray) -> np.ndarray:
    left, _, right = np.linalg.svd(A)
    return left @ np.diag([1, 1, np.sign(np.linalg.det(left @ right))]) @ right


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    return rotation(rng.normal(size=3), rng.uniform(0, 3))


def state(A: np.ndarray, p: np.ndarray | float = 0.0) -> np.ndarray:
    """Q (1, 4, 3) of a body at p with linear part A."""
    Q = np.zeros((1, 4, 3))
    Q[0, 0] = p
    Q[0, 1:] = A.T
    return Q


def stretched(rng: np.random.Generator, low: float, high: float) -> np.ndarray:
    """Rotation times a stretch with principal values between low and high, along random axes."""
    axes = random_rotation(rng)
    return random_rotation(rng) @ axes @ np.diag(rng.uniform(low, high, 3)) @ axes.T


def moments(rng: np.random.Generator) -> np.ndarray:
    """M̂ of 20 random point masses."""
    points = np.column_stack([np.ones(20), rng.normal(size=(20, 3)) * [0.3, 0.1, 0.2] + 0.1])
    return (points.T @ np.diag(rng.uniform(0.5, 1.5, 20)) @ points)[None]


def inertia(M: np.ndarray) -> np.ndarray:
    about = M[0, 1:, 1:] - np.outer(M[0, 1:, 0], M[0, 1:, 0]) / M[0, 0, 0]
    return (np.trace(about) * np.eye(3) - about)[None]


def derivatives(
    shape: Shape, w: float, Q: np.ndarray, c: float, M: np.ndarray, exact: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient (12,) and symmetric Hessian (12, 12) of the shape term alone."""
    g, D = np.zeros((1, 12)), np.full((1, 12, 12), np.nan)
    shape.add(w, c, inertia(M), Q, np.zeros((1, 12, 12)), g, D, exact)
    upper = np.triu(D[0])
    return g[0], upper + np.triu(D[0], 1).T


def difference(f: Callable[[np.ndarray], np.ndarray], Q: np.ndarray, h: float = 1e-5) -> np.ndarray:
    """Central differences by the twelve entries of Q: truncation h² ≈ 1e-10, round-off 1e-16/h ≈ 1e-11, relative."""
    columns = []
    for k in range(12):
        step = np.zeros(12)
        step[k] = h
        columns.append((f(Q + step.reshape(1, 4, 3)) - f(Q - step.reshape(1, 4, 3))) / (2 * h))
    return np.array(columns)


@pytest.fixture(params=sorted(SHAPES))
def name(request) -> str:
    return request.param


@pytest.fixture
def shape(name) -> Shape:
    return SHAPES[name]


def test_every_potential_a_user_can_choose_is_tested_here():
    uids = {potential: AffineBodyConstitution({"name": potential}).uid() for potential in SHAPES}
    assert uids == {"OrthoPotential": bodies.ORTHO, "ARAP": bodies.ARAP}
    assert sorted(uids.values()) == sorted(AffineBodyConstitution.uids)


def test_the_energy_is_the_documented_one(name, shape, rng):
    for _ in range(20):
        A = stretched(rng, 0.3, 2.0)
        assert shape.energy(3.0, state(A)) == pytest.approx(3.0 * DEFINITIONS[name](A), rel=1e-12)


def test_rotations_cost_nothing(shape, rng):
    for _ in range(10):
        Q = state(random_rotation(rng), rng.normal(size=3))
        assert shape.energy(1.0, Q) < 1e-28  # twelve squares of round-off
        assert np.abs(derivatives(shape, 1.0, Q, 1.0, moments(rng))[0]).max() < 1e-14


def test_turning_and_moving_the_body_changes_nothing(shape, rng):
    for _ in range(10):
        A = stretched(rng, 0.5, 1.5)
        moved = state(random_rotation(rng) @ A, rng.normal(size=3))
        assert shape.energy(1.0, moved) == pytest.approx(shape.energy(1.0, state(A)), rel=1e-13)


def test_the_gradient_is_the_derivative_of_the_energy(shape, rng):
    for _ in range(10):
        Q = state(stretched(rng, 0.5, 1.5), rng.normal(size=3))
        g, _ = derivatives(shape, 2.0, Q, 1.0, moments(rng))
        np.testing.assert_allclose(g, difference(lambda X: shape.energy(2.0, X), Q), atol=1e-8)


@pytest.mark.parametrize(("low", "high", "c"), [(1.0, 1.5, 1.0), (0.9995, 1.0, 0.05)])
def test_the_hessian_is_the_derivative_of_the_gradient(shape, low, high, c, rng):
    """Under tension, and under a compression so small that the inertia outweighs it; stronger ones shift it."""
    for _ in range(10):
        Q = state(stretched(rng, low, high), rng.normal(size=3))
        M = moments(rng)
        _, H = derivatives(shape, 2.0, Q, c, M)
        expected = difference(lambda X, M=M: derivatives(shape, 2.0, X, c, M)[0], Q)
        np.testing.assert_allclose(H, expected, atol=1e-7)  # entries up to 100, differences to 1e-9 of that


def test_the_exact_hessian_is_the_derivative_of_the_gradient_under_any_compression(shape, rng):
    for low in (0.2, 0.5, 0.9):
        Q = state(stretched(rng, low, 1.1), rng.normal(size=3))
        M = moments(rng)
        _, H = derivatives(shape, 2.0, Q, 1.0, M, exact=1.0)
        expected = difference(lambda X, M=M: derivatives(shape, 2.0, X, 1.0, M)[0], Q)
        np.testing.assert_allclose(H, expected, atol=1e-7)  # entries up to 100, differences to 1e-9 of that


@pytest.mark.parametrize("stiffness", [1e-2, 0.3, 1.0, 1e3, 1e8])
def test_with_the_mass_the_hessian_is_positive_definite_however_the_body_is_compressed(shape, stiffness, rng):
    for k in range(200):
        low = rng.uniform(0.01, 1.0)
        A = stretched(rng, low, rng.uniform(low, 1.2))
        if k % 4 == 0:  # flattened along one of its axes, the worst case
            A = random_rotation(rng) @ np.diag(rng.permutation([rng.uniform(0.01, 1.0), 1.0, 1.0]))
        M = moments(rng)
        _, H = derivatives(shape, stiffness, state(A), 1.0, M)
        total = H + np.kron(M[0], np.eye(3))
        # Cholesky is the criterion that the solver uses
        np.linalg.cholesky(total)


def test_an_uncompressed_body_is_never_shifted_however_its_inertia_lies(shape, rng):
    """A thin rod along the diagonal of its frame: J has large products of inertia and a tiny eigenvalue."""
    direction = np.ones(3) / np.sqrt(3)
    M = np.zeros((1, 4, 4))
    M[0, 0, 0] = 1.0
    M[0, 1:, 1:] = np.outer(direction, direction) / 12 + 1e-4 * np.eye(3)
    Q = state(random_rotation(rng))
    _, H = derivatives(shape, 1e3, Q, 1.0, M)
    expected = difference(lambda X: derivatives(shape, 1e3, X, 1.0, M)[0], Q)
    np.testing.assert_allclose(H, expected, atol=1e-4)  # entries up to 1e4, differences to 1e-9 of that


def test_the_kinetic_term_is_quadratic_in_the_moments(rng):
    M, Q, Q_tilde = moments(rng), rng.normal(size=(1, 4, 3)), rng.normal(size=(1, 4, 3))
    X = (Q - Q_tilde)[0]
    assert kinetic_energy(M, 2.25, Q, Q_tilde, 0) == pytest.approx(0.5 * 2.25 * np.trace(X.T @ M[0] @ X), rel=1e-13)
    g = np.full((1, 12), np.nan)
    set_kinetic_gradient(M, 2.25, Q, Q_tilde, 0, g)
    np.testing.assert_allclose(g[0], (2.25 * M[0] @ X).ravel(), rtol=1e-12)
