"""Motions that joints leave and hold, against differences and NumPy's decomposition."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from dense_kinematics import DenseKinematics

from dovetail.solver.joint.screws import move_bodies

sys.path.append(str(Path(__file__).parents[2] / "sim"))
from test_mechanism import zoo


@pytest.fixture(scope="module")
def case():
    """A mechanism with every kind of joint, away from where it was made."""
    m = zoo().mechanism()
    island = m._state._kinematics.island
    return island, DenseKinematics(m), m._state._simulation.state.Q.copy()


def about(twist, arm):
    """A twist (6,) about a centre, of which a body is at `arm`, as one about the body's origin."""
    return np.concatenate([twist[:3] + np.cross(twist[3:], arm), twist[3:]])


def test_slopes_and_directions_are_first_derivatives(case):
    """Ċ of a joint is as long as what its directions tell of it, and ẋ is what slopes tell."""
    island, dense, Q = case
    at = island.posture(Q, dense.told(Q)[1])
    moves, twists = at.motions, np.random.default_rng(1).normal(size=(len(island.bodies), 6))
    place = {-1: np.zeros(6), **{int(body): twist for body, twist in zip(island.bodies, twists, strict=True)}}
    relative = np.array([place[right] - place.get(left, 0.0) for left, right in island._joints.pairs.tolist()])
    own = np.array([about(twist, arm) for twist, arm in zip(twists, at.arm, strict=True)])
    ends = [dense.told(dense.moved(Q, e * own)) for e in (1e-6, -1e-6)]
    C, x = ((a - b) / 2e-6 for a, b in zip(*ends, strict=True))
    assert np.allclose(np.einsum("ma,ma->m", moves.slope, relative[island.joints_of_rows()]), x, atol=1e-7)
    held = np.einsum("kca,ka->kc", moves.hold, relative)
    of = joints_of(dense)
    for j in np.flatnonzero(np.diff(island._joints.first_held) == 0):  # held coordinates are weighed otherwise
        assert np.linalg.norm(C[: len(of)][of == j]) == pytest.approx(np.linalg.norm(held[j]), abs=1e-7)


def joints_of(dense):
    """The joint of each number that points and slides hold."""
    return np.repeat(np.concatenate([dense.lowered.points.joint, dense.lowered.slides.joint]), 3)


def test_directions_are_orthogonal_and_in_order(case):
    island, dense, Q = case
    moves = island.posture(Q, dense.told(Q)[1]).motions
    scale = np.array([1.0] * 3 + [island.size] * 3)
    arm = Q[island._joints.pairs[:, 1], 0] - Q[island.bodies[0], 0]
    for j, directions in enumerate(moves.motion):
        T = np.array([about(t, arm[j]) for t in directions]) * scale
        assert np.allclose(T @ T.T, np.eye(6), atol=1e-12)
        sigma = np.linalg.norm([about_row(h, arm[j]) / scale for h in moves.hold[j]], axis=1)
        assert (np.diff(sigma) <= 1e-12).all() and (moves.gain[j] > 0).sum() == island._joints.rank[j]
        held = moves.gain[j] > 0
        assert np.allclose(moves.gain[j][held], 1.0 / sigma[held])
    # hinge, two rotations, cylinder, plane, screw, point on a line, ball, weld, slider, rod
    assert island._joints.rank.tolist() == [5, 4, 4, 3, 5, 2, 3, 6, 5, 1]


def about_row(row, arm):
    """What a row (6,) on twists about a centre is on those about an origin at `arm`."""
    return np.concatenate([row[:3], row[3:] - np.cross(arm, row[:3])])


def test_bends_are_second_derivatives_along_constant_twists(case):
    island, dense, Q = case
    rng = np.random.default_rng(5)
    twists = rng.normal(size=(len(island.bodies), 6))
    at = island.posture(Q, dense.told(Q)[1], twists)

    def ahead(t):
        """What is told after screws by a constant twist of each body."""
        out = Q.copy()
        n = len(island.bodies)
        ends = np.stack([np.full(n, -1), np.arange(n)], axis=1)
        move_bodies(ends, np.ones(n), t * twists, at.centre, island.bodies, out)
        return dense.told(out)

    e = 1e-4
    far, here, back = ahead(e), ahead(0.0), ahead(-e)
    C, x = ((a - 2 * b + c) / e**2 for a, b, c in zip(far, here, back, strict=True))
    assert np.allclose(at.motions.curve, x, atol=1e-5)
    of = joints_of(dense)
    V = island.rates(Q, twists, at.centre)
    rates = dense.lowered.coordinates.rates(Q, V)[island.rows]
    assert np.allclose((ahead(1e-6)[1] - ahead(-1e-6)[1]) / 2e-6, rates, atol=1e-7)
    for j in np.flatnonzero((np.diff(island._joints.first_held) == 0) & (island._joints.rank > 0)):
        # u·C̈ is what of C̈ lies in the directions that are held
        U = directions_of(dense, island, Q, j, of)[:, : island._joints.rank[j]]
        expected = np.linalg.norm(U.T @ C[: len(of)][of == j])
        assert np.linalg.norm(at.motions.bend[j]) == pytest.approx(expected, abs=1e-5)


def directions_of(dense, island, Q, j, of):
    """u of a joint by NumPy, from derivatives by differences over twists of its right body."""
    body = island._joints.pairs[j, 1]
    k = int(np.flatnonzero(island.bodies == body)[0])
    columns = []
    for a in range(6):
        twist = np.zeros((len(island.bodies), 6))
        twist[k, a] = 1e-6 / (1.0 if a < 3 else island.size)
        ends = [dense.told(dense.moved(Q, sign * twist))[0][: len(of)][of == j] for sign in (1, -1)]
        columns.append((ends[0] - ends[1]) / 2e-6)
    return np.linalg.svd(np.stack(columns, axis=1))[0]
