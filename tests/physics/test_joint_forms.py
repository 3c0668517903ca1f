"""Ways to say the same: world and local form, single and many instances, extras on some joints and in any order."""

from __future__ import annotations

import numpy as np
import pytest
from joint_scenes import JOINTS, TIGHT, Bench, Joined, everything_on, extras_of, pose, random_rotation

from dovetail.constitution import (
    AffineBodyDrivingRevoluteJoint,
    AffineBodyPrismaticJoint,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointExternalForce,
    AffineBodyRevoluteJointLimit,
    EdgeJoint,
)
from dovetail.geometry import linemesh, pointcloud

joints = pytest.mark.parametrize("kind", JOINTS.values(), ids=[kind.__name__ for kind in JOINTS.values()])


def transforms_of(bench):
    return np.concatenate([slot.geometry.transforms.values for slot, _ in bench.scene.geometries])


def anchor_points(rng, poses):
    """World points P0, P1 of a joint between two bodies, and what the fixed joint takes for its anchor."""
    return rng.normal(size=3), rng.normal(size=3), poses[:, :3, 3].mean(axis=0)


def pair_of_bodies(seed):
    rng = np.random.default_rng(seed)
    bench = Bench(TIGHT, gravity=(0, 0, -9.8))
    poses = np.stack([pose(rng.normal(size=3), random_rotation(rng)) for _ in range(2)])
    slots = [
        bench.box(name, (0.2, 0.3, 0.4), at=T[:3, 3], rotation=T[:3, :3], fixed=name == "left")
        for name, T in zip(("left", "right"), poses, strict=True)
    ]
    return rng, bench, poses, slots


@joints
def test_world_and_local_form_give_the_same_motion(kind):
    motions = []
    for local in (False, True):
        rng, bench, poses, (left, right) = pair_of_bodies(11)
        p0, p1, middle = anchor_points(rng, poses)
        if not local:
            bench.join(kind, [left], [right], p0, p1)
        else:
            points = [p0, p1] if issubclass(kind, EdgeJoint) else [middle if len(kind.world_points) == 0 else p0]
            given = [[np.linalg.solve(T, [*p, 1.0])[:3]] for T in poses for p in points]
            sc = kind().create_geometry(*given, [left], [0], [right], [0], 100.0)
            bench.put("joint", sc)
        bench.run(20)
        motions.append(transforms_of(bench)[1])
    # anchors differ by the round-off of T⁻¹X, 1e-16 m, times the sensitivity of a swing of 0.2 s; with one constraint
    # on a line Newton ends linearly, a tenth of its last step of 1e-10 m away
    assert motions[0] == pytest.approx(motions[1], abs=1e-10)


@joints
def test_apply_to_on_a_mesh_makes_the_same_joints_as_create_geometry(kind):
    """Three joints between instances of two geometries, in mixed order."""
    rng = np.random.default_rng(12)
    at = rng.normal(size=(2, 3, 3))
    p0, p1 = rng.normal(size=(2, 3, 3))
    left_ids, right_ids = [2, 0, 1], [1, 2, 0]
    motions = []
    for apply in (False, True):
        bench = Bench(TIGHT, gravity=(0, 0, -9.8))
        left, right = bench.box("left", at=at[0], fixed=True), bench.box("right", at=at[1])
        if not apply:
            bench.join(kind, [(left, k) for k in left_ids], [(right, k) for k in right_ids], p0, p1)
        else:
            if issubclass(kind, EdgeJoint):
                sc = linemesh(np.stack([p0, p1], axis=1).reshape(-1, 3), np.arange(6).reshape(3, 2))
            elif len(kind.world_points) == 0:
                sc = pointcloud((at[0, left_ids] + at[1, right_ids]) / 2)
            else:
                sc = pointcloud(p0)
            kind().apply_to(sc, [left] * 3, left_ids, [right] * 3, right_ids, [100.0] * 3)
            bench.put("joint", sc)
        bench.run(10)
        motions.append(transforms_of(bench)[:6])
    assert np.array_equal(motions[0], motions[1])


def test_a_prismatic_joint_in_local_form_may_start_apart():
    bench = Bench()
    base = bench.rigid("base", fixed=True)
    body = bench.rigid("body", at=(0, 0, 0.5))
    sc = AffineBodyPrismaticJoint().create_geometry(
        [(0, 0, 0)], [(0, 0, 1)], [(0, 0, 0.2)], [(0, 0, 1.2)], [base], [0], [body], [0], 100.0
    )
    joined = Joined(bench.put("slider", sc), AffineBodyPrismaticJoint)
    assert bench.world.is_valid()
    assert joined["distance"][0] == pytest.approx(0.7, abs=1e-15)
    bench.run(5)
    assert joined["distance"][0] == pytest.approx(0.7, abs=1e-12)
    assert joined["gap"][0] < 1e-12


# ---- extras on a subset -----------------------------------------------------------------------------------


def hinges(spread, on):
    """Five hinged bodies; those named in `on` have a driven, limited, loaded hinge, the others a plain one.

    `spread` lists how the joints 0 … 4 are grouped into geometries, in order of creation.
    """
    bench = Bench(TIGHT)
    at = np.array([[2.0 * k, 0, 0] for k in range(5)])
    base = bench.rigid("base", at=at, fixed=True)
    body = bench.rigid("body", at=at, spin=(0, 0, 1))
    found = {}
    for group in spread:

        def extras(sc, group=group):
            if group[0] in on:
                AffineBodyRevoluteJointExternalForce().apply_to(sc, [0.1 * (k + 1) for k in group])
                AffineBodyRevoluteJointLimit().apply_to(sc, -1.0, [0.05 * (k + 1) for k in group], 5.0)
                AffineBodyDrivingRevoluteJoint().apply_to(sc, [1.0 + k for k in group])
                sc.edges["external_torque/is_constrained"] = 1
                sc.edges["driving/is_constrained"] = 1
                sc.edges["aim_angle"] = [0.07 * (k - 2) for k in group]

        pairs = ([(slot, k) for k in group] for slot in (base, body))
        joined = bench.join(AffineBodyRevoluteJoint, *pairs, at[group], at[group] + [0, 0, 1], extras=[extras])
        found.update({k: (joined, e) for e, k in enumerate(group)})
    path = bench.run(20, lambda: [found[k][0]["angle"][found[k][1]] for k in range(5)])
    return np.array(path)


def test_extras_on_a_subset_of_joints_act_on_those_joints():
    """However joints are grouped and ordered, each moves as if it were alone in the scene."""
    on = {1, 3, 4}
    expected = hinges([[0], [1], [2], [3], [4]], on)
    for spread in ([[4, 1, 3], [2, 0]], [[0, 2], [3, 1, 4]], [[2], [4], [0], [3, 1]]):
        # independent bodies, summed in another order
        assert hinges(spread, on) == pytest.approx(expected, abs=1e-12)
    plain = hinges([[0, 1, 2, 3, 4]], set())
    assert np.abs(plain - expected)[-1, [1, 3, 4]].min() > 1e-3
    assert plain[:, [0, 2]] == pytest.approx(expected[:, [0, 2]], abs=1e-12)


@pytest.mark.parametrize("kind", [kind for kind in JOINTS.values() if len(extras_of(kind)) > 1])
def test_the_order_in_which_extras_are_applied_does_not_matter(kind):
    motions = []
    for order in (1, -1):
        rng = np.random.default_rng(14)
        bench = Bench(TIGHT)
        base = bench.rigid("base", fixed=True)
        body = bench.rigid("body", at=(0.5, 0, 0))
        bench.join(kind, [base], [body], *rng.normal(size=(2, 3)), extras=everything_on(kind, rng)[::order])
        bench.run(10)
        motions.append(transforms_of(bench)[1])
    assert np.array_equal(motions[0], motions[1])
    assert np.abs(motions[0][:3, :3] - np.eye(3)).max() + np.abs(motions[0][:3, 3] - (0.5, 0, 0)).max() > 0.01
