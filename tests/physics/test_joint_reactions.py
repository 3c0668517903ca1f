"""Joints carry what is hung on them: reactions, gaps and misalignments of loaded joints at rest.

Bodies whose load must settle are quasi-static (`is_dynamic` = 0): each step moves a share K/(K + m) of the rest of the
way, so a few steps end in the equilibrium ∇E = h² F to round-off.
"""

from __future__ import annotations

import numpy as np
import pytest
from joint_scenes import JOINTS, TIGHT, Bench, cross_matrix, random_rotation

from dovetail.constitution import (
    AffineBodyCylindricalJoint,
    AffineBodyD6Joint,
    AffineBodyDistanceJoint,
    AffineBodyExternalBodyForce,
    AffineBodyFixedJoint,
    AffineBodyPlanarJoint,
    AffineBodyPointOnLineJoint,
    AffineBodyPrismaticJoint,
    AffineBodyRevoluteJoint,
    AffineBodyScrewJoint,
    AffineBodySphericalJoint,
    AffineBodyUniversalJoint,
)
from dovetail.constitution.joint.frame import joint_frame
from dovetail.geometry.rows import transforms_to_rows

CASES = 5
PITCH = 5.0  # m per turn, so that a thread holds a torque as firmly as a force
integrators = pytest.mark.parametrize("integrator", ["bdf1", "bdf2"])


def motions(kind, axis):
    """Velocities (of the anchor, angular) that a joint leaves to its right body, (k, 6)."""
    zero, every = np.zeros(3), np.eye(3)
    _, n, b = (v[0] for v in joint_frame(np.zeros((1, 3)), axis[None]))
    shift, turn = [*axis, *zero], [*zero, *axis]
    turns = [[*zero, *e] for e in every]
    return {
        AffineBodySphericalJoint: turns,
        AffineBodyRevoluteJoint: [turn],
        AffineBodyPrismaticJoint: [shift],
        AffineBodyFixedJoint: [],
        AffineBodyD6Joint: [],
        AffineBodyCylindricalJoint: [shift, turn],
        AffineBodyPlanarJoint: [[*n, *zero], [*b, *zero], turn],
        AffineBodyUniversalJoint: [turn, [*zero, *n]],
        AffineBodyDistanceJoint: [[*n, *zero], [*b, *zero], *turns],
        AffineBodyPointOnLineJoint: [shift, *turns],
        AffineBodyScrewJoint: [[*(PITCH / (2 * np.pi) * axis), *axis]],
    }[kind]


def carried(kind, axis):
    """Wrenches (force, torque about the anchor) that a joint can carry: those that do no work on what it leaves."""
    free = np.reshape(motions(kind, axis), (-1, 6))
    return np.linalg.svd(np.concatenate([free, np.zeros((6, 6))]))[2][np.linalg.matrix_rank(free) if len(free) else 0 :]


def _steep(sc):
    if "pitch" in sc.edges:
        sc.edges["pitch"] = PITCH


@pytest.mark.parametrize("kind", JOINTS.values(), ids=[kind.__name__ for kind in JOINTS.values()])
@integrators
def test_joint_carries_the_applied_force(kind, integrator):
    """Push a body with random forces and torques that its joint must withstand, and read them back from the joint."""
    rng = np.random.default_rng(kind.uids[0])
    bench = Bench({"integrator/type": integrator, **TIGHT})
    pushed = []
    for case in range(CASES):
        position, rotation = rng.normal(size=3), random_rotation(rng)
        anchor, axis = position + 0.5 * rng.normal(size=3), rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        # a fixed joint sits half-way between the origins
        base_at = 2 * anchor - position if kind is AffineBodyFixedJoint else rng.normal(size=3)
        base = bench.rigid(f"base {case}", at=base_at, fixed=True)
        body = bench.rigid(f"body {case}", inertia=(0.1, 0.2, 0.15), at=position, rotation=rotation, stiffness=1e12)
        points = (anchor, anchor + axis) if len(kind.world_points) == 2 else (anchor,)
        joined = bench.join(kind, [base], [body], *points, strength=1e5, extras=[_steep])
        held = carried(kind, axis)
        wrench = 100.0 * held.T @ rng.normal(size=len(held))
        force, torque = wrench[:3], wrench[3:] + np.cross(anchor - position, wrench[:3])  # now about the body's origin
        generalised = np.concatenate([force, (0.5 * cross_matrix(torque) @ np.linalg.inv(rotation).T).ravel()])
        AffineBodyExternalBodyForce().apply_to(body.geometry, generalised)
        body.geometry.instances["is_dynamic"] = 0
        pushed.append((joined, wrench))
    bench.run(12)
    for joined, wrench in pushed:
        reaction = np.concatenate([joined["reaction/force"][0], joined["reaction/torque"][0]])
        # K = 2e5 kg: the joint gives way by some 5e-8 m and rad, the body (1e12 J) by less, which moves the lever of
        # the force; the round-off of positions, 2e-16 m, is K/h² · 2e-16 = 4e-7 N
        assert np.abs(reaction + wrench).max() <= 1e-6 * np.abs(wrench).max()


# ---- closed forms of the discrete scheme ------------------------------------------------------------------


def hanging(kind, anchor, integrator="bdf1", dt=0.01, gamma=100.0, dynamic=0):
    """A cube under a fixed cube of the same mass, by one joint around the origin: gap, joint, mass."""
    bench = Bench({"dt": dt, "integrator/type": integrator, **TIGHT}, gravity=(0, 0, -9.8))
    base = bench.box("base", at=(0, 0, 0.2), fixed=True)
    body = bench.box("body", at=(0, 0, -0.2))
    body.geometry.instances["is_dynamic"] = dynamic
    joined = bench.join(kind, [base], [body], *anchor, strength=gamma)
    bench.run(60 if dynamic else 12)
    return joined, float(body.geometry.meta["mass"][0])


@integrators
@pytest.mark.parametrize("dt", [0.01, 0.002])
@pytest.mark.parametrize("gamma", [10.0, 100.0, 1e4])
def test_a_ball_joint_opens_by_its_load_over_its_stiffness(integrator, dt, gamma):
    joined, m = hanging(AffineBodySphericalJoint, [(0, 0, 0)], integrator, dt, gamma)
    expected = m * 9.8 * dt**2 / (gamma * 2 * m)
    # positions of 0.2 m carry round-off of 3e-17 m
    assert joined["gap"][0] == pytest.approx(expected, rel=1e-12, abs=2e-16)


@integrators
@pytest.mark.parametrize("gamma", [10.0, 100.0, 1e4])
def test_a_hinge_opens_half_as_far(integrator, gamma):
    joined, m = hanging(AffineBodyRevoluteJoint, [(-0.1, 0, 0), (0.1, 0, 0)], integrator, gamma=gamma)
    expected = m * 9.8 * 0.01**2 / (2 * gamma * 2 * m)
    assert joined["gap"][0] == pytest.approx(expected, rel=1e-12, abs=2e-16)
    # the same gap at both ends: the axes stay parallel, but for round-off of 1e-16 m on the lever of 0.2 m
    assert joined["misalignment"][0] <= 1e-14


def test_a_moving_body_settles_at_the_same_gap():
    resting, m = hanging(AffineBodySphericalJoint, [(0, 0, 0)])
    moving, _ = hanging(AffineBodySphericalJoint, [(0, 0, 0)], dynamic=1)
    assert moving["gap"][0] == pytest.approx(resting["gap"][0], rel=1e-9)
    assert moving["reaction/force"][0] == pytest.approx((0, 0, m * 9.8), abs=1e-6)


def test_a_gap_is_reported_where_the_bodies_are_pulled_apart():
    """The state accessor moves and turns the right body of each joint; what is reported is plain geometry."""
    offset, turn = np.array([3e-3, -2e-3, 1e-3]), 0.02
    bench = Bench()
    joined = {}
    for kind in JOINTS.values():
        base = bench.box("base", at=(0, 0, 1), fixed=True)
        body = bench.box("body", at=(0, 0, -1))
        joined[kind] = bench.join(kind, [base], [body], (0, 0, 0), (0, 0, 1))
    slots = [slot for slot, _ in bench.scene.geometries if slot.object_name in ("base", "body")]
    transforms = np.concatenate([slot.geometry.transforms.values for slot in slots])
    moved = transforms.copy()
    c, s = np.cos(turn), np.sin(turn)
    R = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])  # about x through the anchor, across the axis z
    moved[1::2, :3, :3] = R
    moved[1::2, :3, 3] = transforms[1::2, :3, 3] @ R.T + offset
    bench.write(moved)
    bench.world.retrieve()
    assert transforms_to_rows(bench.scene.geometries[slots[1].id()][0].geometry.transforms.values)[0, 0] == (
        pytest.approx(moved[1, :3, 3])
    )
    tip = R @ [0, 0, 1] - [0, 0, 1] + offset
    expected = {
        AffineBodySphericalJoint: (np.linalg.norm(offset), 0.0),
        AffineBodyFixedJoint: (np.linalg.norm(offset), turn),
        AffineBodyD6Joint: (np.linalg.norm(offset), turn),
        AffineBodyRevoluteJoint: (max(np.linalg.norm(offset), np.linalg.norm(tip)), turn),
        AffineBodyPrismaticJoint: (np.linalg.norm(offset[:2]), turn),
        AffineBodyCylindricalJoint: (np.linalg.norm(offset[:2]), turn),
        # along the mean of both axes, of which the right one leans back by the turn
        AffineBodyPlanarJoint: (abs(offset @ ([0, 0, 1] + R @ [0, 0, 1])) / 2, turn),
        AffineBodyUniversalJoint: (np.linalg.norm(offset), np.sin(turn)),
        AffineBodyDistanceJoint: (abs(np.linalg.norm(R @ [0, 0, 1] + offset) - 1.0), 0.0),
        AffineBodyPointOnLineJoint: (np.linalg.norm(offset[:2]), 0.0),
        # the thread is ahead by less than the anchor is beside the axis
        AffineBodyScrewJoint: (np.linalg.norm(offset[:2]), turn),
    }
    for kind, (gap, misalignment) in expected.items():
        assert joined[kind]["gap"][0] == pytest.approx(gap, rel=1e-12)
        # measured with tan⁻¹ of unit vectors: round-off of 1e-16 over the angle
        assert joined[kind]["misalignment"][0] == pytest.approx(misalignment, abs=1e-14)
    assert joined.keys() == expected.keys()
