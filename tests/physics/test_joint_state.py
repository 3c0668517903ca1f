"""`angle` and `distance`: signs, wrapping, offsets, and what happens when the state is written from outside."""

from __future__ import annotations

import numpy as np
import pytest
from joint_scenes import TIGHT, Bench, axis_angle, pose, random_rotation

from dovetail.constitution import AffineBodyPrismaticJoint, AffineBodyRevoluteJoint

TURN = 2 * np.pi


def hinge(config=None, init=0.0, p0=(0, 0, 0), p1=(0, 0, 1)):
    """A free body on a fixed one by a hinge about P0 → P1; the world is initialised."""
    bench = Bench({**TIGHT, **(config or {})})
    base = bench.rigid("base", fixed=True)
    body = bench.rigid("body")

    def offset(sc):
        sc.edges["init_angle"] = init

    joined = bench.join(AffineBodyRevoluteJoint, [base], [body], p0, p1, extras=[offset])
    assert bench.world.is_valid()
    return bench, joined


def turn_to(bench, angle, axis=(0, 0, 1)):
    """Place the body, turned by an angle about an axis through the origin."""
    bench.write(pose(rotation=axis_angle(axis, angle))[None], first=1)


# ---- signs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0.3, -0.8, 0.4)])
@pytest.mark.parametrize("angle", [0.4, -2.5])
def test_the_angle_is_positive_when_the_right_body_turns_right_handed_about_p0_p1(axis, angle):
    bench, joined = hinge(p1=axis)
    turn_to(bench, angle, axis)
    assert joined["angle"][0] == pytest.approx(angle, abs=1e-14)


def test_the_angle_is_negative_when_the_left_body_turns():
    bench = Bench(TIGHT)
    left = bench.rigid("left")
    right = bench.rigid("right", fixed=True)
    joined = bench.join(AffineBodyRevoluteJoint, [left], [right], (0, 0, 0), (0, 0, 1))
    bench.write(pose(rotation=axis_angle((0, 0, 1), 0.4))[None], first=0)
    assert joined["angle"][0] == pytest.approx(-0.4, abs=1e-14)


@pytest.mark.parametrize("p1", [(0, 0, 1), (0, 0, -2), (0.6, 0, 0.8)])
def test_the_distance_is_positive_when_the_right_body_moves_along_p0_p1(p1):
    bench = Bench(TIGHT)
    base = bench.rigid("base", fixed=True)
    body = bench.rigid("body", at=(0.1, 0.2, 0.3))
    joined = bench.join(AffineBodyPrismaticJoint, [base], [body], (0, 0, 0), p1)
    t = np.array(p1) / np.linalg.norm(p1)
    bench.write(pose((0.1, 0.2, 0.3) + 0.7 * t)[None], first=1)
    assert joined["distance"][0] == pytest.approx(0.7, abs=1e-15)
    bench.write(pose(-0.2 * t)[None], first=0)
    assert joined["distance"][0] == pytest.approx(0.9, abs=1e-15)


@pytest.mark.parametrize("kind", [AffineBodyRevoluteJoint, AffineBodyPrismaticJoint])
def test_velocity_is_the_rate_of_the_coordinate(kind):
    bench = Bench({"dt": 1e-4})
    base = bench.rigid("base", fixed=True)
    body = bench.rigid("body", spin=(0, 0, 2), velocity=(0, 0, 2))
    joined = bench.join(kind, [base], [body], (0, 0, 0), (0, 0, 1))
    assert bench.world.is_valid()
    name = kind.coordinate.attribute
    before = joined[name][0]
    bench.run(1)
    after = joined[name][0]
    # bdf1: the velocity is the difference quotient, up to the curvature ω h = 2e-4 of an angle
    assert joined["velocity"][0] == pytest.approx((after - before) / 1e-4, rel=1e-6)


# ---- wrapping ---------------------------------------------------------------------------------------------


def test_the_angle_is_wrapped_and_the_multi_turn_angle_is_continuous():
    bench, joined = hinge()
    steps = np.concatenate([np.arange(0, 20, 0.3), np.arange(20, -20, -0.7)])
    for angle in steps:
        turn_to(bench, angle)
        assert joined["angle/multi_turn"][0] == pytest.approx(angle, abs=1e-12)
        assert -np.pi < joined["angle"][0] <= np.pi
        assert np.exp(1j * joined["angle"][0]) == pytest.approx(np.exp(1j * angle), abs=1e-12)


def test_half_a_turn_is_plus_pi():
    """(−π, π]: the border belongs to the upper end, also when it is reached by an offset."""
    _, joined = hinge(init=np.pi)
    assert joined["angle"][0] == np.pi
    _, joined = hinge(init=-np.pi)
    assert joined["angle"][0] == np.pi
    assert joined["angle/multi_turn"][0] == -np.pi


def test_the_angle_can_be_reported_over_many_turns():
    bench, joined = hinge({"joint/angle": "multi_turn"})
    for angle in np.arange(0, 30, 0.5):
        turn_to(bench, angle)
    assert joined["angle"][0] == pytest.approx(29.5, abs=1e-12)
    assert joined["angle/multi_turn"][0] == joined["angle"][0]


def test_a_spinning_hinge_counts_its_turns():
    bench = Bench({"dt": 0.01, "integrator/type": "bdf2", **TIGHT})
    base = bench.rigid("base", fixed=True)
    body = bench.rigid("body", spin=(0, 0, -40))
    joined = bench.join(AffineBodyRevoluteJoint, [base], [body], (0, 0, -1), (0, 0, 1))
    path = np.array(bench.run(100, lambda: (joined["angle/multi_turn"][0], joined["angle"][0])))
    steps = np.diff(path[:, 0])
    # −0.4 rad a step, slowly damped; a lost turn would be a step of +5.9
    assert steps.max() < 0.0
    assert steps.min() > -0.45
    assert path[-1, 0] < -4 * TURN
    assert np.abs(path[:, 1]).max() <= np.pi


# ---- offsets ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("init", [0.0, 0.5, -3.0, 10.0])
def test_offsets_shift_what_is_reported(init):
    bench, joined = hinge(init=init)
    assert joined["angle/multi_turn"][0] == init
    turn_to(bench, 0.4)
    assert joined["angle/multi_turn"][0] == pytest.approx(init + 0.4, abs=1e-12)
    assert np.exp(1j * joined["angle"][0]) == pytest.approx(np.exp(1j * (init + 0.4)), abs=1e-12)


def test_an_angle_begins_at_its_offset_in_whatever_pose_the_bodies_are():
    rng = np.random.default_rng(4)
    bench = Bench()
    base = bench.rigid("base", rotation=random_rotation(rng), fixed=True)
    body = bench.rigid("body", rotation=random_rotation(rng))
    joined = bench.join(AffineBodyRevoluteJoint, [base], [body], *rng.normal(size=(2, 3)))
    assert bench.world.is_valid()
    assert joined["angle"][0] == pytest.approx(0.0, abs=1e-15)


# ---- writes from outside ----------------------------------------------------------------------------------


def test_a_state_write_republishes_angle_and_distance_at_once():
    bench = Bench()
    base = bench.rigid("base", fixed=True)
    turning, sliding = bench.rigid("turning"), bench.rigid("sliding")
    angle = bench.join(AffineBodyRevoluteJoint, [base], [turning], (0, 0, 0), (0, 0, 1))
    distance = bench.join(AffineBodyPrismaticJoint, [base], [sliding], (0, 0, 0), (0, 0, 1))
    bench.run(2)
    bench.write(np.stack([pose(rotation=axis_angle((0, 0, 1), 1.1)), pose((0, 0, 0.3))]), first=1)
    assert angle["angle"][0] == pytest.approx(1.1, abs=1e-14)
    assert distance["distance"][0] == pytest.approx(0.3, abs=1e-15)
    bench.run(1)
    assert angle["angle"][0] == pytest.approx(1.1, abs=1e-9)


def test_an_angle_written_by_the_user_supplies_the_winding():
    """Three turns ahead of the pose: adopted by the state write, then counted from there."""
    bench, joined = hinge()
    joined["angle"] = 3 * TURN + 0.3
    turn_to(bench, 0.2)
    assert joined["angle/multi_turn"][0] == pytest.approx(3 * TURN + 0.2, abs=1e-12)
    assert joined["angle"][0] == pytest.approx(0.2, abs=1e-12)
    turn_to(bench, 0.7)
    assert joined["angle/multi_turn"][0] == pytest.approx(3 * TURN + 0.7, abs=1e-12)


def test_an_angle_written_with_an_offset_is_in_the_reported_frame():
    """An offset of more than half a turn, so that forgetting it would end on another branch."""
    bench, joined = hinge(init=3.5)
    joined["angle"] = -2 * TURN + 3.5
    turn_to(bench, 0.1)
    assert joined["angle/multi_turn"][0] == pytest.approx(-2 * TURN + 3.6, abs=1e-12)


def test_an_angle_written_without_a_state_write_is_overwritten():
    bench, joined = hinge()
    joined["angle"] = 5.0
    bench.run(1)
    assert joined["angle"][0] == pytest.approx(0.0, abs=1e-12)
    assert joined["angle/multi_turn"][0] == pytest.approx(0.0, abs=1e-12)


def test_other_joints_keep_their_turns_when_one_is_rewound():
    bench = Bench()
    base = bench.rigid("base", fixed=True)
    bodies = bench.rigid("body", at=[(0, 0, 0), (0, 0, 0)])
    pairs = [(bodies, 0), (bodies, 1)]
    joined = bench.join(AffineBodyRevoluteJoint, [base, base], pairs, (0, 0, 0), (0, 0, 1))
    for angle in np.arange(0, 15, 1.0):
        bench.write(np.tile(pose(rotation=axis_angle((0, 0, 1), angle)), (2, 1, 1)), first=1)
    joined["angle"][0] = 14.0 - 7 * TURN
    bench.write(np.tile(pose(rotation=axis_angle((0, 0, 1), 14.0)), (2, 1, 1)), first=1)
    assert joined["angle/multi_turn"] == pytest.approx([14.0 - 7 * TURN, 14.0], abs=1e-12)
