"""What `Sim` does where nothing else is asked for: drives, sensors, limits and messages do not surprise."""

from __future__ import annotations

import logging
import math

import numpy as np
import pytest

from dovetail import Sim
from dovetail.errors import ConstitutionError, DovetailError, SceneError

G = 9.81


def rod(integrator="ctr", dt=0.01, **options):
    """A rod of 0.6 m that is held at its end, level at the start; + turns it down."""
    sim = Sim(dt=dt, contact=False, integrator=integrator)
    body = sim.box((0.6, 0.05, 0.05), pos=(0.3, 0, 1))
    return sim, body, sim.revolute(None, body, pos=(0, 0, 1), axis=(0, 1, 0), **options)


def arm(count, **options):
    sim = Sim(contact=False, **options)
    parent, joints = None, []
    for k in range(count):
        link = sim.box((0.3, 0.06, 0.06), pos=(0.3 * k + 0.15, 0, 1))
        axis = ((0, 0, 1), (0, 1, 0), (1, 0, 0))[k % 3]
        joints.append(sim.revolute(parent, link, pos=(0.3 * k, 0, 1), axis=axis, drive=0.0))
        parent = link
    return sim, joints


# --- drives --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", ["bdf1", "ctr"])
def test_a_target_that_jumps_is_approached_and_not_passed(integrator):
    sim, body, hinge = rod(integrator, drive=0.0)
    sim.step(3)
    hinge.drive.target = 1.0
    angles, speeds = np.array([(hinge.angle, hinge.velocity) for _ in sim.run(40)]).T
    # ten times its weight moves a rod by 10 g/ρ, ρ² = I/m; with ctr the velocity is that of the end of the step
    inertia = np.trace(body.inertia) / 2 + body.mass * 0.3**2
    lively = 10 * G / math.sqrt(inertia / body.mass)
    assert angles[0] == pytest.approx(lively * 0.01**2, rel=1e-3)
    assert speeds[0] < 2 * lively * 0.01 < 6.0
    # it brakes from halfway on, with a little less; with ctr the last step in which it speeds up ends with a h/2 more
    assert speeds.max() < math.sqrt(lively) + 0.5 * lively * 0.01
    assert angles.max() < 1.0 + 1e-5 and abs(angles[-1] - 1.0) < 1e-5


def test_an_arm_goes_to_targets_that_jump_without_work_for_newton():
    sim, _ = arm(6)
    m = sim.mechanism()
    m.target = [-1, 1, -1, 1, -1, 1]
    iterations = 0
    for _ in sim.run(40):
        iterations += sim.world.report.iterations
    np.testing.assert_allclose(m.q, m.target, atol=1e-4)
    assert iterations <= 3 * 40  # an effort that is cut off would take hundreds in some of the steps


@pytest.mark.parametrize("integrator", ["bdf1", "ctr"])
def test_a_target_that_moves_slowly_is_followed_without_lag(integrator):
    sim, _, hinge = rod(integrator, drive=0.0)
    for k in range(1, 101):
        hinge.drive.target = 0.01 * k  # 1 rad/s; it stops within a step from 10 g/ρ·dt = 2.8 rad/s
        sim.step()
        assert abs(hinge.angle - hinge.drive.target) < 1e-5


def test_a_joint_that_is_put_elsewhere_goes_on_from_there():
    sim, _, hinge = rod(drive=0.0)
    sim.step(2)
    hinge.angle = hinge.drive.target = -0.6
    sim.step(5)
    assert abs(hinge.angle + 0.6) < 1e-5


def test_a_state_is_gone_back_to_bit_for_bit_on_the_way_to_a_target():
    sim, _, hinge = rod(drive=1.0)
    sim.step(4)
    before = sim.state
    first = [hinge.angle for _ in sim.run(6)]
    sim.state = before
    assert [hinge.angle for _ in sim.run(6)] == first


def test_what_a_drive_moves_is_all_that_hangs_on_it_stretched_out():
    sim, joints = arm(3)
    m = sim.bodies[0].mass
    own = np.trace(sim.bodies[0].inertia) / 2
    far = [0.15, 0.45, 0.75]
    assert joints[2].coordinates["angle"].burden.inertia == pytest.approx(own + m * 0.15**2)
    assert joints[0].coordinates["angle"].burden.inertia == pytest.approx(3 * own + m * sum(r * r for r in far))
    inertia = joints[0].coordinates["angle"].burden.inertia
    assert joints[0].coordinates["angle"].burden.load == pytest.approx(G * math.sqrt(3 * m * inertia))


def test_a_folded_arm_counts_as_stretched_out_and_a_loop_as_it_lies():
    sim = Sim(contact=False)
    upper, lower = sim.box((0.4, 0.1, 0.1), pos=(0.2, 0, 0)), sim.box((0.4, 0.1, 0.1), pos=(0.2, 0.3, 0))
    shoulder = sim.revolute(None, upper, pos=(0, 0, 0), axis=(0, 1, 0))
    sim.revolute(upper, lower, pos=(0.4, 0, 0), axis=(0, 1, 0))
    elbow = math.hypot(0.2, 0.3)
    own = np.trace(upper.inertia) / 2
    stretched = 2 * own + upper.mass * (0.2**2 + (0.4 + elbow) ** 2)
    assert shoulder.coordinates["angle"].burden.inertia == pytest.approx(stretched)
    sim.revolute(None, lower, pos=(0, 0.3, 0), axis=(0, 1, 0))
    as_it_lies = 2 * own + upper.mass * (0.2**2 + 0.2**2 + 0.3**2)
    assert shoulder.coordinates["angle"].burden.inertia == pytest.approx(as_it_lies)


def test_gears_add_what_they_make_move():
    sim = Sim(contact=False)
    hinges = [
        sim.revolute(None, sim.cylinder(0.1, 0.02, pos=(k, 0, 0), mass=1), pos=(k, 0, 0), axis=(0, 0, 1))
        for k in (0, 1)
    ]
    alone = hinges[0].coordinates["angle"].burden
    sim.couple(hinges[1], hinges[0], ratio=-3.0)
    leader, follower = (hinge.coordinates["angle"].burden for hinge in hinges)
    assert leader.inertia == pytest.approx(10 * alone.inertia) and leader.load == pytest.approx(4 * alone.load)
    assert follower.inertia == pytest.approx((1 + 1 / 9) * alone.inertia)


def test_gains_of_its_own_make_a_drive_what_they_say():
    sim, _, hinge = rod(drive=0.0)
    hinge.drive.stiffness, hinge.drive.damping = 1e7, 1e3
    sim.step(2)
    hinge.drive.target = 1.0
    sim.step()
    assert hinge.angle > 0.9
    assert math.isinf(hinge.drive.max_effort)
    hinge.drive.max_effort = 3.0
    assert hinge.drive.max_effort == 3.0
    hinge.drive.max_effort = None
    assert math.isinf(hinge.drive.max_effort)


def test_a_spring_and_a_damper_settle_where_the_weight_has_them():
    sim = Sim(contact=False)
    wheel = sim.box(0.2, mass=10)
    strut = sim.prismatic(None, wheel, axis=(0, 0, 1), spring=2e3, damping=200.0)
    assert (strut.spring, strut.damping) == (2e3, 200.0)
    sim.step(200)
    assert strut.distance == pytest.approx(-10 * G / 2e3, rel=1e-3)  # 1.4 of critical: e^(−10 t) and faster
    strut.drive.target, strut.drive.stiffness, strut.drive.damping, strut.rest = 0.1, 2e3, 0.0, 0.02
    sim.step(200)
    assert strut.distance == pytest.approx((0.1 + 0.02 - 10 * G / 2e3) / 2, rel=1e-3)  # both springs pull


# --- sensors and limits --------------------------------------------------------------------------------------


def test_a_reaction_contains_what_drive_limit_and_torque_exert_and_the_bearing_does_not():
    weight = None
    for options, torque in (({"drive": 0.0}, 0.0), ({"limit": (-1, 0)}, 0.0), ({}, -1.0)):
        sim, body, hinge = rod("bdf1", **options)
        weight = body.mass * G
        hinge.torque = torque * weight * 0.3
        sim.step(100)
        np.testing.assert_allclose(hinge.reaction.force, (0, 0, weight), atol=1e-3 * weight)
        # held level, its weight at 0.3 m turns it down by + about y
        np.testing.assert_allclose(hinge.reaction.torque, (0, -0.3 * weight, 0), atol=1e-3 * weight)
        np.testing.assert_allclose(hinge.bearing.torque, 0, atol=1e-6 * weight)


def test_a_reaction_of_a_slider_contains_its_drive():
    sim = Sim(contact=False)
    cart = sim.box(0.1, mass=2)
    slider = sim.prismatic(None, cart, axis=(0, 0, 1), drive=0.0)
    sim.step(20)
    np.testing.assert_allclose(slider.reaction.force, (0, 0, 2 * G), atol=1e-6)
    np.testing.assert_allclose(slider.bearing.force, 0, atol=1e-6)


@pytest.mark.parametrize("hard", [False, True])
def test_a_joint_that_begins_outside_its_limit_is_refused_and_may_try_again(hard):
    sim, _, hinge = rod(limit=(0.3, 1.0), hard=hard, name="hip")
    with pytest.raises((SceneError, ConstitutionError), match=r"'hip'.* angle = 0 \[rad\], .*outside of its"):
        sim.step()
    hinge.limit = (-0.3, 1.0)
    sim.step(2)
    assert abs(hinge.velocity) < 1.0


# --- messages ------------------------------------------------------------------------------------------------


def _overlap(sim):
    sim.box(1, name="a")
    sim.box(1, pos=(0.5, 0.1, 0.1), name="b")
    sim.step()


def _in_ground(sim):
    sim.ground()
    sim.box(1, name="a")
    sim.step()


def _put_into(sim):
    sim.box(1, name="a")
    other = sim.box(1, pos=(3, 0, 0), name="b")
    sim.step()
    other.pos = (0.1, 0.1, 0.1)


@pytest.mark.parametrize(
    ("do", "told"),
    [
        (_overlap, "the scene cannot start as it is: 'a' and 'b' intersect: .* by sim.no_contact"),
        (_in_ground, "'a' is 0.5 m below 'ground 1', .* by contact=False"),
        (_put_into, "Sim: nothing was changed, since 'a' and 'b' intersect"),
        (
            lambda sim: sim.revolute(None, sim.box(1, fixed=True), (0, 0, 0), (0, 0, 1)),
            "the world and 'box 1' are both",
        ),
        (lambda sim: sim.distance(None, sim.box(1), (0, 0, 0), (0, 0, 0)), "Sim.distance: the joint has an axis of"),
        (lambda sim: sim.mesh(([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])), "Sim.mesh: the trimesh is open"),
        (lambda _: Sim(integrator="rk4"), "Sim: 'integrator/type' = 'rk4'"),
    ],
)
def test_errors_speak_of_sim_once(do, told, caplog):
    with pytest.raises(DovetailError, match=told) as caught:
        do(Sim())
    assert not caplog.records  # what is raised is not logged as well
    said = str(caught.value)
    assert not any(word in said for word in ("AffineBody", "instance 0", "contact_tabular", "World", "geometry 0"))


def test_warnings_speak_of_sim(caplog):
    sim = Sim(contact=False)
    door = sim.box(1)
    for k in range(2):
        sim.revolute(None, door, pos=(0, 0, k), axis=(0, 0, 1), name=f"hinge {k}")
    with caplog.at_level(logging.WARNING):
        sim.step()
    assert "Sim: the exact joints 'hinge 0' and 'hinge 1' between the same two bodies" in caplog.text
    assert repr(sim).startswith("<Sim: 1 body, 2 joints,")


@pytest.mark.parametrize("task", ["motor", "drive"])
def test_a_motor_reckons_with_what_is_welded_to_the_body_next_to_it(task):
    """A hub of 2 cm on a rod of 1 m: by the hub alone, gains are too weak by 1e5, and the rod falls."""
    results = []
    for welded in (True, False):
        sim = Sim(contact=False)
        rod = sim.box((1.0, 0.05, 0.05), pos=(0.5, 0, 0))
        hub = sim.cylinder(0.02, 0.02, pos=(0, 0, 0)) if welded else rod
        if welded:
            sim.fixed(hub, rod)
        joint = sim.revolute(None, hub, pos=(0, 0, 0), axis=(0, 1, 0), **{task: 2.0 if task == "motor" else 0.0})
        sim.step(50)
        results.append((joint.angle, joint.velocity))
    assert results[0] == pytest.approx(results[1], abs=1e-4)  # the weight of the hub in 12 N·m of load
    assert results[0][task == "motor"] == pytest.approx(2.0 if task == "motor" else 0.0, abs=2e-3)


@pytest.mark.parametrize("hard", [False, True])
def test_a_firm_drive_stays_within_the_limits_of_its_joint(hard):
    """Targets beyond them are a slip of the user, or of a policy: nothing may break, nor take long."""
    sim = Sim()
    joints, last = [], None
    for k in range(3):
        link = sim.box((0.3, 0.05, 0.05), pos=(0.15 + 0.3 * k, 0, 1))
        joints.append(
            sim.revolute(last, link, pos=(0.3 * k, 0, 1), axis=(0, -1, 0), limit=(-0.5, 0.5), hard=hard, drive=True)
        )
        last = link
    for joint in joints:
        joint.drive.target = 1.0
    iterations = []
    for _ in range(100):
        sim.step()
        iterations.append(sim.world.report.iterations)
    # a drive gives way by what it holds, 7 N·m, over its stiffness; it ends where the barrier of a hard limit begins
    assert [joint.angle for joint in joints] == pytest.approx([0.4999 if hard else 0.5] * 3, abs=1e-5)
    assert max(iterations) < 50, "not at the limit of 1024"
    assert max(abs(joint.drive.effort) for joint in joints) < 10.0
    if not hard:
        joints[2].drive.stiffness = 200.0  # with gains of its own it pulls as far as they say
        sim.step(50)
        assert joints[2].drive.target == 1.0 and joints[2].drive.effort > 50.0
