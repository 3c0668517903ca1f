"""Friction with a memory, the default of `Sim`: what sticks stays where it is."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dovetail import geometry
from dovetail.core import ContactSystemFeature
from dovetail.sim import Sim
from dovetail.solver.contact.stick import Stick

G = 9.81
REST = 0.95e-3  # [m], about the gap of a resting cube of 0.1 m


def stack(count: int, dt: float) -> Sim:
    sim = Sim(dt=dt)
    sim.ground()
    for k in range(count):
        sim.box(0.1, pos=(0, 0, 0.05 + REST + k * (0.1 + REST)), name=f"cube {k}")
    return sim


def lean(sim: Sim) -> float:
    """Largest way from the axis of a stack [m]."""
    return float(max(np.abs(body.pos[:2]).max() for body in sim.bodies))


@pytest.mark.parametrize(("dt", "seconds"), [(0.01, 6), (0.02, 6)])
def test_a_stack_of_twenty_cubes_stands(dt, seconds):
    """Corners on corners push each other aside with N/gap per slip; friction that creeps gives way in some 5 s."""
    sim = stack(20, dt)
    sim.step(round(seconds / dt))
    assert lean(sim) < 1e-9  # nothing amplifies round-off; a run of 60 s ends at 1e-15 m too
    assert max(np.abs(body.velocity).max() for body in sim.bodies) < 1e-9


def test_a_stack_that_was_pushed_does_not_sway():
    """Barriers are no springs for it: where they were followed as such, it had 0.02 m/s at that time."""
    sim = stack(4, 0.01)
    sim.step(60)
    for k, body in enumerate(sim.bodies):
        body.velocity = (0.03 * (k + 0.5), 0, 0)
    sim.step(40)
    assert sum(np.linalg.norm(body.velocity) for body in sim.bodies) < 4e-3


def test_a_heap_comes_to_rest():
    sim = Sim()
    sim.ground()
    rng = np.random.default_rng(3)
    for k in range(8):
        q = rng.normal(size=4)
        sim.box(0.1, pos=(0.18 * (k % 2), 0.18 * (k // 2 % 2), 0.2 + 0.18 * (k // 4)), rot=q / np.linalg.norm(q))
    sim.step(300)
    before = np.array([body.pos for body in sim.bodies])
    sim.step(100)
    assert max(np.abs(body.velocity).max() for body in sim.bodies) < 1e-9  # creep of 1e-3 m/s without memory
    assert np.abs(np.array([body.pos for body in sim.bodies]) - before).max() < 1e-8


def slope(mu: float) -> tuple[Sim, np.ndarray]:
    """A block on a slope, after it has settled, and where it is then."""
    angle = math.atan(0.5)
    sim = Sim(gravity=(G * math.sin(angle), 0, -G * math.cos(angle)), friction=mu)
    sim.ground(normal=(0, 0, 1))
    sim.box(0.1, pos=(0, 0, 0.05 + REST), name="block")
    sim.step(100)
    return sim, sim["block"].pos.copy()


def test_a_block_on_a_slope_is_held_without_creep():
    """By 1.4 times the friction it needs; smoothed friction alone creeps by a third of eps_velocity, 30 mm a minute."""
    sim, before = slope(0.7)
    sim.step(1000)
    assert np.abs(sim["block"].pos - before).max() < 1e-9  # [m], a minute has six times as many steps


@pytest.mark.parametrize(("mu", "slides"), [(0.495, True), (0.505, False)])
def test_the_angle_of_friction_is_right_to_one_percent(mu, slides):
    sim, before = slope(mu)
    sim.step(100)
    way = sim["block"].pos[0] - before[0]
    # from rest it would be a t²/2; it has a little speed from settling
    least = 0.5 * G * (0.5 - mu) / math.sqrt(1.25)
    assert way > least if slides else abs(way) < 1e-6


def test_forces_are_read_back_with_what_is_remembered():
    """All of m g sin α is friction of a slip that is none in this step; as single primitives too, with h²."""
    sim, _ = slope(0.7)
    pull = sim["block"].mass * G / math.sqrt(5)
    assert sim.contacts.friction_force.sum(axis=0)[0] == pytest.approx(-pull, rel=1e-9)
    system, found = sim.world.features().find(ContactSystemFeature), geometry.Geometry()
    system.contact_gradient("PH+F", found)
    assert found.instances["grad"][:, 0].sum() / sim.dt**2 == pytest.approx(pull, rel=1e-9)


def test_a_box_is_held_in_a_gripper():
    """Two plates press with N each, 2μN = 1.4 W; eps_velocity without memory would be 3 mm in these 10 s."""
    sim = Sim(friction=0.5)
    box = sim.box(0.1, pos=(0, 0, 0.5))
    for side in (-1, 1):
        plate = sim.box((0.05, 0.2, 0.2), pos=(side * (0.075 + REST), 0, 0.5))
        sim.prismatic(None, plate, pos=(side * 0.075, 0, 0.5), axis=(-side, 0, 0)).force = 1.4 * G * box.mass
    sim.step(100)
    before = box.pos.copy()
    sim.step(1000)
    assert np.abs(box.pos - before).max() < 1e-9


def test_what_is_held_turns_with_what_holds_it():
    """A block on a turntable, ω²r = 0.7 μg: the force turns with the table, and the block keeps its place on it."""
    mu, radius = 0.5, 0.3
    rate = math.sqrt(0.7 * mu * G / radius)
    sim = Sim(friction=mu)
    table = sim.box((1.0, 1.0, 0.1), pos=(0, 0, 0), spin=(0, 0, rate))
    sim.revolute(None, table, pos=(0, 0, 0), axis=(0, 0, 1), motor=rate)
    block = sim.box(0.1, pos=(radius, 0, 0.1 + REST), velocity=(0, rate * radius, 0), spin=(0, 0, rate))
    sim.step(50)
    settled = float(np.linalg.norm(block.pos[:2]))
    sim.step(400)  # two turns
    # steps of 0.03 rad along the tangent, whose chord friction answers in the same step
    assert np.linalg.norm(block.pos[:2]) == pytest.approx(settled, abs=1e-5)
    assert abs(block.pos[2] - 0.1 - REST) < 1e-4


def test_a_state_carries_what_sticks_bit_for_bit():
    sim, _ = slope(0.7)
    sim["block"].velocity = (0.3, 0, 0)
    sim.step(3)
    state = sim.state
    assert len(state.arrays["contact/stick"]) == 4  # corners on the ground
    ways = []
    for _ in range(2):
        sim.state = state
        sim.step(10)
        ways.append(sim["block"].pos.copy())
    np.testing.assert_array_equal(*ways)
    state.arrays["contact/stick_force"][:] = 0.0
    sim.state = state
    sim.step(10)
    assert (sim["block"].pos != ways[0]).any()


def test_only_bodies_that_are_moved_from_outside_forget():
    sim = stack(3, 0.01)
    sim.step(5)

    def known() -> int:
        return len(sim.state.arrays["contact/stick"])

    everything = known()
    sim["cube 2"].velocity = (0, 0, 0)
    assert known() == everything
    sim["cube 2"].pos = sim["cube 2"].pos
    assert 4 < known() < everything


def test_a_force_is_carried_into_the_frame_that_the_other_body_has():
    """`Stick` against its closed form: any affine body b, any load."""
    sim = stack(2, 0.01)
    sim.step(20)
    contact = sim.world._simulation.contact  # type: ignore[union-attr]
    friction, stick, h = contact.friction, Stick(), 0.01
    count, rng = friction.count, np.random.default_rng(0)
    Q, Q_end = rng.normal(size=(2, 2, 4, 3)) + np.eye(4, 3, -1)
    force = rng.normal(size=(count, 3))
    stick.begin(friction, Q, h)
    stick.commit(friction, h * h * force, Q_end, h)
    stick.begin(friction, Q, h)
    for n in range(count):
        b = friction.bodies[n, 1]
        f = force[n] if b < 0 else force[n] @ np.linalg.inv(Q_end[b, 1:]) @ Q[b, 1:]
        f = friction.tangent[n] @ f
        share = min(h * h * np.linalg.norm(f) / friction.load[n], 1.0)
        expected = -friction.epsilon * (1 - math.sqrt(1 - share)) * f / np.linalg.norm(f)
        np.testing.assert_allclose(friction.carried[n], expected, rtol=1e-9, atol=1e-15)
