"""Constraints of exact joints: their derivatives, and the systems solved with them, against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest
from joint_scenes import JOINTS, Bench, random_rotation

from dovetail.constitution import AffineBodyDistanceJoint, AffineBodyScrewJoint, EdgeJoint
from dovetail.constitution.terms import Coincide, Slide
from dovetail.solver.articulated import trees
from dovetail.solver.direction import newton_direction


class _OneSidedSlide(EdgeJoint, uid=2**32 + 9101):
    """A point of the right body on a line of the left one."""

    terms = (Slide("c", axis="t", owner="left"),)


class _Cylindrical(EdgeJoint, uid=2**32 + 9102):
    """Slides and turns about an axis that both bodies share."""

    terms = (Slide("c", axis="t", owner="left"), Slide("c", axis="t", owner="right"), Coincide("t"))


HELD = {**{cls.__name__: cls for cls in JOINTS.values()}, "one slide": _OneSidedSlide, "cylindrical": _Cylindrical}
CURVED = {AffineBodyDistanceJoint, AffineBodyScrewJoint}
"""Joints whose constraints are not quadratic."""

kinds = pytest.mark.parametrize("kind", HELD.values(), ids=HELD.keys())

ROWS = {"AffineBodySphericalJoint": 3, "AffineBodyRevoluteJoint": 6, "AffineBodyPrismaticJoint": 10}
ROWS |= {"AffineBodyFixedJoint": 12, "one slide": 2, "cylindrical": 5}
ROWS |= {"AffineBodyPointOnLineJoint": 2, "AffineBodyCylindricalJoint": 5, "AffineBodyPlanarJoint": 4}
ROWS |= {"AffineBodyUniversalJoint": 4, "AffineBodyDistanceJoint": 1, "AffineBodyScrewJoint": 6}


@pytest.fixture(autouse=True)
def _without_sweep(monkeypatch):
    monkeypatch.setattr(trees, "_FEWEST", (10**9, 10**9))


def mechanism(kind, seed=0):
    """A chain of a fixed and three free bodies in random poses, joined exactly, and the generator used for them."""
    rng = np.random.default_rng(seed)
    bench = Bench(gravity=(1, 2, -9.8))
    rotations = [random_rotation(rng) for _ in range(4)]
    base = bench.box("base", (0.3, 0.2, 0.4), at=rng.normal(size=3), rotation=rotations[0], fixed=True)
    links = bench.box("links", (0.2, 0.5, 0.3), at=rng.normal(size=(3, 3)), rotation=rotations[1:])
    bodies = [base, *((links, k) for k in range(3))]
    points = rng.normal(size=(2, 3, 3))
    bench.join(kind, bodies[:-1], bodies[1:], *points, strength=np.inf)
    return bench.lowered(), rng


def by_position(simulation, rows):
    """(n, 4, 3) over bodies → (free, 12) by position."""
    position = simulation.system.position
    out = np.empty_like(simulation.system.blocks.g)
    free = position >= 0
    out[position[free]] = rows[free].reshape(-1, 12)
    return out


def by_body(simulation, y):
    """(free, 12) by position → (n, 4, 3) over bodies."""
    out = np.zeros_like(simulation.state.Q)
    position = simulation.system.position
    free = position >= 0
    out[free] = y.reshape(-1, 4, 3)[position[free]]
    return out


def constraint(simulation, Q):
    """C(Q) of all rows, one after the other; of parallel rows across v where they were last linearised."""
    system = simulation.system
    zero = np.zeros_like(system.blocks.g)
    found = []
    for rows in system.exact_joints.rows:
        rows.measure(Q, zero, system.blocks)
        found.append(rows.residual.ravel().copy())
    return np.concatenate(found)


def jacobian(simulation):
    """J (rows, 12·free) as last linearised."""
    system = simulation.system
    columns = []
    for k in range(system.blocks.g.size):
        y = np.zeros_like(system.blocks.g)
        y.flat[k] = 1.0
        for rows in system.exact_joints.rows:
            rows.apply(y, system.blocks)
        columns.append(np.concatenate([rows.applied.ravel() for rows in system.exact_joints.rows]))
    return np.array(columns).T


def dense(blocks):
    """The matrix that is about to be factored."""
    n = len(blocks.D)
    A = np.zeros((n, 12, n, 12))
    for k in range(n):
        A[k, :, k] = np.triu(blocks.D[k]) + np.triu(blocks.D[k], 1).T
        for s in range(blocks.row_start[k], blocks.row_start[k + 1]):
            A[k, :, blocks.column[s]] = blocks.U[s]
            A[blocks.column[s], :, k] = blocks.U[s].T
    return A.reshape(12 * n, 12 * n)


def weight(simulation):
    return np.concatenate([np.repeat(rows.K, 3) for rows in simulation.system.exact_joints.rows])


def disturbed(simulation, rng, size):
    free = simulation.system.position >= 0
    return simulation.state.Q + size * free[:, None, None] * rng.normal(size=simulation.state.Q.shape)


@kinds
def test_joints_are_closed_in_the_pose_in_which_they_are_made(kind):
    simulation, _ = mechanism(kind)
    simulation.system.assemble(simulation.state.Q, simulation.state.Q, True)
    # positions of order one, some ten roundings
    assert np.abs(constraint(simulation, simulation.state.Q)).max() < 1e-14


@pytest.mark.parametrize("name", HELD)
def test_a_joint_takes_as_many_motions_of_affine_bodies_as_it_names(name):
    simulation, _ = mechanism(HELD[name])
    system = simulation.system
    system.assemble(simulation.state.Q, simulation.state.Q, True)
    s = np.linalg.svd(jacobian(simulation), compute_uv=False)
    assert (s > 1e-6 * s[0]).sum() == 3 * ROWS[name]


@kinds
def test_j_is_the_derivative_of_c(kind):
    simulation, rng = mechanism(kind)
    Q = disturbed(simulation, rng, 0.1)
    simulation.system.assemble(Q, Q, True)
    J = jacobian(simulation)
    for _ in range(3):
        step = disturbed(simulation, rng, 1.0) - simulation.state.Q
        # C is quadratic at most, so a central difference has no truncation error; else it is s² = 1e-10, and round-off
        # of some 1e-16/s = 1e-11
        s, tolerance = (1e-5, 1e-8) if kind in CURVED else (1.0, 1e-12)
        difference = (constraint(simulation, Q + s * step) - constraint(simulation, Q - s * step)) / (2 * s)
        np.testing.assert_allclose(J @ by_position(simulation, step).ravel(), difference, rtol=0, atol=tolerance)


@kinds
def test_the_assembled_hessian_is_that_of_the_lagrangian_and_of_the_weighted_rows(kind):
    simulation, rng = mechanism(kind)
    system = simulation.system
    joints = system.exact_joints
    Q = disturbed(simulation, rng, 0.1)
    system.assemble(Q, Q, False)  # zero multipliers, no curvature
    base = dense(system.blocks)
    for rows in joints.rows:
        rows.multiplier[:] = rng.normal(size=rows.multiplier.shape)
    multiplier = np.concatenate([rows.multiplier.ravel() for rows in joints.rows])
    system.assemble(Q, Q, True)
    curvature = dense(system.blocks) - base
    J = jacobian(simulation)
    for rows in joints.rows:
        rows.multiplier.fill(0.0)
    system.assemble(Q, Q, True)
    shape = dense(system.blocks) - base  # what the exact Hessian of the bodies themselves adds
    e = disturbed(simulation, rng, 1.0) - simulation.state.Q
    v = by_position(simulation, e).ravel()
    s = 1e-4 if kind in CURVED else 1.0
    ahead, here, behind = (constraint(simulation, Q + t * e) for t in (s, 0.0, -s))
    second = (ahead - 2 * here + behind) / s**2
    # differences of numbers of order K = 1e8 kg lose 1e-8, the rest is exact; of C that is not quadratic s² is left
    tolerance = 1e-4 if kind in CURVED else 1e-6
    assert v @ (curvature - shape) @ v == pytest.approx(multiplier @ second, rel=tolerance, abs=1e-5)
    weighted = J.T @ (weight(simulation)[:, None] * J)
    bodies = base - weighted
    # what is left is the inertia and stiffness of single bodies
    for k in range(3):
        bodies[12 * k : 12 * k + 12, 12 * k : 12 * k + 12] = 0.0
    assert np.abs(bodies).max() < 1e-12 * np.abs(base).max()


@kinds
def test_a_direction_and_its_multipliers_balance_and_close_the_joints(kind):
    """H y = ∇E + Jᵀλ and C(Q − y) = 0, slides included: with a definite H there is one such y."""
    simulation, rng = mechanism(kind)
    system = simulation.system
    joints = system.exact_joints
    Q = disturbed(simulation, rng, 1e-3)
    Q_tilde = disturbed(simulation, rng, 1e-2)
    system.assemble(Q, Q_tilde, False)
    J, C = jacobian(simulation), constraint(simulation, Q)
    K = weight(simulation)[:, None]
    H = dense(system.blocks) - J.T @ (K * J)
    gradient = system.blocks.g.ravel() - J.T @ (K[:, 0] * C)
    y = newton_direction(system, Q, Q_tilde, False).ravel()
    multiplier = np.concatenate([rows.multiplier.ravel() for rows in joints.rows])
    # H has a condition number of 1e4, K adds 1e6 to it
    np.testing.assert_allclose(J.T @ multiplier, H @ y - gradient, rtol=0, atol=1e-7 * np.abs(gradient).max())
    assert np.abs(constraint(simulation, Q - by_body(simulation, y))).max() < 1e-12


@kinds
def test_a_solution_with_a_given_right_hand_side_moves_along_the_joints(kind):
    simulation, rng = mechanism(kind)
    system = simulation.system
    Q = simulation.state.Q
    system.assemble(Q, Q, False)
    J = jacobian(simulation)
    H = dense(system.blocks) - J.T @ (weight(simulation)[:, None] * J)
    assert system.blocks.factor() == -1
    b = rng.normal(size=system.blocks.g.shape)
    x = system.solve(b.copy()).ravel()
    assert np.abs(J @ x).max() < 1e-12 * max(1.0, np.abs(x).max())
    # H x − b is a force of the joints alone: nothing is left of it across the range of Jᵀ
    left = H @ x - b.ravel()
    assert np.abs(left - J.T @ np.linalg.lstsq(J.T, left, rcond=1e-12)[0]).max() < 1e-7 * np.abs(b).max()
