"""Coordinates of joints and the bodies that they move: the quick way against one without insight."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from dense_kinematics import DenseKinematics

from dovetail import Sim
from dovetail.gym.tasks.lift import GripperLift
from dovetail.gym.tasks.walker import FourBarWalker
from dovetail.solver.joint.screws import move_bodies

sys.path.append(str(Path(__file__).parents[1] / "sim"))
from test_mechanism import arm, four_bar, zoo

Y = (0, 1, 0)


def floating() -> Sim:
    """A trunk that nothing holds, with two legs of two links."""
    sim = Sim(contact=False)
    trunk = sim.box((0.4, 0.2, 0.1), pos=(0, 0, 1), velocity=(0.3, 0.1, 0), spin=(0.5, -1.0, 2.0), name="trunk")
    for x in (-0.15, 0.15):
        thigh, shank = (sim.box((0.03, 0.03, 0.2), pos=(x, 0.12, z)) for z in (0.9, 0.68))
        sim.revolute(trunk, thigh, pos=(x, 0.12, 1.0), axis=Y)
        sim.revolute(thigh, shank, pos=(x, 0.12, 0.79), axis=Y)
    return sim


def task(kind):
    """The machine of a task, and its mechanism."""
    sim = Sim(contact=False)
    return sim, kind().build(sim, np.random.default_rng(0))


CASES = {
    "tree": lambda: (sim := arm(), sim.mechanism()),
    "one of a tree": lambda: (sim := arm(), sim.mechanism(sim["hinge 1"])),
    "yielding": lambda: (sim := arm(exact=False), sim.mechanism()),
    "loop": lambda: (sim := four_bar(), sim.mechanism(sim["a"])),
    "every kind": lambda: (sim := zoo(), sim.mechanism()),
    "coupled": lambda: task(GripperLift),
    "loops": lambda: task(FourBarWalker),
}


@pytest.mark.parametrize("case", CASES)
def test_rates_are_those_of_least_squares_over_all_twists(case):
    _, m = CASES[case]()
    dense, rng = DenseKinematics(m), np.random.default_rng(2)
    if case != "every kind":
        m.q = m.q + rng.uniform(-0.02, 0.02, len(m))
    state = dense.simulation.state
    assert np.abs(dense.told(state.Q)[0]).max() < 1e-12  # all joints are closed
    rates, others = rng.normal(size=len(m)), np.zeros(len(dense.others))
    m.v = 0.0 * rates
    expected = dense.rates(state.Q, rates, others)
    m.v = rates
    # derivatives by differences are good to 1e-9, which loops that are nearly straight make a hundred times worse
    assert np.abs(state.V - expected).max() < 1e-7 * np.abs(expected).max()
    assert case == "every kind" or np.allclose(m.v, rates, rtol=0, atol=1e-12)


def test_legs_of_a_walker_are_put_anywhere_with_all_joints_closed():
    sim, m = task(FourBarWalker)
    place, q = sim["plane"].coordinates.values(), np.array([0.1, -0.3, 0.2, -0.1])
    before = [c.value for c in place]
    m.q = q
    assert np.allclose(m.q, q, rtol=0, atol=1e-12) and max(joint.gap for joint in sim.joints) < 1e-12
    assert np.allclose([c.value for c in place], before, rtol=0, atol=1e-12)


def test_what_floats_goes_on_as_it_did_while_its_legs_are_set():
    sim = floating()
    m, trunk = sim.mechanism(), sim["trunk"]
    pos, velocity, spin = trunk.pos, trunk.velocity, trunk.spin
    m.place([0.3, -0.5, 0.2, 1.0], [1.0, 2.0, 3.0, 4.0])
    assert np.array_equal(trunk.pos, pos) and np.allclose(m.v, [1.0, 2.0, 3.0, 4.0], rtol=0, atol=1e-12)
    assert np.allclose(trunk.velocity, velocity, atol=1e-12) and np.allclose(trunk.spin, spin, atol=1e-12)


def test_a_trunk_with_loops_stays_where_it_is():
    sim = four_bar(on="trunk")
    before = sim["trunk"].pos
    sim.mechanism(sim["a"]).q = [0.4]
    assert np.allclose(sim["trunk"].pos, before, rtol=0, atol=1e-12) and max(joint.gap for joint in sim.joints) < 1e-12


def test_both_at_once_is_one_after_the_other():
    one, other = arm(), arm()
    for sim in (one, other):
        sim.step(3)
    q, v = np.array([0.2, -0.1, 0.3, 0.02]), np.array([1.0, 0.0, -2.0, 0.1])
    one.mechanism().place(q, v)
    m = other.mechanism()
    m.q, m.v = q, v
    for a, b in zip(one.bodies, other.bodies, strict=True):
        # velocities of the trees are solved for from different ones before, which round differently
        assert np.allclose(a.transform, b.transform, rtol=0, atol=1e-14)
        assert np.allclose(a.velocity, b.velocity, rtol=0, atol=1e-13)


def test_screws_move_a_chain_by_products_of_exponentials():
    """Against the exponential series of 4×4 matrices."""
    rng = np.random.default_rng(3)
    Q, twist, centre = rng.normal(size=(4, 4, 3)), rng.normal(size=(3, 6)), rng.normal(size=3)
    twist[1] *= 1e-6
    ends, sign, bodies = np.array([[-1, 0], [0, 2], [0, 1]]), np.array([1.0, -1.0, 1.0]), np.array([2, 0, 3])
    motion = {-1: np.eye(4)}
    expected = Q.copy()
    for (parent, child), s, (v, w) in zip(ends, sign, twist.reshape(-1, 2, 3), strict=True):
        A = np.zeros((4, 4))
        A[:3, :3], A[:3, 3] = np.cross(s * w, np.eye(3)).T, s * v
        term = total = np.eye(4)
        for k in range(1, 40):
            term = term @ A / k
            total = total + term
        motion[child] = T = motion[parent] @ total
        body = bodies[child]
        expected[body, 0] = T[:3, :3] @ (Q[body, 0] - centre) + T[:3, 3] + centre
        expected[body, 1:] = Q[body, 1:] @ T[:3, :3].T
    move_bodies(ends, sign, twist, centre, bodies, Q)
    assert np.allclose(Q, expected, rtol=0, atol=1e-13)
