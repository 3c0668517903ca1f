"""Joints as arrays: setting coordinates, and what follows from them, against finite differences and energies."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dovetail import Sim
from dovetail.errors import SceneError, WorldError

Y, Z = (0, 1, 0), (0, 0, 1)


def arm(**options) -> Sim:
    """Three links on hinges about y and z in turns, and a slider at the end."""
    sim = Sim(**{"contact": False, **options})
    parent = None
    for k in range(3):
        link = sim.box((0.3, 0.05, 0.05), pos=(0.3 * k + 0.15, 0, 1), name=f"link {k}")
        sim.revolute(parent, link, pos=(0.3 * k, 0, 1), axis=Z if k % 2 else Y, name=f"hinge {k}")
        parent = link
    hand = sim.box((0.05, 0.05, 0.05), pos=(1.0, 0, 1), name="hand")
    sim.prismatic(parent, hand, axis=(1, 0, 0), name="slider")
    return sim


A, B, C, D = (np.array(p, float) for p in ((0, 0, 0), (0.1, 0, 0.2), (0.5, 0, 0.35), (0.45, 0, 0)))


def four_bar(on: str = "", **options) -> Sim:
    """Three links on the world, or on a body of that name that nothing holds."""
    sim = Sim(**{"contact": False, **options})
    base = sim.box((0.5, 0.1, 0.1), pos=(0.2, 0, -0.1), name=on) if on else None
    links = []
    for (p, q), name in zip(((A, B), (B, C), (C, D)), ("crank", "coupler", "rocker"), strict=True):
        (x, _, z), length = q - p, np.linalg.norm(q - p)
        rot = np.array([[x, 0, -z], [0, length, 0], [z, 0, x]]) / length
        links.append(sim.box((length, 0.02, 0.02), pos=(p + q) / 2, rot=rot, name=name))
    crank, coupler, rocker = links
    for name, left, right, pos in (
        ("a", base, crank, A), ("b", crank, coupler, B), ("c", coupler, rocker, C), ("d", base, rocker, D),
    ):  # fmt: skip
        sim.revolute(left, right, pos=pos, axis=Y, name=name)
    return sim


def zoo() -> Sim:
    """Every kind of joint, one after the other, with a rod that closes a loop."""
    sim = Sim(contact=False)
    boxes = [sim.box((0.2, 0.06, 0.05), pos=(0.3 * k, 0.02 * k, 1)) for k in range(9)]
    at = [np.array((0.3 * k - 0.15, 0.01, 1.0)) for k in range(9)]
    sim.revolute(None, boxes[0], pos=at[0], axis=(1, 2, 0))
    sim.universal(boxes[0], boxes[1], pos=at[1], axis=Z)
    sim.cylindrical(boxes[1], boxes[2], pos=at[2], axis=(1, 0, 1))
    sim.planar(boxes[2], boxes[3], pos=at[3], normal=(0, 1, 1))
    sim.screw(boxes[3], boxes[4], pos=at[4], axis=(1, 0, 0), pitch=0.05)
    sim.point_on_line(boxes[4], boxes[5], pos=at[5], axis=(1, 1, 0))
    sim.spherical(boxes[5], boxes[6], pos=at[6])
    sim.fixed(boxes[6], boxes[7])
    sim.prismatic(boxes[7], boxes[8], axis=(1, 0, 0))
    sim.distance(boxes[4], boxes[8], start=at[5], end=at[8])
    return sim


def test_setting_q_of_a_tree_is_forward_kinematics():
    sim = arm()
    m = sim.mechanism()
    assert m.names == ["hinge 0", "hinge 1", "hinge 2", "slider"] and len(m) == 4
    q = np.array([0.5, -0.7, 1.9, 0.1])
    m.q = q
    assert np.allclose(m.q, q, rtol=0, atol=1e-12) and max(joint.gap for joint in sim.joints) < 1e-12

    def turn(axis, angle):
        c, s = math.cos(angle), math.sin(angle)
        return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]] if axis is Y else [[c, -s, 0], [s, c, 0], [0, 0, 1]])

    R, p = np.eye(3), np.array([0, 0, 1.0])
    for angle, axis in zip(q, (Y, Z, Y), strict=False):
        R = R @ turn(axis, angle)
        p = p + R @ (0.3, 0, 0)
    assert np.allclose(sim["hand"].pos, p + R @ (0.1 + 0.1, 0, 0), atol=1e-12)
    sim["hinge 2"].angle = 7.0  # more than a turn, and the others stay
    assert np.allclose(m.q, [0.5, -0.7, 7.0, 0.1], atol=1e-12)
    sim["slider"].distance = -0.05
    sim.step()
    assert sim["hinge 2"].angle == pytest.approx(7.0, abs=0.05)


def test_a_loop_is_solved_for_on_its_branch():
    sim = four_bar()
    crank, every = sim.mechanism(sim["a"]), sim.mechanism()
    start = math.atan2(B[2], B[0])
    for angle in (-1.0, 2.0, 0.3):
        crank.q = [angle]
        # z is up, and a turn about y leads from z to x
        b = math.hypot(*B[[0, 2]]) * np.array([math.cos(start - angle), 0, math.sin(start - angle)])
        assert np.allclose(sim["crank"].point((math.hypot(*B[[0, 2]]) / 2, 0, 0)), b, atol=1e-12)
        c = sim["rocker"].point((-np.linalg.norm(C - D) / 2, 0, 0))
        assert np.linalg.norm(c - b) == pytest.approx(np.linalg.norm(C - B), abs=1e-12) and c[2] > 0
        assert max(joint.gap for joint in sim.joints) < 1e-12
    before = every.q
    with pytest.raises(SceneError, match=r"'a' cannot be at .* as near as joints allow. Of a loop"):
        every.q = before + np.array([0.5, 0, 0, 0])
    assert np.array_equal(every.q, before)


@pytest.mark.parametrize("make", [arm, four_bar])
def test_kinetic_energy_and_velocities_are_those_of_the_bodies(make):
    sim = make()
    joints = sim.joints if make is arm else [sim["a"]]
    m = sim.mechanism(*joints)
    m.q = np.linspace(0.3, -0.8, len(m))
    m.v = v = np.linspace(2.0, -1.0, len(m))
    assert np.allclose(m.v, v, atol=1e-12)
    # the kinetic energy of all bodies, by the world
    assert 0.5 * v @ m.mass_matrix() @ v == pytest.approx(sim.energy.kinetic, rel=1e-12)
    every = sim.mechanism()
    assert 0.5 * every.v @ every.mass_matrix() @ every.v == pytest.approx(sim.energy.kinetic, rel=1e-9)
    assert np.array_equal(m.mass_matrix(), m.mass_matrix().T) and np.linalg.eigvalsh(m.mass_matrix())[0] > 0
    body = sim.bodies[-1]
    point = body.point((0.01, 0.02, 0.03))
    moved = np.concatenate([body.velocity + np.cross(body.spin, point - body.pos), body.spin])
    assert np.allclose(m.jacobian(body, point) @ v, moved, atol=1e-12)
    # and by differences of places
    q, J = m.q, m.jacobian(body, point)
    for k in range(len(m)):
        ends = []
        for e in (1e-6, -1e-6):
            m.q = q + e * np.eye(len(m))[k]
            ends.append(body.point((0.01, 0.02, 0.03)))
        assert np.allclose((ends[0] - ends[1]) / 2e-6, J[:3, k], atol=1e-8)


@pytest.mark.parametrize("make", [arm, four_bar])
def test_bias_is_the_slope_of_the_potential_and_keeps_rates(make):
    # stiff shapes, whose own motion is no part of a rigid mechanism
    sim = make(dt=5e-4, kappa=1e12, config={"newton/velocity_tol": 1e-8, "newton/transrate_tol": 1e-8})
    joints = sim.joints if make is arm else [sim["a"]]
    m = sim.mechanism(*joints)
    m.q = q = np.linspace(0.3, -0.8, len(m)) if make is arm else np.array([-0.6])
    static = m.bias()
    for k in range(len(m)):
        heights = []
        for e in (1e-5, -1e-5):
            m.q = q + e * np.eye(len(m))[k]
            heights.append(sim.energy["gravity"])
        assert (heights[0] - heights[1]) / 2e-5 == pytest.approx(static[k], abs=1e-7)
    m.q, m.v = q, 2.0 * np.ones(len(m))
    wanted = np.linspace(1.0, -2.0, len(m))
    coriolis = np.abs(m.bias() - static).max()
    m.effort = m.mass_matrix() @ wanted + m.bias()
    assert np.allclose(m.effort, m.mass_matrix() @ wanted + m.bias())
    sim.step(2)
    # efforts stay as they are while the mechanism moves by 1 mrad a step: an error of the order of dt
    scale = np.abs(np.linalg.solve(m.mass_matrix(), m.bias())).max()
    assert np.allclose((m.v - 2.0) / 1e-3, wanted, atol=0.01 * scale) and coriolis > 0.02 * np.abs(static).max()


def test_inverse_kinematics_finds_poses_within_limits():
    sim = Sim(contact=False)
    parent = None
    for k, axis in enumerate((Z, Y, Y, (1, 0, 0), Y, (1, 0, 0))):
        link = sim.box((0.2, 0.04, 0.04), pos=(0.2 * k + 0.1, 0, 1))
        sim.revolute(parent, link, pos=(0.2 * k, 0, 1), axis=axis, limit=(-2.5, 2.5), name=f"j{k}")
        parent = link
    m, hand = sim.mechanism(), sim.bodies[-1]
    m.q = [0.4, 0.5, 0.7, -0.3, 0.6, 0.2]
    pos, rot = hand.pos, hand.rot
    m.q = [0.0, 0.2, 0.2, 0.0, 0.2, 0.0]
    before = m.q
    q = m.inverse_kinematics(hand, pos, rot)
    assert np.array_equal(m.q, before), "it only tells"
    m.q = q
    assert np.allclose(hand.pos, pos, atol=2e-6) and np.allclose(hand.rot, rot, atol=2e-6)
    sim["j1"].limit = (-0.1, 0.45)
    m.q = before
    q = m.inverse_kinematics(hand, pos)
    assert 0.45 - 1e-12 < q[1] <= 0.45, "without limits it is 0.488"
    m.q = q
    assert np.allclose(hand.pos, pos, atol=2e-6)
    with pytest.raises(SceneError, match=r"comes no nearer to \[3.0, 0.0, 1.0\] than 1\.[89]\d* m"):
        m.inverse_kinematics(hand, (3, 0, 1))


def test_limits_and_surfaces_refuse_and_nothing_changes():
    sim = arm(contact=True, d_hat=1e-3)
    wall = sim.box((0.1, 1.0, 1.0), pos=(0, 0, 1.8), fixed=True, name="wall")
    sim["hinge 1"].limit = (-1.0, 1.0)
    m = sim.mechanism()
    assert np.array_equal(m.limits[1], [-1, 1]) and np.isinf(m.limits[0]).all()
    before = m.q
    with pytest.raises(SceneError, match=r"'hinge 1' would be at 1.5 \[rad\], beyond its limits \(-1, 1\)"):
        m.q = [0, 1.5, 0, 0]
    with pytest.raises(WorldError, match=r"Mechanism.q: nothing was changed, .*'link 0'.* and .*'wall'.* overlap"):
        m.q = [-math.pi / 2, 0, 0, 0]
    assert np.array_equal(m.q, before) and np.allclose(wall.pos, (0, 0, 1.8))
    with pytest.raises(SceneError, match="q of 4 coordinates"):
        m.q = [0, 0]


def test_arrays_of_drives_and_a_way_home():
    sim = arm()
    for joint in sim.joints:
        joint.drive.stiffness, joint.drive.damping = 50.0, 5.0
    m = sim.mechanism()
    assert np.array_equal(m.home, np.zeros(4))
    m.target = target = [0.1, 0.2, -0.1, 0.05]
    assert np.array_equal(m.target, target) and np.array_equal(m.target_velocity, np.zeros(4))
    sim.step(20)
    assert np.allclose(m.effort, [joint.drive.effort for joint in sim.joints]) and np.abs(m.effort).max() > 1.0
    there = sim.state
    sim.reset()
    assert sim.frame == 0 and np.array_equal(m.q, m.home)
    sim.home = there
    sim.reset()
    assert sim.frame == 20 and np.array_equal(m.q, m.home) and np.abs(m.q).max() > 0.01
    m.target_velocity = [0.5, 0, 0, 0]
    assert sim["hinge 0"].drive.target_velocity == 0.5


def test_targets_are_set_in_one_go_as_one_by_one():
    """Also where a drive is off, runs at a speed, or belongs to a copy of the joints that is written apart."""
    sims = [arm(), arm()]
    robots = [sim.mechanism(*sim.joints) for sim in sims]
    robots[1].target = np.zeros(4)  # those of all drives are known from here on
    for k in range(6):
        values = 0.1 * np.arange(4) + 0.01 * k
        if k == 2:
            for robot in robots:
                robot.coordinates[1].drive.target_velocity = 0.3
        if k == 4:
            for sim in sims:
                sim.joints[2].slot.geometry.copy()  # shares its attributes until one of both is written
        for coordinate, value in zip(robots[0].coordinates, values, strict=True):
            coordinate.drive.target = value
        robots[1].target = values
        settings = [robot.settings for robot in robots]
        np.testing.assert_array_equal(settings[0], settings[1], err_msg=f"{k}")
        np.testing.assert_array_equal(settings[1][:, 2:4], np.stack([values, np.zeros(4)], axis=1))
        for sim in sims:
            sim.step()
        np.testing.assert_array_equal(robots[0].q, robots[1].q)


def test_coordinates_that_take_no_effort_and_strangers_are_refused():
    sim = zoo()
    m = sim.mechanism()
    assert "universal joint 1.bend" in m.names
    with pytest.raises(SceneError, match=r"'universal joint 1.angle' takes no effort"):
        m.effort = np.zeros(len(m))
    with pytest.raises(SceneError, match="revolute joint 'hinge 0' is not a joint of this Sim"):
        sim.mechanism(arm().joints[0])
    with pytest.raises(SceneError, match="is not a body of this Sim"):
        m.jacobian(arm().bodies[0])
    with pytest.raises(SceneError, match="none of the joints has a coordinate"):
        sim.mechanism(sim["spherical joint 1"])


def test_a_way_that_is_too_long_is_refused_at_once():
    for sim, name in ((arm(), "hinge 0"), (four_bar(), "a")):
        with pytest.raises(SceneError, match=r"= 1e\+30 \[rad\] is more than 64 from where it is"):
            sim[name].angle = 1e30
        sim[name].angle = 10.0  # a turn and more is no trouble
        assert sim[name].angle == pytest.approx(10.0, abs=1e-9)
