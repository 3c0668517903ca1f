"""Torques, couplings, who touches whom, bodies that pass through each other, and names that are misspelt."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail import AngleAxis, Sim
from dovetail.errors import SceneError


def test_a_torque_turns_a_body_about_world_axes_however_it_has_turned():
    """About a principal axis, which lies askew in the world or in the body: its spin is τt/I."""
    sim = Sim(dt=0.005, gravity=(0, 0, 0), contact=False)
    box = sim.box((0.2, 0.3, 0.4), rot=AngleAxis(1.0, [1, 0, 0]), name="box")
    box.torque = (0, 0, 0)
    cube = sim.box(0.2, pos=(1, 0, 0))
    axis = np.array([1.0, 2.0, -1.0])
    cube.torque, cube.force = 0.01 * axis, (0.0, 0.0, 0.1)
    sim.step(200)
    inertia = cube.mass * 0.2**2 / 6
    # ctr with constant loads: exact but for the change of the pose within a step, of the order of (spin·dt)²
    assert np.allclose(cube.spin, 0.01 * axis / inertia, rtol=1e-3) and np.linalg.norm(cube.spin) > 0.4
    assert np.allclose(cube.velocity, (0, 0, 0.1 / cube.mass), atol=1e-6)
    assert np.allclose(box.spin, 0, atol=1e-12)
    box.torque = (0.02, 0, 0)
    sim.step(100)
    assert np.allclose(box.spin, (0.02 * 0.5 / box.inertia[0, 0], 0, 0), rtol=1e-3, atol=1e-6)


def test_gears_racks_and_mimics():
    sim = Sim(gravity=(0, 0, 0), contact=False)
    wheels = [sim.cylinder(0.1, 0.05, pos=(k, 0, 0)) for k in range(2)]
    hinges = [sim.revolute(None, wheel, pos=wheel.pos, axis=(0, 0, 1)) for wheel in wheels]
    bar = sim.box((0.5, 0.05, 0.05), pos=(0, 1, 0))
    slide = sim.prismatic(None, bar, axis=(1, 0, 0))
    gear = sim.couple(hinges[1], hinges[0], ratio=-2.0, name="gear")
    rack = sim.couple(slide, hinges[0].coordinates["angle"], ratio=0.1, offset=0.0)
    hinges[0].torque = 0.05
    sim.step(50)
    assert hinges[0].angle > 0.1
    assert hinges[1].angle == pytest.approx(-2 * hinges[0].angle, abs=1e-10)
    assert slide.distance == pytest.approx(0.1 * hinges[0].angle, abs=1e-10)
    assert abs(gear.gap) < 1e-10 and gear.effort < 0 < rack.effort
    # a mechanism knows of them: the reflected inertia is I₀ + ratio² I₁ + ratio² m
    I0, I1 = (wheel.inertia[2, 2] for wheel in wheels)
    m = sim.mechanism(hinges[0])
    assert m.mass_matrix()[0, 0] == pytest.approx(I0 + 4 * I1 + 0.01 * bar.mass, rel=1e-7)  # shapes give by 1e-9
    hinges[0].angle = 1.0
    assert hinges[1].angle == pytest.approx(-2.0) and slide.distance == pytest.approx(0.1)
    other = Sim(contact=False)
    ball = other.spherical(None, other.box(0.1), pos=(0, 0, 0))
    with pytest.raises(SceneError, match=r"the leader is .*; give a joint of this Sim with a coordinate"):
        other.couple(other.revolute(None, other.bodies[0], pos=(0, 0, 0), axis=(0, 0, 1)), ball, 1.0)


@pytest.mark.parametrize("other", ["flor", "crate", "another Sim"])
def test_whoever_may_touch_is_a_body_or_a_ground_that_is_there(other):
    """A misspelt name, or that of a body, touched nothing; a body of another Sim was taken for one of this."""
    sim = Sim()
    sim.ground(name="floor")
    crate = sim.box(0.2, pos=(0, 0, 0.1), name="crate")
    sim.step()
    assert crate.touches("floor")
    with pytest.raises(SceneError, match=r"other = .*; give a body of this Sim, or the name of a ground: 'floor'"):
        crate.touches(Sim().box(0.2) if other == "another Sim" else other)


def test_who_touches_whom_and_how_hard():
    sim = Sim()
    sim.ground(name="floor")
    low = sim.box(0.2, pos=(0, 0, 0.101), name="low")
    high = sim.box(0.1, pos=(0, 0, 0.252), name="high")
    far = sim.box(0.1, pos=(1, 0, 0.0515))
    sim.step(100)
    weight = 9.81 * high.mass
    assert high.touches(low) and low.touches(high) and low.touches("floor")
    assert not high.touches("floor") and not far.touches(low) and far.touches("floor")
    assert np.allclose(high.force_from(low), (0, 0, weight), atol=1e-3 * weight)
    assert np.allclose(low.force_from(high), -high.force_from(low), atol=1e-12)
    assert np.allclose(low.force_from("floor"), (0, 0, weight + 9.81 * low.mass), atol=1e-3 * weight)


def test_bodies_and_groups_pass_through_each_other():
    sim = Sim(friction=0.3)
    sim.ground()
    a, b, c = (sim.box(0.1, pos=(0, 0, 0.06 + 0.12 * k), friction=0.1 * (k + 1)) for k in range(3))
    d = sim.box(0.1, pos=(0, 0, 0.45))
    sim.no_contact(a, [b, c])
    sim.step(60)
    # b falls through a onto the ground, c onto b, d onto c
    assert a.pos[2] == pytest.approx(0.05, abs=2e-3) and b.pos[2] == pytest.approx(0.05, abs=2e-3)
    assert c.pos[2] == pytest.approx(0.15, abs=4e-3) and not a.touches(b) and c.touches(b)
    assert d.pos[2] > c.pos[2] + 0.09
    with pytest.raises(SceneError, match="is not a body of this Sim"):
        Sim().no_contact(a, b)


def test_fixed_bodies_may_touch_the_ground_and_each_other():
    sim = Sim()
    sim.ground()
    sim.box(0.2, pos=(0, 0, 0.1), fixed=True)
    sim.box(0.2, pos=(0.2, 0, 0.1), fixed=True)
    sim.box(0.1, pos=(0.3, 0.3, 0.02), fixed=True)  # a foundation
    ball = sim.box(0.1, pos=(0.1, 0, 0.26))
    sim.step(50)
    assert ball.pos[2] == pytest.approx(0.25, abs=2e-3)
    with pytest.raises(SceneError, match=r"touch or overlap|intersect"):
        bad = Sim()
        bad.box(0.2, fixed=True)
        bad.box(0.2, pos=(0.1, 0, 0))
        bad.step()


def test_a_name_that_is_misspelt_is_an_error_that_names_the_nearest():
    sim = Sim(contact=False)
    box = sim.box(0.1)
    hinge = sim.revolute(None, box, pos=(0, 0, 0), axis=(0, 1, 0), drive=True)
    for handle, wrong, right in (
        (box, "velocty", "velocity"), (hinge, "torqe", "torque"), (hinge.drive, "targt", "target"),
        (hinge.coordinates["angle"], "limits", "limit"), (sim, "dtt", "dt"), (sim.mechanism(), "taget", "target"),
    ):  # fmt: skip
        message = f"{type(handle).__name__} has no '{wrong}'; did you mean '{right}'"
        with pytest.raises(AttributeError, match=message):
            setattr(handle, wrong, 1.0)
        with pytest.raises(AttributeError, match=message):
            getattr(handle, wrong)


def test_an_attribute_that_is_missing_deep_inside_is_the_one_that_is_named(monkeypatch):
    sim = Sim()
    sim.box(0.1)

    def broken(scene):
        return scene.no_such_thing

    monkeypatch.setattr("dovetail.sim.changes.start", broken)
    with pytest.raises(AttributeError, match="no_such_thing"):
        sim.world
