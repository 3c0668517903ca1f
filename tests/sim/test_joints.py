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
    # bdf1: ω_n = Σ τ h/I less its damping, at ωh up to 0.5 visibly
    assert 0 < hinge.velocity <= 0.5 / disc.inertia[2, 2] * 2.0
    assert disc.spin[2] > 0


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
    assert np.isclose(slider.distance, 4.0 / 2 * h * h * n * (n + 1) / 2, rtol=1e-3)
    assert np.isclose(slider.velocity, 2.0 * n * h, rtol=1e-3)
    np.testing.assert_allclose(slider.reaction.force, (0, 0, 2 * G), atol=1e-3)
    sim.step(200)
    assert 0.3 < slider.distance < 0.3 + 1e-4  # a thousandth of the cart's 0.1 m, at five times that load
    slider.force, slider.drive.aim = 0.0, 0.1
    assert slider.drive.on
    sim.step(200)
    assert np.isclose(slider.distance, 0.1, atol=1e-4)
    slider.force = -4.0
    sim.step(50)
    assert np.isclose(slider.drive.effort, 4.0, rtol=1e-3)
    np.testing.assert_allclose(slider.anchor, cart.pos, atol=1e-12)


def test_a_drive_aims_holds_and_lets_go():
    sim, _, hinge = pendulum(drive=0.5)
    sim.step(200)
    assert np.isclose(hinge.angle, 0.5, atol=1e-3)
    hinge.drive.on = False
    sim.step(10)
    assert hinge.angle > 0.5
    hinge.drive.holding = True
    sim.step()
    held = hinge.angle
    sim.step(100)
    assert np.isclose(hinge.angle, held, atol=0.05)
    hinge.drive.holding = False
    hinge.drive.aim, hinge.drive.strength = -0.5, 200
    sim.step(200)
    assert np.isclose(hinge.angle, -0.5, atol=1e-3)
    assert hinge.drive.strength == 200


def test_looking_at_a_drive_does_not_add_one():
    _, _, hinge = pendulum()
    assert repr(hinge.drive) == "<drive of revolute joint 'revolute joint 1': off>"
    assert (hinge.drive.aim, hinge.drive.on, hinge.drive.effort) == (0.0, False, 0.0)
    assert "aim_angle" not in hinge.attributes
    hinge.drive.aim = 1
    assert repr(hinge.drive) == "<drive of revolute joint 'revolute joint 1': aim 1 rad, strength 100>"


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
        (lambda s, a, b: s.prismatic(a, b, axis=(1, 0, 0), limits=(0, 1)), "no option 'limits'; it takes limit, drive"),
        (lambda s, a, b: s.prismatic(a, b, axis=(1, 0, 0), limit=(1, 0)), r"limit = \(1, 0\) \[m\] is upside down"),
        (lambda s, a, b: s.prismatic(a, b, axis=(1, 0, 0), limit=0.5), r"limit = 0.5; give \(lower, upper\) \[m\]"),
        (lambda s, a, b: s.prismatic(a, b, axis=(1, 0, 0), drive="fast"), "drive.aim = 'fast'; give a finite number"),
        (lambda s, a, b: s.spherical(a, b, (0, 0, 0), strength=0), "strength = 0; give a number > 0"),
        (lambda s, a, b: s.spherical(a, b, (0, 0, 0), name="a"), "already something called 'a'"),
    ],
)
def test_mistakes_are_told_in_one_paragraph(make, message):
    sim = Sim()
    with pytest.raises(SceneError, match=message) as caught:
        make(sim, sim.box(0.1, name="a"), sim.box(0.1, pos=(1, 0, 0), name="b"))
    assert "\n" not in str(caught.value)


def test_what_comes_too_late_is_refused_with_advice():
    sim, rod, hinge = pendulum()
    sim.step()
    for late, message in (
        (lambda: sim.box(1), "has started, and bodies and joints can only be added before the first step"),
        (lambda: sim.ground(), "can only be added before the first step"),
        (lambda: sim.fixed(None, rod), "can only be added before the first step"),
        (lambda: setattr(hinge.drive, "aim", 1), "it has no drive, and the simulation has started; give drive=True"),
        (lambda: setattr(hinge, "limit", (0, 1)), "it has no limits, and the simulation has started; give limit="),
    ):
        with pytest.raises(SceneError, match=message):
            late()


def test_joints_say_what_they_are():
    _, _, hinge = pendulum(limit=(-1, 1), name="elbow")
    assert repr(hinge).startswith(
        "<revolute joint 'elbow' between the world and 'box 1': angle 0 rad, velocity 0 rad/s, limit (-1, 1) rad, gap"
    )
    assert "<td>limit</td><td>(-1, 1) rad</td>" in hinge._repr_html_()
