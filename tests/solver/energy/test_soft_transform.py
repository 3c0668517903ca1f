"""The pull to a target pose: its matrix, its derivatives, and the gradual approach of substeps."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.solver.blocks import Blocks
from dovetail.solver.energy.soft_transform import SoftTransforms


@pytest.fixture
def mass(rng) -> np.ndarray:
    """Moments of three bodies of ten random point masses each, off-centre."""
    points = np.concatenate([np.ones((3, 10, 1)), rng.normal(size=(3, 10, 3)) + 0.5], axis=2)
    return np.einsum("bki,bkj->bij", points, points)


def pull(mass: np.ndarray, rng: np.random.Generator) -> tuple[SoftTransforms, np.ndarray, np.ndarray]:
    """Bodies 2 and 0 drawn to random targets with different strengths; also strengths and targets."""
    strength, target = np.array([[3.0, 0.5], [0.0, 2.0]]), rng.normal(size=(2, 4, 3))
    soft = SoftTransforms(mass)
    soft.set(np.array([2, 0]), strength, target)
    soft.approach(np.zeros((3, 4, 3)), 1.0)
    return soft, strength, target


def matrix(M: np.ndarray, strength: np.ndarray) -> np.ndarray:
    """B = η_p M_cm + η_a (M̂ − M_cm),   M_cm = m (1,c)(1,c)ᵀ"""
    row = np.array([1.0, *M[0, 1:] / M[0, 0]])
    centre = M[0, 0] * np.outer(row, row)
    return strength[0] * centre + strength[1] * (M - centre)


def test_the_energy_is_the_documented_one(mass, rng):
    soft, strength, target = pull(mass, rng)
    Q = rng.normal(size=(3, 4, 3))
    expected = 0.0
    for k, body in enumerate((2, 0)):
        X = Q[body] - target[k]
        expected += 0.5 * np.trace(X.T @ matrix(mass[body], strength[k]) @ X)
    assert soft.energy(Q) == pytest.approx(expected, rel=1e-13)


def test_gradient_and_hessian_are_derivatives_of_the_energy(mass, rng):
    soft, _, _ = pull(mass, rng)
    blocks = Blocks(np.zeros(3, np.int64), np.zeros((0, 2), np.int64))
    Q = rng.normal(size=(3, 4, 3))
    soft.assemble(Q, True, blocks)
    for body in range(3):
        g, H = blocks.g[body], blocks.D[body]
        for k in range(12):
            step = np.zeros((3, 4, 3))
            step[body].ravel()[k] = 0.5
            up, down, here = soft.energy(Q + step), soft.energy(Q - step), soft.energy(Q)
            # quadratic: differences are exact but for the round-off of energies of about 1e3
            assert g[k] == pytest.approx(up - down, abs=1e-10)
            assert H[k, k] == pytest.approx(4 * (up - 2 * here + down), abs=1e-10)
        np.testing.assert_allclose(H, H.T, atol=1e-13)


def test_a_strength_of_position_alone_leaves_rotations_about_the_centre_free(mass):
    soft = SoftTransforms(mass)
    rest = np.zeros((3, 4, 3))
    rest[:, 1:] = np.eye(3)
    soft.set(np.array([1]), np.array([[5.0, 0.0]]), rest[1:2])
    soft.approach(rest, 1.0)
    centre = mass[1, 0, 1:] / mass[1, 0, 0]
    Q = rest.copy()
    Q[1, 1:] = [[0, 1, 0], [-1, 0, 0], [0, 0, 1]]
    Q[1, 0] = centre - centre @ Q[1, 1:]
    assert abs(soft.energy(Q)) < 1e-12  # terms of about 50 that cancel
    Q[1, 0] += [0.1, 0, 0]
    assert soft.energy(Q) == pytest.approx(0.5 * 5.0 * mass[1, 0, 0] * 0.01, rel=1e-12)


def test_with_substeps_the_target_arrives_gradually(mass, rng):
    soft, strength, target = pull(mass, rng)
    start, Q = rng.normal(size=(2, 3, 4, 3))
    for ratio in (0.25, 0.5, 1.0):
        soft.approach(start, ratio)
        expected = 0.0
        for k, body in enumerate((2, 0)):
            X = Q[body] - (start[body] + ratio * (target[k] - start[body]))
            expected += 0.5 * np.trace(X.T @ matrix(mass[body], strength[k]) @ X)
        assert soft.energy(Q) == pytest.approx(expected, rel=1e-12)


def test_bodies_that_are_no_longer_drawn_are_free(mass, rng):
    soft, _, _ = pull(mass, rng)
    soft.set(np.zeros(0, np.int64), np.zeros((0, 2)), np.zeros((0, 4, 3)))
    blocks = Blocks(np.zeros(3, np.int64), np.zeros((0, 2), np.int64))
    soft.assemble(rng.normal(size=(3, 4, 3)), True, blocks)
    assert soft.count == 0 and soft.energy(rng.normal(size=(3, 4, 3))) == 0.0
    assert not blocks.g.any() and not blocks.D.any()
