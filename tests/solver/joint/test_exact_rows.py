"""Constraints of exact joints: their derivatives, and the systems solved with them, against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest
from dense_blocks import assemble, gradient, hessian
from joint_scenes import JOINTS, MEMBERS, Bench, random_rotation

from dovetail.constitution import AffineBodyDistanceJoint, AffineBodyScrewJoint, EdgeJoint
from dovetail.constitution.terms import Coincide, Slide
from dovetail.solver.joint.combined import apply_combined, measure_combined
from dovetail.solver.joint.constraints import ALONG
from dovetail.solver.joint.row_algebra import apply_rows, measure_rows


class _OneSidedSlide(EdgeJoint, uid=2**32 + 9101):
    """A point of the right body on a line of the left one."""

    terms = (Slide("c", axis="t", owner="left"),)


class _Cylindrical(EdgeJoint, uid=2**32 + 9102):
    """Slides and turns about an axis that both bodies share."""

    terms = (Slide("c", axis="t", owner="left"), Slide("c", axis="t", owner="right"), Coincide("t"))


HELD = {**{cls.__name__: cls for cls in JOINTS.values()}, "one slide": _OneSidedSlide, "cylindrical": _Cylindrical}
HELD |= MEMBERS
CURVED = {AffineBodyDistanceJoint, AffineBodyScrewJoint}
"""Joints whose constraints are not quadratic."""

kinds = pytest.mark.parametrize("kind", HELD.values(), ids=HELD.keys())

ROWS = {"AffineBodySphericalJoint": 3, "AffineBodyRevoluteJoint": 6, "AffineBodyPrismaticJoint": 10}
ROWS |= {"AffineBodyFixedJoint": 12, "one slide": 2, "cylindrical": 5}
ROWS |= {"AffineBodyPointOnLineJoint": 2, "AffineBodyCylindricalJoint": 5, "AffineBodyPlanarJoint": 4}
ROWS |= {"AffineBodyUniversalJoint": 4, "AffineBodyDistanceJoint": 1, "AffineBodyScrewJoint": 6}
ROWS |= {"AffineBodyD6Joint": 12, **dict(zip(MEMBERS, (3, 4, 4, 2, 3), strict=True))}


def mechanism(kind, seed=0):
    """A chain of a fixed and three free bodies in random poses, joined exactly, and the generator used for them."""
    rng = np.random.default_rng(seed)
    bench = Bench({"newton/direction": "factor"}, gravity=(1, 2, -9.8))
    rotations = [random_rotation(rng) for _ in range(4)]
    base = bench.box("base", (0.3, 0.2, 0.4), at=rng.normal(size=3), rotation=rotations[0], fixed=True)
    links = bench.box("links", (0.2, 0.5, 0.3), at=rng.normal(size=(3, 3)), rotation=rotations[1:])
    bodies = [base, *((links, k) for k in range(3))]
    points = rng.normal(size=(2, 3, 3))
    bench.join(kind, bodies[:-1], bodies[1:], *points, strength=np.inf)
    return bench.lowered(), rng


def everyone(simulation):
    return simulation.model.bodies.is_free


def constraint(simulation, Q):
    """C(Q) of all rows, one after the other; of slides across v where they were last linearised."""
    exact, active, y = simulation.model.potential.exact, everyone(simulation), np.zeros((len(Q), 12))
    found = np.full((len(exact.joint), 3), np.nan)
    points, slides = exact.points.count - exact.points.exact, exact.slides.count - exact.slides.exact
    measure_rows(exact.points, active, Q, y, 0, found)
    measure_rows(exact.slides, active, Q, y, points, found)
    measure_combined(exact.combined, active, Q, y, points + slides, found)
    return found.ravel()


def jacobian(simulation):
    """J (rows, 12n) as last linearised; columns of fixed bodies are zero."""
    exact, active = simulation.model.potential.exact, everyone(simulation)
    points, slides = exact.points.count - exact.points.exact, exact.slides.count - exact.slides.exact
    columns = []
    for body in range(len(active)):
        for entry in range(12):
            y, found = np.zeros((len(active), 12)), np.full((len(exact.joint), 3), np.nan)
            y[body, entry] = active[body]
            apply_rows(exact.points, active, y, 0, found)
            apply_rows(exact.slides, active, y, points, found)
            apply_combined(exact.combined, active, y, points + slides, found)
            columns.append(found.ravel())
    return np.array(columns).T


def multipliers(simulation):
    """The multipliers of all exact rows, views that can be written to."""
    exact = simulation.model.potential.exact
    return [rows.multiplier[first:] for rows, first in (
        (exact.points, exact.points.exact), (exact.slides, exact.slides.exact), (exact.combined, 0)
    )]  # fmt: skip


def flat(parts):
    return np.concatenate([part.ravel() for part in parts])


def weight(simulation):
    return np.repeat(simulation.model.potential.exact.constraints.K, 3)


def disturbed(simulation, rng, size):
    free = everyone(simulation)
    return simulation.state.Q + size * free[:, None, None] * rng.normal(size=simulation.state.Q.shape)


@kinds
def test_joints_are_closed_in_the_pose_in_which_they_are_made(kind):
    simulation, _ = mechanism(kind)
    assemble(simulation.model, simulation.state.Q, simulation.state.Q, True)
    # positions of order one, some ten roundings
    assert np.abs(constraint(simulation, simulation.state.Q)).max() < 1e-14


@pytest.mark.parametrize("name", HELD)
def test_a_joint_takes_as_many_motions_of_affine_bodies_as_it_names(name):
    simulation, _ = mechanism(HELD[name])
    assemble(simulation.model, simulation.state.Q, simulation.state.Q, True)
    s = np.linalg.svd(jacobian(simulation), compute_uv=False)
    assert (s > 1e-6 * s[0]).sum() == 3 * ROWS[name]


@kinds
def test_j_is_the_derivative_of_c(kind):
    simulation, rng = mechanism(kind)
    Q = disturbed(simulation, rng, 0.1)
    assemble(simulation.model, Q, Q, True)
    J = jacobian(simulation)
    for _ in range(3):
        step = disturbed(simulation, rng, 1.0) - simulation.state.Q
        # C is quadratic at most, so a central difference has no truncation error; else it is s² = 1e-10, and round-off
        # of some 1e-16/s = 1e-11
        s, tolerance = (1e-5, 1e-8) if kind in CURVED else (1.0, 1e-12)
        difference = (constraint(simulation, Q + s * step) - constraint(simulation, Q - s * step)) / (2 * s)
        np.testing.assert_allclose(J @ step.ravel(), difference, rtol=0, atol=tolerance)


@kinds
def test_the_assembled_hessian_is_that_of_the_lagrangian_and_of_the_weighted_rows(kind):
    simulation, rng = mechanism(kind)
    model = simulation.model
    Q = disturbed(simulation, rng, 0.1)
    base = hessian(assemble(model, Q, Q, False))  # zero multipliers, no curvature
    for part in multipliers(simulation):
        part[:] = rng.normal(size=part.shape)
    multiplier = flat(multipliers(simulation))
    curvature = hessian(assemble(model, Q, Q, True)) - base
    J = jacobian(simulation)
    for part in multipliers(simulation):
        part.fill(0.0)
    shape = hessian(assemble(model, Q, Q, True)) - base  # what the exact Hessian of the bodies themselves adds
    e = disturbed(simulation, rng, 1.0) - simulation.state.Q
    v = e.ravel()
    s = 1e-4 if kind in CURVED else 1.0
    ahead, here, behind = (constraint(simulation, Q + t * e) for t in (s, 0.0, -s))
    second = (ahead - 2 * here + behind) / s**2
    # differences of numbers of order K = 1e8 kg lose 1e-8, the rest is exact; of C that is not quadratic s² is left
    tolerance = 1e-4 if kind in CURVED else 1e-6
    assert v @ (curvature - shape) @ v == pytest.approx(multiplier @ second, rel=tolerance, abs=1e-5)
    weighted = J.T @ (weight(simulation)[:, None] * J)
    bodies = base - weighted
    # what is left is the inertia and stiffness of single bodies
    for k in range(len(Q)):
        bodies[12 * k : 12 * k + 12, 12 * k : 12 * k + 12] = 0.0
    assert np.abs(bodies).max() < 1e-12 * np.abs(base).max()


@kinds
def test_a_direction_and_its_multipliers_balance_and_close_the_joints(kind):
    """H y = ∇E + Jᵀλ and C(Q − y) = 0, slides included: with a definite H there is one such y."""
    simulation, rng = mechanism(kind)
    model = simulation.model
    Q = disturbed(simulation, rng, 1e-3)
    Q_tilde = disturbed(simulation, rng, 1e-2)
    blocks = assemble(model, Q, Q_tilde, False)
    J, C = jacobian(simulation), constraint(simulation, Q)
    K = weight(simulation)[:, None]
    H = hessian(blocks) - J.T @ (K * J)
    slope = gradient(blocks).ravel() - J.T @ (K[:, 0] * C)
    y = model.directions.newton(model.potential.bare(Q), False).ravel().copy()
    multiplier = flat(multipliers(simulation))
    # H has a condition number of 1e4, K adds 1e6 to it
    np.testing.assert_allclose(J.T @ multiplier, H @ y - slope, rtol=0, atol=1e-7 * np.abs(slope).max())
    assert np.abs(constraint(simulation, Q - y.reshape(Q.shape))).max() < 1e-12


@kinds
def test_a_solution_with_a_given_right_hand_side_moves_along_the_joints(kind):
    simulation, rng = mechanism(kind)
    model, active = simulation.model, everyone(simulation)
    Q = simulation.state.Q
    blocks = assemble(model, Q, Q, False)
    J = jacobian(simulation)
    H = hessian(blocks) - J.T @ (weight(simulation)[:, None] * J)
    assert blocks.factor(active) == -1
    b = rng.normal(size=blocks.g.shape) * active[:, None]
    x = model.directions.solve(b.copy(), active).ravel()
    assert np.abs(J @ x).max() < 1e-12 * max(1.0, np.abs(x).max())
    # what a start leaves open is a motion across the joints, and hardly more along them: by levers of up to a metre
    size = np.abs(blocks.solve(active, b.copy())).max()
    rough = model.directions.solve(b.copy(), active, ALONG).ravel()
    assert np.abs(J @ rough).max() <= 2.0 * ALONG * size
    np.testing.assert_allclose(rough, x, rtol=0, atol=1e2 * ALONG * size)
    # H x − b is a force of the joints alone: nothing is left of it across the range of Jᵀ
    left = H @ x - b.ravel()
    assert np.abs(left - J.T @ np.linalg.lstsq(J.T, left, rcond=1e-12)[0]).max() < 1e-7 * np.abs(b).max()
