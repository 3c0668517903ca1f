"""Joints beyond the specification: the coordinates they report, the directions they are given, what they refuse.

What they hold and what they leave free is tested for all joints alike (tests/solver/joint, test_joint_reactions.py).
"""

from __future__ import annotations

import numpy as np
import pytest
from joint_scenes import TIGHT, Bench, axis_angle, pose, random_rotation

from dovetail.constitution import (
    AffineBodyCylindricalJoint,
    AffineBodyDistanceJoint,
    AffineBodyPlanarJoint,
    AffineBodyPointOnLineJoint,
    AffineBodyScrewJoint,
    AffineBodyUniversalJoint,
)
from dovetail.errors import ConstitutionError

PITCH = 0.3
MORE = [
    AffineBodyCylindricalJoint,
    AffineBodyDistanceJoint,
    AffineBodyPlanarJoint,
    AffineBodyPointOnLineJoint,
    AffineBodyScrewJoint,
    AffineBodyUniversalJoint,
]


def moved(kind, displacement, world=None, anchor=(0.2, -0.1, 0.3), axis=(0, 0, 1), **attributes):
    """A joint between two bodies after the right one has been displaced by a 4×4 transform about the anchor.

    `world` turns the whole scene first, so that no result depends on the axes of the world.
    """
    R = np.eye(3) if world is None else world
    anchor, axis = R @ anchor, R @ axis
    bench = Bench()
    left, right = bench.box("left", at=(0, 0, -1), fixed=True), bench.box("right", at=(0, 0, 1))

    def extras(sc):
        for name, value in attributes.items():
            sc.edges[name.replace("__", "/")] = value

    joined = bench.join(kind, [left], [right], anchor, anchor + axis, extras=[extras])
    shift = pose(anchor) @ pose(rotation=R)
    T = shift @ displacement @ np.linalg.inv(shift) @ right.geometry.transforms.values[0]
    bench.write(T[None], first=1)
    bench.world.retrieve()
    return joined


def about(axis, angle, at=(0.0, 0.0, 0.0)):
    return pose(at, axis_angle(axis, angle))


X, Y, Z = np.eye(3)
worlds = pytest.mark.parametrize("seed", range(3))


def world_of(seed):
    return random_rotation(np.random.default_rng(seed))


@worlds
def test_a_cylindrical_joint_reports_both_of_its_motions(seed):
    joined = moved(AffineBodyCylindricalJoint, about(Z, 0.7, (0, 0, -0.4)), world_of(seed), init_angle=0.1)
    # positions of order 1 m, with round-off 1e-16
    assert joined["distance"][0] == pytest.approx(-0.4, abs=1e-14)
    assert joined["angle"][0] == pytest.approx(0.8, abs=1e-14)
    assert joined["gap"][0] == pytest.approx(0.0, abs=1e-14)
    assert joined["misalignment"][0] == pytest.approx(0.0, abs=1e-14)


@worlds
def test_a_planar_joint_reports_where_it_is_in_the_plane_of_the_left_body(seed):
    R = world_of(seed)
    joined = moved(AffineBodyPlanarJoint, about(Z, -0.5, (0.3, -0.2, 0)), R, frame__n=R @ X)
    assert joined["distance_n"][0] == pytest.approx(0.3, abs=1e-14)
    assert joined["distance_b"][0] == pytest.approx(-0.2, abs=1e-14)
    assert joined["angle"][0] == pytest.approx(-0.5, abs=1e-14)
    assert joined["gap"][0] == pytest.approx(0.0, abs=1e-14)


@worlds
def test_a_universal_joint_reports_the_turns_about_its_two_pins(seed):
    R = world_of(seed)
    turn, bend = 0.6, -1.1
    # first about the pin of the right body, then both about that of the left
    joined = moved(AffineBodyUniversalJoint, about(Z, turn) @ about(X, bend), R, frame__n=R @ X)
    assert joined["angle"][0] == pytest.approx(turn, abs=1e-14)
    assert joined["bend"][0] == pytest.approx(bend, abs=1e-14)
    assert joined["misalignment"][0] == pytest.approx(0.0, abs=1e-14)
    assert joined["gap"][0] == pytest.approx(0.0, abs=1e-14)


@worlds
def test_a_distance_joint_reports_how_far_its_points_are_apart(seed):
    joined = moved(AffineBodyDistanceJoint, about(Y, np.pi / 2, (0, 0, 0)), world_of(seed), axis=(0, 0, 2.0))
    assert joined["length"][0] == pytest.approx(2.0, abs=1e-14)
    assert joined["distance"][0] == pytest.approx(2.0, abs=1e-14)
    assert joined["gap"][0] == pytest.approx(0.0, abs=1e-14)


@worlds
def test_a_bead_reports_its_way_along_the_line_however_it_is_turned(seed):
    R = world_of(seed)
    joined = moved(AffineBodyPointOnLineJoint, about((1, 2, 3), 2.0, (0, 0, 0.9)), R)
    assert joined["distance"][0] == pytest.approx(0.9, abs=1e-14)
    assert joined["gap"][0] == pytest.approx(0.0, abs=1e-14)


@worlds
@pytest.mark.parametrize("pitch", [PITCH, -PITCH])
def test_a_nut_on_its_thread_has_no_gap_whichever_hand_the_thread_is_of(seed, pitch):
    turned = 2.0
    way = about(Z, turned, (0, 0, pitch * turned / (2 * np.pi)))
    joined = moved(AffineBodyScrewJoint, way, world_of(seed), pitch=pitch)
    assert joined["angle"][0] == pytest.approx(turned, abs=1e-14)
    assert joined["distance"][0] == pytest.approx(pitch * turned / (2 * np.pi), abs=1e-14)
    assert joined["gap"][0] == pytest.approx(0.0, abs=1e-14)


def test_a_nut_beside_its_thread_reports_the_rest_as_a_gap():
    joined = moved(AffineBodyScrewJoint, about(Z, 0.0, (0, 0, 0.02)), pitch=PITCH)
    assert joined["gap"][0] == pytest.approx(0.02, abs=1e-14)


def test_rates_of_all_coordinates_are_those_of_the_motion():
    """Against the differences of the coordinates themselves over one step of bdf1, whose velocity is that."""
    h = 1e-3
    bench = Bench({"dt": h, **TIGHT})
    base = bench.box("base", fixed=True)
    body = bench.box("body", spin=(0, 0, 1.5), velocity=(0, 0, 0.7))
    joined = bench.join(AffineBodyCylindricalJoint, [base], [body], (0, 0, 0), (0, 0, 1))
    before = [0.0, 0.0]
    for _ in range(5):
        bench.run()
        now = [float(joined[name][0]) for name in ("distance", "angle")]
        rate = [float(joined[name][0]) for name in ("velocity", "angle/velocity")]
        # the distance is linear in time; of the angle the chord is (ωh)²/6 shorter than the arc
        assert rate[0] == pytest.approx((now[0] - before[0]) / h, rel=1e-9)
        assert rate[1] == pytest.approx((now[1] - before[1]) / h, rel=1e-5)
        before = now


def test_a_nut_turns_many_times_and_stays_on_its_thread():
    """A torque-free nut that spins at 30 rad/s: 5 turns in a second, each a pitch ahead."""
    bench = Bench({"dt": 0.005, **TIGHT})
    base = bench.box("base", fixed=True)
    lead = PITCH / (2 * np.pi)
    body = bench.box("body", spin=(0, 0, 30.0), velocity=(0, 0, 30.0 * lead))

    def pitch(sc):
        sc.edges["pitch"] = PITCH

    joined = bench.join(AffineBodyScrewJoint, [base], [body], (0, 0, 0), (0, 0, 1), strength=1e4, extras=[pitch])
    bench.run(200)
    angle = joined["angle/multi_turn"][0]
    assert angle > 4 * np.pi
    # what slows the spin (bdf1) loads the thread with some 1e2 N, against K/h² of 5e10 N/m
    assert joined["distance"][0] == pytest.approx(lead * angle, abs=1e-8)


@pytest.mark.parametrize("kind", [AffineBodyPlanarJoint, AffineBodyUniversalJoint])
def test_a_direction_along_the_axis_is_refused(kind):
    with pytest.raises(ConstitutionError, match=r"joint 0 .*frame/n = \(0, 0, -2\) along its axis \(0, 0, 1\)"):
        moved(kind, np.eye(4), frame__n=(0, 0, -2.0))


@pytest.mark.parametrize(
    ("kind", "attributes", "message"),
    [
        (AffineBodyScrewJoint, {"pitch": 0.0}, r"joint 0 of 'joint' has pitch = 0 \[m\]"),
        (AffineBodyScrewJoint, {"pitch": np.nan}, r"joint 0 of 'joint' has pitch = nan \[m\]"),
        (AffineBodyDistanceJoint, {"length": 0.0}, r"joint 0 of 'joint' has length = 0 \[m\]"),
    ],
)
def test_numbers_that_make_no_joint_are_refused_at_init(kind, attributes, message):
    with pytest.raises(ConstitutionError, match=message):
        moved(kind, np.eye(4), **attributes)


@pytest.mark.parametrize("kind", MORE, ids=[kind.__name__ for kind in MORE])
@pytest.mark.parametrize("integrator", ["bdf1", "bdf2", "ctr"])
def test_they_hold_to_round_off_where_they_are_exact(kind, integrator):
    """A chain of three boxes that falls and spins, at dt = 0.01; penalties of γ = 100 would open by 1e-4 m."""
    bench = Bench({"dt": 0.01, "integrator/type": integrator}, gravity=(0.3, 0.5, -9.8))
    base = bench.box("base", (0.3, 0.2, 0.4), fixed=True)
    links = bench.box("links", (0.2, 0.5, 0.3), at=[(0.5, 0, 0), (1, 0, 0.2), (1.5, 0.1, 0)], spin=(1, 2, 3))
    bodies = [base, *((links, k) for k in range(3))]
    start = np.array([(0.25, 0, 0), (0.75, 0, 0.1), (1.25, 0.05, 0.1)])
    end = start + np.random.default_rng(0).normal(size=(3, 3))

    def pitch(sc):
        if "pitch" in sc.edges:
            sc.edges["pitch"] = PITCH

    joined = bench.join(kind, bodies[:-1], bodies[1:], start, end, strength=np.inf, extras=[pitch])
    open_by = bench.run(50, lambda: (joined["gap"].max(), joined["misalignment"].max()))
    # 1e-11 of the size of the scene counts as closed
    assert np.max(open_by) < 1e-10
    assert np.abs(joined["reaction/force"]).min() > 0.1


def test_a_winch_is_followed_exactly():
    bench = Bench({"dt": 0.01}, gravity=(0, 0, -9.8))
    base, body = bench.box("base", fixed=True), bench.box("body", at=(0, 0, -1.0))
    joined = bench.join(AffineBodyDistanceJoint, [base], [body], (0, 0, 0), (0, 0, -1.0), strength=np.inf)
    for k in range(30):
        joined["length"] = 1.0 - 0.01 * k
        bench.run()
        assert joined["distance"][0] == pytest.approx(1.0 - 0.01 * k, abs=1e-10)
    weight = 9.8 * float(body.geometry.meta["mass"][0])
    assert joined["reaction/force"][0] == pytest.approx((0, 0, weight), rel=1e-6, abs=1e-6 * weight)


def test_a_thread_is_as_stiff_against_a_pull_as_any_joint():
    """Quasi-static, so that it settles to round-off: the nut cannot turn, its way gives way by f h²/K."""
    h, gamma, f = 0.01, 1e3, 50.0
    bench = Bench({"dt": h, **TIGHT}, gravity=(0, 0, -f))
    base = bench.rigid("base", fixed=True)
    body = bench.rigid("body", inertia=(1e9, 1e9, 1e9))
    joined = bench.join(AffineBodyScrewJoint, [base], [body], (0, 0, 0), (0, 0, 1), strength=gamma)
    body.geometry.instances["is_dynamic"] = 0
    bench.run(12)
    assert joined["distance"][0] == pytest.approx(-f * h**2 / (2 * gamma), rel=1e-6)
