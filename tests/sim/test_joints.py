"""Joints of a Sim: they move as their names say, and report it in plain numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dovetail import Sim
from dovetail.errors import SceneError

G = 9.81


def pendulum(**options):
    """A rod of 0.6 m that is held at its end, level at the start; + turns it down."""
    sim = Sim(dt=0.005, contact=False)
    rod = sim.box((0.6, 0.05, 0.05), pos=(0.3, 0, 1))
    return sim, rod, sim.revolute(None, rod, pos=(0, 0, 1), axis=(0, 1, 0), **options)


def test_a_pendulum_swings_from_the_world_and_loads_its_hinge():
    sim, rod, hinge = pendulum()
    sim.step(2)
    # released level, a rod's hinge carries a quarter of the weight: α = 3g/2L, a = α L/2 = 3g/4
    assert np.isclose(hinge.reaction.force[2], rod.mass * G / 4, rtol=0.02)
    assert np.isclose(hinge.velocity, 1.5 * G / 0.6 * 0.01, rtol=0.02)
    lowest = max(range(60), key=lambda _: (sim.step(), rod.center[2] * -1)[1])
    assert lowest > 10
    assert hinge.angle > math.pi / 2 - 0.5
    assert hinge.gap < 1e-4 and hinge.misalignment < 1e-3
    np.testing.assert_allclose(hinge.anchor, (0, 0, 1), atol=1e-4)
    np.testing.assert_allclose(hinge.axis, (0, 1, 0), atol=1e-4)  # it gives as much as the gap over its lever
    assert hinge.left is None and hinge.right is rod


def test_an_angle_counts_turns_and_torques_turn_right_handed():
    sim = Sim(dt=0.01, gravity=(0, 0, 0), contact=False)
    base, disc = sim.box(0.1, fixed=True), sim.cylinder(0.2, 0.05, pos=(0, 0, 0.2), mass=1)
    hinge = sim.revolute(base, disc, pos=(0, 0, 0.2), axis=(0, 0, 3))
    hinge.torque = 0.5
    sim.step(200)
    assert hinge.angle > 2 * math.pi
    assert hinge.torque == 0.5
    assert np.isclose(hinge.velocity, 0.5 / disc.inertia[2, 2] * 2.0, rtol=0.1)  # ωh reaches 0.5, and (ωh)²/3 = 0.08
    assert np.isclose(disc.spin[2], hinge.velocity, rtol=0.1)


def test_limits_stop_a_joint_and_can_be_moved_while_it_runs():
    sim, _, hinge = pendulum(limit=(-0.2, 0.7))
    assert hinge.limit == (-0.2, 0.7)
    sim.step(400)
    # ten times the weight yields 1 mrad, so half the weight at the middle (a twentieth) yields √(1/20) of that
    assert 0.7 < hinge.angle < 0.7 + 1e-3
    assert np.isclose(hinge.violation, hinge.angle - 0.7, atol=1e-12)
    hinge.limit = (-0.2, 0.3)
    sim.step(400)
    assert 0.3 < hinge.angle < 0.3 + 1e-3
    assert np.isclose(hinge.velocity, 0, atol=1e-3)


def test_a_slider_moves_along_its_axis_under_force_drive_and_limit():
    sim = Sim(dt=0.01, contact=False)
    rail, cart = sim.box((1, 0.1, 0.1), fixed=True), sim.box(0.1, pos=(0, 0, 0.2), mass=2)
    slider = sim.prismatic(rail, cart, axis=(1, 0, 0), limit=(0, 0.3), drive=True)
    slider.force = 4.0
    sim.step(20)
    h, n = 0.01, 20
    assert np.isclose(slider.distance, 4.0 / 2 * (n * h) ** 2 / 2, rtol=1e-3)
    assert np.isclose(slider.velocity, 2.0 * n * h, rtol=1e-3)
    np.testing.assert_allclose(slider.bearing.force, (0, 0, 2 * G), atol=1e-3)
    np.testing.assert_allclose(slider.reaction.force, (4, 0, 2 * G), atol=1e-3)
    sim.step(200)
    assert 0.3 < slider.distance < 0.3 + 1e-4  # a thousandth of the cart's 0.1 m, at five times that load
    slider.force, slider.drive.target = 0.0, 0.1
    assert slider.drive.on
    sim.step(200)
    assert np.isclose(slider.distance, 0.1, atol=1e-4)
    slider.force = -4.0
    sim.step(50)
    assert np.isclose(slider.drive.effort, 4.0, rtol=1e-3)
    np.testing.assert_allclose(slider.anchor, cart.pos, atol=1e-12)


def test_a_drive_aims_holds_and_lets_go():
    sim, rod, hinge = pendulum(drive=0.5)
    sim.step(200)
    assert np.isclose(hinge.angle, 0.5, atol=1e-3)
    hinge.drive.on = False
    sim.step(10)
    assert hinge.angle > 0.5
    hinge.drive.hold()
    held = hinge.drive.target
    sim.step(100)
    assert np.isclose(hinge.angle, held, atol=1e-3)
    hinge.drive.target, hinge.drive.damping = -0.5, 50.0
    sim.step(400)
    assert np.isclose(hinge.angle, -0.5, atol=1e-3) and hinge.drive.damping == 50
    # the motor carries the weight of the rod, level by half a radian
    assert np.isclose(hinge.drive.effort, -rod.mass * G * 0.3 * math.cos(0.5), rtol=1e-2)


@pytest.mark.parametrize("integrator", ["bdf1", "ctr"])
def test_a_motor_runs_at_a_speed_as_strong_as_it_may(integrator):
    sim = Sim(gravity=(0, 0, 0), contact=False, integrator=integrator)
    wheel = sim.cylinder(0.2, 0.05, mass=1)
    motor = sim.revolute(None, wheel, pos=(0, 0, 0), axis=(0, 0, 1), motor=3.0)
    sim.step(100)
    assert np.isclose(motor.velocity, 3.0, rtol=1e-3) and np.isclose(motor.angle, 3.0, rtol=0.03)
    motor.drive.max_effort, motor.drive.target_velocity = 0.01, -3.0
    sim.step(50)
    # slowed down by 0.01 N·m for half a second
    # and by bdf1's own damping, ω²h of the spin per second, 4 %
    assert np.isclose(motor.velocity, 3.0 - 0.01 * 0.5 / wheel.inertia[2, 2], rtol=6e-2)
    assert np.isclose(motor.drive.effort, -0.01, rtol=1e-6)
    assert repr(motor.drive).endswith("speed -3 rad/s, at most 0.01 N·m>")
    motor.drive.max_effort = math.inf
    motor.drive.on = False
    coasting = motor.velocity
    sim.step(20)
    assert np.isclose(motor.velocity, coasting, rtol=3e-2)
    motor.drive.on = True
    sim.step(20)
    assert np.isclose(motor.velocity, -3.0, rtol=1e-3)


def test_damping_and_friction_slow_a_joint_as_they_should():
    sim = Sim(gravity=(0, 0, 0), contact=False)
    carts = [sim.box(0.1, pos=(0, k, 0), mass=2, velocity=(1, 0, 0)) for k in range(2)]
    damped = sim.prismatic(None, carts[0], axis=(1, 0, 0), damping=4.0)
    rubbed = sim.prismatic(None, carts[1], axis=(1, 0, 0), friction=3.0)
    sim.step(50)
    assert np.isclose(damped.velocity, math.exp(-4.0 / 2 * 0.5), rtol=0.02)  # c/m·h = 0.02 a step
    assert np.isclose(rubbed.velocity, 1 - 3.0 / 2 * 0.5, rtol=0.02)
    damped.damping, rubbed.friction = 0.0, 0.0
    sim.step()  # ctr begins a step with the forces at the end of the last one
    before = damped.velocity, rubbed.velocity
    sim.step(20)
    np.testing.assert_allclose((damped.velocity, rubbed.velocity), before, rtol=1e-3)  # a hundredth of a step of either


def test_joints_are_exact_unless_they_are_told_a_strength():
    sim = Sim(contact=False)
    rods = [sim.box((0.6, 0.05, 0.05), pos=(0.3, k, 1)) for k in range(3)]
    ends = [{"pos": (0, k, 1), "axis": (0, 1, 0)} for k in range(3)]
    exact = sim.revolute(None, rods[0], **ends[0])
    soft = sim.revolute(None, rods[1], **ends[1], strength=100)
    loose = sim.revolute(None, rods[2], **ends[2], exact=False)
    assert (exact.exact, soft.exact, loose.exact) == (True, False, False)
    sim.step(50)
    assert exact.gap < 1e-12 < 1e-7 < soft.gap  # round-off against γ = 100
    assert np.isclose(soft.gap, loose.gap, rtol=1e-6)
    yielding = Sim(exact=False)
    assert not yielding.revolute(None, yielding.box(0.1), pos=(0, 0, 0), axis=(0, 1, 0)).exact


def test_hard_limits_are_never_crossed():
    sim, _, hinge = pendulum(limit=(-0.2, 0.7), hard=True)
    assert hinge.hard
    assert max(hinge.angle for _ in sim.run(400)) < 0.7
    assert np.isclose(hinge.angle, 0.7, atol=1e-5) and hinge.violation == 0.0
    hinge.hard = False
    sim.step(50)
    assert 0.7 < hinge.angle < 0.701


@pytest.mark.parametrize("contact", [False, True])
def test_a_drawer_that_starts_at_its_hard_stop_leaves_it_with_the_speed_it_has(contact):
    sim = Sim(dt=0.01, contact=contact)
    drawer = sim.box((0.4, 0.4, 0.2), velocity=(0, -5, 0))
    slide = sim.prismatic(None, drawer, axis=(0, -1, 0), limit=(0.0, 0.35), hard=True)
    sim.step(3)
    # 3 steps of 5 cm; the barrier adds at most its range, 1e-4 of the way between the stops
    assert slide.distance == pytest.approx(0.15, abs=1e-4)


def test_a_winch_pulls_at_the_speed_of_its_rope_with_the_weight_of_the_load():
    """A start of ctr took the rope for one at rest: the load went with 2 m/s by its velocity, under 4098 N."""
    sim = Sim(contact=False)
    load = sim.box(0.2, mass=10)
    rope = sim.distance(None, load, start=(0, 0, 2), end=load.pos)
    sim.step(3)
    for _ in range(10):
        rope.length -= 0.01
        sim.step()
    # Newton's tolerance, 1e-3 m/s; in a step of 0.01 s that is 1 N
    assert (rope.velocity, load.velocity[2]) == pytest.approx((-1.0, 1.0), abs=1e-3)
    assert rope.reaction.force[2] == pytest.approx(98.1, abs=1.0)
    sim.step(2)
    assert load.velocity[2] == pytest.approx(0.0, abs=1e-3)
    assert rope.reaction.force[2] == pytest.approx(98.1, abs=1.0)


def test_a_distance_joint_tells_its_length_before_the_first_step():
    sim = Sim(contact=False)
    rod = sim.distance(None, sim.box(0.2, name="load"), start=(0, 0, 2), end=(0, 0, 0))
    assert rod.distance == rod.length == 2.0
    assert "'load': length 2 m, distance 2 m at 0 m/s" in repr(rod)


def test_a_coupling_of_a_coordinate_to_itself_is_refused():
    sim = Sim()
    axle = sim.revolute(None, sim.box(0.2), pos=(0, 0, 0), axis=(0, 0, 1), name="axle")
    with pytest.raises(SceneError, match="follower and leader are both revolute joint 'axle'; a coupling needs two"):
        sim.couple(axle, axle, 1.0)
    other = sim.revolute(None, sim.box(0.2, pos=(1, 0, 0)), pos=(1, 0, 0), axis=(0, 0, 1))
    with pytest.raises(SceneError, match="ratio = nan; give a finite number"):
        sim.couple(axle, other, math.nan)


def test_what_can_be_read_and_not_set_says_so():
    sim = Sim()
    axle = sim.revolute(None, sim.box(0.2), pos=(0, 0, 0), axis=(0, 0, 1))
    with pytest.raises(
        AttributeError, match=r"RevoluteJoint.velocity can be read, not set; these can: angle, armature"
    ):
        axle.velocity = 3.0


@pytest.mark.parametrize("gains", [None, (2e6, 0.0), (2e3, 1e2)])
def test_a_drive_goes_with_its_largest_velocity_and_needs_no_effort_for_it(gains):
    """It went with half of it under ctr, told all of it, and pushed with 150 N: without own gains, or stiff ones."""
    sim = Sim(contact=False)
    slide = sim.prismatic(None, sim.box(0.1, mass=2), axis=(1, 0, 0), drive=0.0)
    slide.drive.max_velocity = 0.5
    if gains is not None:
        slide.drive.stiffness, slide.drive.damping = gains
    slide.drive.target = 0.8
    sim.step(20)
    before = slide.distance
    sim.step(40)
    # to Newton's tolerance, 1e-3 m/s
    assert (slide.distance - before) / 0.4 == pytest.approx(0.5, abs=1e-3)
    assert slide.velocity == pytest.approx(0.5, abs=1e-3)
    assert abs(slide.drive.effort) < 0.1
    sim.step(200)
    assert slide.distance == pytest.approx(0.8, abs=1e-3)


def test_looking_at_a_drive_does_not_add_one():
    _, _, hinge = pendulum()
    assert repr(hinge.drive) == "<drive of revolute joint 'revolute joint 1': off>"
    assert (hinge.drive.target, hinge.drive.on, hinge.drive.effort) == (0.0, False, 0.0)
    assert "aim_angle" not in hinge.attributes
    hinge.drive.target = 1
    assert repr(hinge.drive) == "<drive of revolute joint 'revolute joint 1': target 1 rad>"


def test_a_ball_joint_keeps_a_point_and_a_weld_everything():
    sim = Sim(dt=0.005, contact=False)
    lamp, shade = sim.box(0.1, pos=(0.2, 0, 1)), sim.sphere(0.1, pos=(0.4, 0, 1))
    ball = sim.spherical(None, lamp, pos=(0, 0, 1), name="hook")
    weld = sim.fixed(lamp, shade)
    sim.step(100)
    np.testing.assert_allclose(ball.anchor, (0, 0, 1), atol=1e-4)
    assert lamp.pos[2] < 0.9
    np.testing.assert_allclose(np.linalg.norm(lamp.pos - shade.pos), 0.2, atol=1e-4)
    assert weld.misalignment < 1e-4 and weld.gap < 1e-4
    assert sim["hook"] is ball


def test_a_weld_to_the_world_carries_the_weight():
    sim = Sim(contact=False)
    box = sim.box(0.1, pos=(1, 2, 3), rot=(1, 1, 0, 0))
    weld = sim.fixed(None, box)
    sim.step(50)
    np.testing.assert_allclose(box.pos, (1, 2, 3), atol=1e-4)
    np.testing.assert_allclose(weld.reaction.force, (0, 0, box.mass * G), rtol=1e-3, atol=1e-3)


def test_bodies_that_share_a_joint_do_not_touch_each_other():
    sim = Sim()
    a, b = sim.box(0.2, fixed=True), sim.box(0.2, pos=(0.2, 0, 0))  # face to face
    hinge = sim.revolute(a, b, pos=(0.1, 0, 0.1), axis=(0, 1, 0))
    sim.step(20)
    assert hinge.angle > 0.1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda s, a, b: s.revolute(a, a, (0, 0, 0), (0, 0, 1)), "both bodies are 'a'; a joint needs two"),
        (lambda s, a, b: s.revolute(a, None, (0, 0, 0), (0, 0, 1)), "the right body is None; give a body of this Sim"),
        (lambda s, a, b: s.fixed("a", b), "the left body is 'a'; give a body of this Sim, or None for the world"),
        (lambda s, a, b: s.fixed(Sim().box(1), b), "the left body is .*; give a body of this Sim"),
        (lambda s, a, b: s.revolute(a, b, (0, 0, 0), (0, 0, 0)), "axis = .* has no direction"),
        (lambda s, a, b: s.revolute(a, b, (0, 0), (0, 0, 1)), "pos = .*; give 3 finite numbers"),
        (lambda s, a, b: s.prismatic(a, b, axis=(1, 0, 0), limits=(0, 1)), "no option 'limits'; it takes name, exact"),
        (lambda s, a, b: s.prismatic(a, b, axis=(1, 0, 0), limit=(1, 0)), r"limit = \(1, 0\) \[m\] is upside down"),
        (lambda s, a, b: s.prismatic(a, b, axis=(1, 0, 0), limit=0.5), r"limit = 0.5; give \(lower, upper\) \[m\]"),
        (
            lambda s, a, b: s.prismatic(a, b, axis=(1, 0, 0), drive="fast"),
            "drive.target = 'fast'; give a finite number",
        ),
        (lambda s, a, b: s.spherical(a, b, (0, 0, 0), strength=0), "strength = 0; give a number > 0"),
        (lambda s, a, b: s.spherical(a, b, (0, 0, 0), name="a"), "already something called 'a'"),
    ],
)
def test_mistakes_are_told_in_one_paragraph(make, message):
    sim = Sim()
    with pytest.raises(SceneError, match=message) as caught:
        make(sim, sim.box(0.1, name="a"), sim.box(0.1, pos=(1, 0, 0), name="b"))
    assert "\n" not in str(caught.value)


def test_joints_say_what_they_are():
    _, _, hinge = pendulum(limit=(-1, 1), name="elbow")
    assert repr(hinge).startswith(
        "<revolute joint 'elbow' between the world and 'box 1': angle 0 rad at 0 rad/s within (-1, 1), gap 0 m (exact)"
    )
    assert "<td>angle</td><td>0 rad at 0 rad/s within (-1, 1)</td>" in hinge._repr_html_()
    assert repr(hinge.coordinates["angle"]) == ("<angle of revolute joint 'elbow': 0 rad, 0 rad/s, limit (-1, 1) rad>")


# --- further joints ------------------------------------------------------------------------------------------


def free():
    return Sim(gravity=(0, 0, 0), contact=False)


def test_a_cylindrical_joint_turns_and_slides_and_limits_either():
    sim = free()
    sleeve = sim.cylinder(0.1, 0.2, velocity=(0, 0, 0.5), spin=(0, 0, 2.0))
    joint = sim.cylindrical(None, sleeve, pos=(0, 0, 0), axis=(0, 0, 1), limit=(-1, 0.1))
    joint.coordinates["angle"].limit = (-1, 0.5)
    sim.step(10)
    assert np.isclose(joint.distance, 0.05, rtol=1e-3) and np.isclose(joint.angle, 0.2, rtol=1e-2)
    sim.step(200)
    assert joint.distance < 0.101 and joint.angle < 0.501


def test_a_screw_goes_ahead_by_its_pitch_for_every_turn():
    sim = free()
    nut = sim.cylinder(0.1, 0.05)
    joint = sim.screw(None, nut, pos=(0, 0, 0), axis=(0, 0, 1), pitch=0.02, motor=5.0)
    sim.step(200)
    assert joint.angle > 2 * math.pi
    assert np.isclose(joint.distance, 0.02 * joint.angle / (2 * math.pi), rtol=1e-3)
    assert np.isclose(nut.pos[2], joint.distance, rtol=1e-6)


def test_a_universal_joint_bends_about_two_pins():
    sim = free()
    shaft = sim.cylinder(0.03, 0.4, pos=(0, 0, 0.25), spin=(0.3, 0.4, 0))
    joint = sim.universal(None, shaft, pos=(0, 0, 0), axis=(1, 0, 0), cross=(0, 1, 0))
    shaft.velocity = (0.4 * 0.25, -0.3 * 0.25, 0)  # about the joint
    sim.step(50)
    # the sum of two small turns, one after the other
    assert np.isclose(joint.angle, 0.15, rtol=0.05) and np.isclose(joint.bend, 0.2, rtol=0.05)
    np.testing.assert_allclose(joint.anchor, 0, atol=1e-5)


def test_a_planar_joint_keeps_a_puck_on_its_table():
    sim = Sim(contact=False)
    puck = sim.cylinder(0.1, 0.05, velocity=(0.3, -0.2, 0), spin=(0, 0, 1))
    joint = sim.planar(None, puck, pos=(0, 0, 0), normal=(0, 0, 1), x=(1, 0, 0))
    sim.step(50)
    assert np.isclose(joint.x, 0.15, rtol=1e-3) and np.isclose(joint.y, -0.1, rtol=1e-3)
    assert np.isclose(joint.angle, 0.5, rtol=1e-2)
    assert abs(puck.pos[2]) < 1e-6


def test_a_bead_stays_on_its_line():
    sim = Sim(contact=False)
    bead = sim.sphere(0.05, pos=(0, 0, 1))
    joint = sim.point_on_line(None, bead, pos=(0, 0, 1), axis=(1, 0, -1))
    sim.step(50)
    # down a slope of 45° by g sin 45° t²/2
    assert np.isclose(joint.distance, G * math.sqrt(0.5) * 0.25 / 2, rtol=1e-3)
    np.testing.assert_allclose(bead.pos[0], 1 - bead.pos[2], atol=1e-9)


def test_a_winch_shortens_a_rod():
    sim = Sim(contact=False)
    load = sim.box(0.1, pos=(0, 0, -1))
    rope = sim.distance(None, load, start=(0, 0, 0), end=(0, 0, -1))
    assert rope.length == 1.0
    for _ in sim.run(100):
        rope.length -= 0.005
    sim.step()
    assert np.isclose(load.pos[2], -0.5, atol=1e-3) and np.isclose(rope.distance, 0.5, atol=1e-3)
    with pytest.raises(SceneError, match=r"length = -1 \[m\]; give a number > 0"):
        rope.length = -1


def test_what_a_joint_cannot_have_is_told():
    sim = free()
    a, b = sim.box(0.1), sim.box(0.1, pos=(1, 0, 0))
    for make, message in (
        (lambda: sim.spherical(a, b, (0, 0, 0), limit=(0, 1)), "no option 'limit'; it takes name, exact, strength"),
        (lambda: sim.revolute(a, b, (0, 0, 0), (0, 0, 1), drive=1, motor=1), "both drive and motor"),
        (lambda: sim.revolute(a, b, (0, 0, 0), (0, 0, 1), damping=-1), "damping = -1; give a number ≥ 0"),
        (lambda: setattr(sim.revolute(a, b, (0, 0, 0), (0, 0, 1)), "hard", True), "no limits to be hard"),
    ):
        with pytest.raises(SceneError, match=message):
            make()
