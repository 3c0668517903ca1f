"""The factor by forces in points, against dense solutions of B + WᵀKW."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dovetail.solver.linear.dual import solve_points
from dovetail.solver.linear.points import Net, neighbours


class Joined:
    """Random bodies joined by random points, one point to the ground; the dense matrix of the whole.

    Some are indefinite alone, in a direction in which a point holds them to the ground.
    """

    def __init__(self, bodies: int, points: int, rng: np.random.Generator, stiffness: float, negative: int = 0) -> None:
        loops = [rng.choice(bodies, 2, replace=False) for _ in range(points - bodies)]
        self.rows = np.array([(k - 1, k) for k in range(bodies)] + loops)
        self.rows[:negative, 0] = -1
        self.W = rng.normal(size=(points, 8))
        self.K = stiffness * np.exp(rng.normal(size=points))
        self.B = np.zeros((bodies, 12, 12))
        for b in range(bodies):
            Q = np.linalg.qr(rng.normal(size=(12, 12)))[0]
            self.B[b] = Q @ np.diag(np.exp(rng.normal(size=12))) @ Q.T
        J = np.zeros((points, 3, bodies, 12))
        for t, pair in enumerate(self.rows):
            for side, b in enumerate(pair):
                if b >= 0:
                    J[t, :, b] += np.kron(self.W[t, 4 * side : 4 * side + 4], np.eye(3))
        J = J.reshape(3 * points, 12 * bodies)
        for b in range(negative):
            v = np.kron(self.W[b, 4:] / np.linalg.norm(self.W[b, 4:]), [1.0, 0.0, 0.0])
            self.B[b] -= (v @ self.B[b] @ v + 1.0) * np.outer(v, v)
        self.H = J.T @ np.diag(np.repeat(self.K, 3)) @ J
        for b in range(bodies):
            self.H[12 * b : 12 * b + 12, 12 * b : 12 * b + 12] += self.B[b]

    def solved(self, right: np.ndarray, active: np.ndarray | None = None) -> tuple[int, np.ndarray]:
        points = Net(self.rows)
        points.add(self.W[:2], self.K[:2])
        points.add(self.W[2:], self.K[2:])
        active = np.ones(len(self.B), np.int64) if active is None else active
        D, y = self.B.copy(), right.reshape(-1, 12).copy()
        bad = points.factor(active, D)
        if bad < 0:
            solve_points(points, active, D, y)
        return bad, y


@pytest.mark.parametrize(("bodies", "points"), [(1, 1), (3, 3), (8, 12), (20, 35), (6, 40)])
@pytest.mark.parametrize("stiffness", [1.0, 1e3, 1e9])
def test_the_solution_is_that_of_the_dense_system(bodies, points, stiffness, rng):
    net = Joined(bodies, points, rng, stiffness)
    b = rng.normal(size=12 * bodies)
    bad, y = net.solved(b)
    assert bad == -1
    expected = np.linalg.solve(net.H, b)
    # condition numbers up to 1e3 times the stiffness, of which the dense solution loses as much
    np.testing.assert_allclose(y.ravel(), expected, rtol=0, atol=1e-13 * max(stiffness, 1e3) * np.abs(expected).max())


def test_bodies_that_are_indefinite_alone_are_held_by_their_points(rng):
    net = Joined(12, 24, rng, 1e4, negative=5)
    assert np.linalg.eigvalsh(net.B)[:5, 0].max() < 0.0 < np.linalg.eigvalsh(net.H)[0]
    b = rng.normal(size=144)
    bad, y = net.solved(b)
    assert bad == -1
    expected = np.linalg.solve(net.H, b)
    # 1e-8 of round-off in gaps is let through, condition numbers are near 1e6
    np.testing.assert_allclose(y.ravel(), expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_a_matrix_that_is_indefinite_as_a_whole_is_refused(rng):
    refused = 0
    for stiffness in (1e-3, 1e4):
        net = Joined(12, 24, rng, stiffness, negative=5)
        definite = np.linalg.eigvalsh(net.H)[0] > 0.0
        assert (net.solved(np.zeros(144))[0] == -1) == definite
        refused += not definite
    assert refused == 1


@pytest.mark.parametrize("flaw", [np.nan, np.inf])
def test_a_body_that_is_not_finite_is_refused(flaw, rng):
    net = Joined(5, 8, rng, 10.0)
    net.B[3, 4, 4:6] = flaw
    with np.errstate(invalid="ignore"):  # plain loops warn
        assert net.solved(np.zeros(60))[0] >= 0


def test_rows_that_do_not_take_part_are_left_alone(rng):
    """Two nets; the second has converged, and may even be singular."""
    net = Joined(10, 16, rng, 10.0)
    apart = np.array([(a, b) for a, b in net.rows if (a < 5) == (b < 5) or a < 0])
    kept = np.array([k for k, (a, b) in enumerate(net.rows) if (a < 5) == (b < 5) or a < 0])
    net.rows, net.W, net.K = apart, net.W[kept], net.K[kept]
    active = (np.arange(10) < 5).astype(np.int64)
    b = rng.normal(size=120)
    _, expected = net.solved(b)
    net.B[7] = np.nan
    bad, y = net.solved(b, active)
    assert bad == -1
    np.testing.assert_array_equal(y[:5], expected[:5])
    np.testing.assert_array_equal(y[5:].ravel(), b[60:])


def test_a_point_without_stiffness_holds_nothing(rng):
    net = Joined(4, 6, rng, 10.0)
    net.K[4:] = 0.0
    less = Joined.__new__(Joined)
    less.__dict__ = {**net.__dict__, "rows": net.rows[:4], "W": net.W[:4], "K": net.K[:4]}
    b = rng.normal(size=48)
    # the same matrix in another order of elimination: condition numbers near 1e3
    np.testing.assert_allclose(net.solved(b)[1], less.solved(b)[1], rtol=0, atol=1e-11)


def test_points_are_neighbours_if_they_share_a_body(rng):
    rows = np.array([[-1, 0], [0, 1], [1, 2], [0, 2], [3, -1]])
    expected = {(a, b) for a, b in combinations(range(5), 2) if set(rows[a]) & set(rows[b]) - {-1}}
    assert {tuple(sorted(pair)) for pair in neighbours(rows)} == expected
