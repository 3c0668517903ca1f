"""What joints tell about themselves, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from joint_scenes import Bench, axis_angle

from dovetail.constitution import AffineBodyPrismaticJoint, AffineBodyRevoluteJoint
from dovetail.solver.joint.readback import ALIGN_AXIS, ALIGN_FRAME, PART_ALONG, PART_ANYWHERE, PART_NOWHERE, JointFrames
from dovetail.solver.joint.row_algebra import add_row_forces
from dovetail.solver.joint.rows import linearise_rows


def frames(parts: int, aligns: int) -> JointFrames:
    """One joint at the origin of two bodies, axis z, its second point at z = 1."""
    rows = np.array([[[1, 0, 0, 0], [1, 0, 0, 1], [0, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]]], float)
    return JointFrames(
        left=np.array([0]), right=np.array([1]), left_rows=rows, right_rows=rows.copy(), parts=np.array([parts]),
        aligns=np.array([aligns]),
    )  # fmt: skip


def turned(angle: float, p: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> np.ndarray:
    """Two bodies, the second turned about x and moved to p."""
    Q = np.tile(np.vstack([np.zeros(3), np.eye(3)]), (2, 1, 1))
    Q[1, 0], Q[1, 1:] = p, axis_angle((1.0, 0.0, 0.0), angle).T
    return Q


@pytest.mark.parametrize("aligns", [ALIGN_AXIS, ALIGN_FRAME])
@pytest.mark.parametrize("angle", [0.0, 1e-9, 9.99e-3, 1.001e-2, 0.5, 3.0])
def test_a_misalignment_is_the_angle_whether_small_or_large(angle, aligns):
    _, (found,) = frames(PART_NOWHERE, aligns).measure(turned(angle))
    assert found == pytest.approx(angle, rel=1e-13, abs=1e-16)  # round-off of sines and cosines


def test_a_gap_is_the_farther_of_two_points_and_may_be_free_along_the_axis():
    Q = turned(0.0, (0.03, 0.0, 0.04))
    for parts, wanted in ((PART_NOWHERE, 0.05), (PART_ALONG, 0.03), (PART_ANYWHERE, 0.0)):
        (found,), _ = frames(parts, ALIGN_AXIS).measure(Q)
        assert found == pytest.approx(wanted, rel=1e-14)
    # turned about x by φ the second points are 2 sin(φ/2) apart
    (found,), _ = frames(PART_NOWHERE, ALIGN_AXIS).measure(turned(0.2))
    assert found == pytest.approx(2.0 * np.sin(0.1), rel=1e-14)


@pytest.mark.parametrize("kind", [AffineBodyRevoluteJoint, AffineBodyPrismaticJoint])
def test_multipliers_pull_on_the_right_body_by_the_transposed_derivative_of_their_rows(kind, rng):
    bench = Bench()
    left, right = bench.box("left", (0.2, 0.2, 0.2), (0.0, 0.0, 0.0)), bench.box("right", (0.2, 0.2, 0.2), (0.4, 0, 0))
    bench.join(kind, [left], [right], (0.2, -0.1, 0.0), (0.2, 0.1, 0.0), strength=np.inf)
    simulation = bench.lowered()
    model, Q = simulation.model, simulation.state.Q
    for rows in (model.potential.points, model.potential.slides):
        linearise_rows(rows, model.bodies.is_free, Q)
        rows.force[:] = rng.normal(size=rows.force.shape)
        found, expected = np.zeros((1, 4, 3)), np.zeros((2, 12))
        add_row_forces(rows, 0.5, Q, np.zeros((rows.count, 3)), found)
        for k, force in enumerate(rows.force):
            F = rows.W[k] @ Q.reshape(8, 3)
            # J of a point is W, that of a slide δu × v + u × δv
            pulls = [force] if len(F) == 1 else [np.cross(F[1], force), np.cross(force, F[0])]
            expected += (rows.W[k].T @ np.array(pulls)).reshape(2, 12)
        np.testing.assert_allclose(found[0].ravel(), -expected[1], rtol=1e-13, atol=1e-15)  # the same sums
        assert rows.count == 0 or np.abs(found).max() > 0.1
    assert model.potential.slides.count == (2 if kind is AffineBodyPrismaticJoint else 0)
