"""D6 joints and driven balls: they are the joints that they are made to be, and measure what they say."""

from __future__ import annotations

import numpy as np
import pytest
from joint_scenes import Bench, axis_angle, random_rotation

from dovetail import Sim
from dovetail import constitution as c
from dovetail.constitution.joint.d6 import AXES
from dovetail.errors import ConstitutionError, SceneError


def frame_of(q):
    """R = R_x(rx) R_y(ry) R_z(rz)."""
    turns = [axis_angle(e, angle) for e, angle in zip(np.eye(3), q[3:], strict=True)]
    return turns[0] @ turns[1] @ turns[2]


def rest(kind, seed):
    """Two bodies in random poses with a joint: lowered, the joint, its frame in the world, a generator."""
    rng = np.random.default_rng(seed)
    bench = Bench()
    left = bench.box("left", at=rng.normal(size=3), rotation=random_rotation(rng))
    right = bench.box("right", at=rng.normal(size=3), rotation=random_rotation(rng))
    points = rng.normal(size=(2, 3))[: 2 if issubclass(kind, c.EdgeJoint) else 1]
    joined = bench.join(kind, [left], [right], *points)
    simulation = bench.lowered()
    rows = simulation.joints.lowered.geometries[0].rows
    frame = np.stack([rows[row][0, 0] @ simulation.state.Q[0] for row in "tnb"], axis=1)
    return simulation, joined, frame, rows["c"][0, 0] @ simulation.state.Q[0], rng


def move_right(simulation, R, anchor, shift):
    """Turn the right body by R about the anchor and shift it, and measure the joint there."""
    Q = simulation.state.Q[1]
    Q[0] = R @ (Q[0] - anchor) + anchor + shift
    Q[1:] = Q[1:] @ R.T
    simulation.joints.commit(simulation.state)
    simulation.joints.retrieve(simulation.state)


@pytest.mark.parametrize("free", ["x rz", "y ry", "rx ry", "rx rz", "ry rz", "rx ry rz", "x y z rx ry rz", "x y z", ""])
@pytest.mark.parametrize("seed", range(3))
def test_free_axes_report_shifts_and_cardan_angles_and_nothing_pulls_along_them(free, seed):
    axes = free.split()
    simulation, joined, frame, anchor, rng = rest(c.AffineBodyD6Joint.with_free(*axes), seed)
    q = np.array([rng.uniform(-1.4, 1.4) if axis in axes else 0.0 for axis in AXES])
    move_right(simulation, frame @ frame_of(q) @ frame.T, anchor, frame @ q[:3])
    # some ten roundings of numbers of order one
    assert [joined[axis][0] for axis in axes] == pytest.approx([q[AXES.index(axis)] for axis in axes], abs=1e-14)
    assert joined["gap"][0] < 1e-14
    # K/h² = 1e9 N/m times round-off of 1e-15 m
    assert np.abs(joined["reaction/force"]).max() < 1e-5
    assert np.abs(joined["reaction/torque"]).max() < 1e-5


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 0.05, 0.11, 1.0, 3.0])
def test_a_driven_ball_reports_the_rotation_vector(angle):
    simulation, joined, frame, anchor, rng = rest(c.joint.spherical.MeasuredSphericalJoint, 7)
    w = rng.normal(size=3)
    w *= angle / np.linalg.norm(w)
    move_right(simulation, axis_angle(w + (angle == 0.0), angle), anchor, np.zeros(3))
    assert np.allclose(frame, np.eye(3), atol=1e-14)
    # near half a turn sines are small differences: round-off of 1e-16 over sin 3 = 0.14
    assert [joined[f"rotation_{axis}"][0] for axis in "xyz"] == pytest.approx(w, rel=1e-12, abs=1e-14)


KNOWN = {
    "rx": lambda sim, body: sim.revolute(None, body, (0, 0, 1), (1, 0, 0)),
    "ry": lambda sim, body: sim.revolute(None, body, (0, 0, 1), (0, 1, 0)),
    "z": lambda sim, body: sim.prismatic(None, body, (0, 0, 1), (0, 0, 1)),
    "x rx": lambda sim, body: sim.cylindrical(None, body, (0, 0, 1), (1, 0, 0)),
    "x y rz": lambda sim, body: sim.planar(None, body, (0, 0, 1), (0, 0, 1)),
    "rx ry": lambda sim, body: sim.universal(None, body, (0, 0, 1), (1, 0, 0), (0, 1, 0)),
    "rx ry rz": lambda sim, body: sim.spherical(None, body, (0, 0, 1)),
}


@pytest.mark.parametrize("free", KNOWN)
def test_with_the_axes_of_another_joint_a_body_goes_the_same_way(free):
    """A swinging box of 0.6 m on either joint, exact; hinges go through more than a quarter of a turn."""
    poses = []
    for make in (KNOWN[free], lambda sim, body: sim.d6(None, body, (0, 0, 1), **dict.fromkeys(free.split(), "free"))):
        sim = Sim(dt=0.005, contact=False, gravity=(0.3, 1.0, -9.81), kappa=1e10)
        body = sim.box((0.6, 0.1, 0.1), pos=(0.3, 0.02, 1.0))
        make(sim, body)
        sim.step(100)
        poses.append(body.transform)
    # Newton stops at 1e-3 m/s · dt = 5e-6 m, and mostly far below
    assert np.abs(poses[0] - poses[1]).max() < 5e-6


def test_a_d6_joint_yields_where_it_is_not_exact_and_limits_and_drives_act_on_its_axes():
    sim = Sim(contact=False, exact=False)
    body = sim.box(0.2, pos=(0, 0, 0.3))
    joint = sim.d6(None, body, (0, 0, 0), z=(-0.05, 0.05), x="driven", rz="driven", name="stage")
    joint.coordinates["x"].drive.target = 0.1
    joint.coordinates["rz"].drive.target = -0.4
    sim.step(200)
    assert joint.z == pytest.approx(-0.05, abs=1e-3)  # on its stop, which gives by 1 ‰ of the size under ten weights
    assert joint.x == pytest.approx(0.1, abs=1e-4)
    assert joint.rz == pytest.approx(-0.4, abs=1e-4)
    assert 0.0 < joint.misalignment + abs(joint.gap) < 1e-3
    assert (joint.y, joint.rx, joint.free) == (0.0, 0.0, "x, z, rz")
    with pytest.raises(SceneError, match=r"D6 joint 'stage': its y is locked; x, z, rz can be set"):
        joint.y = 1.0
    joint.rz = 0.2
    assert body.transform[1, 0] == pytest.approx(np.sin(0.2), abs=1e-6)


def test_bad_axes_are_refused():
    sim = Sim()
    body = sim.box(0.1)
    with pytest.raises(SceneError, match=r"Sim\.d6: rx = 'loose'; give"):
        sim.d6(None, body, (0, 0, 0), rx="loose")
    with pytest.raises(SceneError, match="upside down"):
        sim.d6(None, body, (0, 0, 0), rx=(1.0, -1.0))
    assert not sim.joints
    with pytest.raises(ConstitutionError, match=r"AffineBodyD6Joint: it has no axis 'w'; there are x, y, z, rx"):
        c.AffineBodyD6Joint.with_free("w")


@pytest.mark.parametrize("axis", [(0, 0, 1), (2, -1, 2)])
def test_a_driven_ball_turns_about_a_fixed_axis_as_an_oscillator_does(axis):
    """A ball on its centre, from rest: I θ″ = k(θ̃ − θ) − cθ′, the way along the axis, underdamped."""
    k, aim, t = 0.5, 1.5 * np.array(axis) / np.linalg.norm(axis), 0.3
    sim = Sim(dt=0.0025, contact=False, gravity=(0, 0, 0))
    body = sim.sphere(0.1, density=2000.0)
    ball = sim.spherical(None, body, (0, 0, 0), drive=True)
    inertia = np.linalg.eigvalsh(body.inertia)[0]
    rate = np.sqrt(k / inertia)
    ball.drive.target, ball.drive.stiffness, ball.drive.damping = aim, k, 0.4 * inertia * rate
    sim.step(round(t / sim.dt))
    decay, frequency = 0.2 * rate, rate * np.sqrt(1.0 - 0.2**2)
    left = np.exp(-decay * t) * (np.cos(frequency * t) + decay / frequency * np.sin(frequency * t))
    # ctr is of second order: (rate·h)²/12 of the way in each of some radians
    assert ball.rotation == pytest.approx(aim * (1.0 - left), abs=1e-4)
    assert np.linalg.norm(ball.rotation) > 0.7


def test_a_driven_ball_exerts_no_more_than_its_cap_and_runs_at_a_speed():
    t, cap = 0.2, 0.01
    sim = Sim(dt=0.0025, contact=False, gravity=(0, 0, 0))
    body = sim.sphere(0.1, density=2000.0)
    ball = sim.spherical(None, body, (0, 0, 0), drive=(0.0, 0.0, 2.0))
    ball.drive.stiffness, ball.drive.max_effort = 100.0, cap
    sim.step(round(t / sim.dt))
    inertia = np.linalg.eigvalsh(body.inertia)[0]
    # at its strongest all the time: a parabola, of which the last step is off by a share of h/t
    assert ball.rotation[2] == pytest.approx(0.5 * cap / inertia * t**2, rel=0.02)
    assert ball.drive.effort == pytest.approx((0, 0, cap), rel=1e-9)
    ball.drive.max_effort = None
    ball.drive.target_velocity = (0.0, 0.0, 0.5)
    before = ball.rotation[2]
    sim.step(200)
    assert ball.rotation[2] - before == pytest.approx(0.25, rel=0.02)


def test_a_ball_is_driven_at_any_time_and_its_rotation_is_part_of_a_mechanism():
    sim = Sim(contact=False)
    body = sim.box((0.3, 0.1, 0.1), pos=(0.15, 0, 1))
    ball = sim.spherical(None, body, (0, 0, 1))
    sim.step(10)
    assert ball.rotation[1] > 0.05  # it falls
    ball.drive.target = (0.2, -0.5, 1.0)
    sim.step(100)
    assert ball.rotation == pytest.approx((0.2, -0.5, 1.0), abs=1e-4)
    mechanism = sim.mechanism(ball)
    assert mechanism.q == pytest.approx((0.2, -0.5, 1.0), abs=1e-4)
    # by a Jacobian of w: ½ ẇ·M ẇ is the kinetic energy
    mechanism.v = rate = np.array([0.3, 0.1, -0.2])
    assert 0.5 * rate @ mechanism.mass_matrix() @ rate == pytest.approx(sim.energy.kinetic, rel=1e-6)
    ball.rotation = (0.1, 0.2, 0.3)
    assert ball.rotation == pytest.approx((0.1, 0.2, 0.3), abs=1e-6)
    ball.drive.on = False
    with pytest.raises(SceneError, match=r"spherical joint '.*': drive\.target = .*; give 3 finite numbers"):
        ball.drive.target = (1.0, 2.0)
