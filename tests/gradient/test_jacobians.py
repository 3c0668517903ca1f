"""Jacobians of steps in joint coordinates: rows that are found together, adjoint steps, differences of the program."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from dovetail import Sim
from dovetail.errors import GradientError
from dovetail.gradient.adjoint import Adjoint
from dovetail.gradient.jacobians import Jacobians
from dovetail.gradient.sums import Sums

TIGHT = {"newton/velocity_tol": 1e-11, "newton/transrate_tol": 1e-11}
RNG = np.random.default_rng


def tree(free=False, integrator="bdf1", strength=None):
    """Hinges, sliders and a weld on a branching tree, with a spring, a damper, friction and drives on some of them."""
    rng, sim = RNG(0), Sim(dt=0.01, contact=False, integrator=integrator, config=TIGHT)
    bodies = [sim.box((0.2, 0.1, 0.1), name="root")] if free else []
    more = {} if strength is None else {"strength": strength}
    for k in range(5):
        on = bodies[k // 2] if free else None if k == 0 else bodies[(k - 1) // 2]
        at, axis = rng.normal(size=(2, 3))
        body = sim.box((0.2, 0.15, 0.1), pos=at, name=f"body {k}", density=500.0)
        if k == 2:
            sim.prismatic(on, body, axis=axis, name=f"joint {k}", damping=2.0, **more)
        elif k == 3:
            sim.fixed(on, body, name=f"joint {k}", **more)
        else:
            hinge = sim.revolute(on, body, pos=at + 0.3 * rng.normal(size=3), axis=axis, name=f"joint {k}", **more)
            hinge.drive.stiffness, hinge.drive.damping, hinge.drive.target = 5.0, 0.3 * k, 0.2
            hinge.friction, hinge.spring = 0.05 * (k == 1), 0.4 * (k == 4)
        bodies.append(body)
    if free:
        bodies[0].velocity, bodies[0].spin = (0.3, 0.2, 0.1), (0.5, -1.0, 0.3)
    return moving(sim, sim.mechanism(), rng)


def moving(sim, mechanism, rng):
    mechanism.q = 0.4 * rng.normal(size=len(mechanism))
    mechanism.v = rng.normal(size=len(mechanism))
    if all(c.load is not None for c in mechanism.coordinates):
        mechanism.effort = 0.3 * rng.normal(size=len(mechanism))
    return sim, mechanism


def by_adjoint_steps(tape, mechanism, k):
    sums = Sums(tape._simulation, tape.steps)
    one_by_one = Jacobians(tape._simulation, mechanism._state, together=False)
    (A,), (B,) = one_by_one.room(1)
    with Adjoint(tape._simulation, tape._parameters, sums) as adjoint:
        one_by_one.at(adjoint, k, tape._frames[k], tape._reel.ends(k), tape._reel.V(k + 1), (A, B))
    return A, B


def by_differences(sim, mechanism, step=1e-3, smooth=False):
    """Richardson's, of a step that begins with other q, v and u."""
    home, n = sim.state, len(mechanism)
    takes = all(c.load is not None for c in mechanism.coordinates)
    u = np.array([c.load or 0.0 for c in mechanism.coordinates])
    z = np.concatenate([mechanism.q, mechanism.v, u if takes else []])

    def end(z):
        sim.state = home
        mechanism.q, mechanism.v = z[:n], z[n : 2 * n]
        if takes:
            mechanism.effort = z[2 * n :]
        sim.rollout(1, smooth=smooth)
        return np.concatenate([mechanism.q, mechanism.v])

    wide, narrow = (
        np.array([(end(z + h * e) - end(z - h * e)) / (2 * h) for e in np.eye(len(z))]).T for h in (step, step / 2)
    )
    sim.state = home
    if takes:
        mechanism.effort = u
    found = (4 * narrow - wide) / 3
    return found[:, : 2 * n], found[:, 2 * n :]


def error(found, expected):
    return np.abs(found - expected).max(initial=0.0) / np.abs(expected).max(initial=1e-300)


@pytest.mark.parametrize("free, strength", [(False, None), (True, None), (False, 1e3)])
def test_rows_of_a_tree_are_found_together(free, strength, monkeypatch):
    sim, mechanism = tree(free, strength=strength)
    expected = None if free else by_differences(sim, mechanism)
    tape = sim.rollout(3)
    slow = [by_adjoint_steps(tape, mechanism, k) for k in range(3)]
    monkeypatch.setattr(Jacobians, "_pull", None)  # which is not called
    A, B = tape.step_jacobians(mechanism=mechanism)
    for k in range(3):
        # exact joints are closed to 1e-13 of what they hold there, here to 1e-9 of their compliance
        assert error(A[k], slow[k][0]) < 1e-8 and error(B[k], slow[k][1]) < 1e-8
    assert expected is None or max(error(A[0], expected[0]), error(B[0], expected[1])) < 1e-7
    assert np.array_equal(A[1], tape.step_jacobians(1, mechanism)[0])


def four_bar():
    """A loop: the first angle says where all are."""
    sim = Sim(dt=0.01, contact=False, integrator="bdf1", config=TIGHT)
    corners = np.array([(0, 0, 0), (0, 0, 0.3), (0.5, 0, 0.5), (0.6, 0, 0)])
    bars = [
        sim.capsule(0.03, np.linalg.norm(b - a) / 2, pos=(a + b) / 2, name=f"bar {k}")
        for k, (a, b) in enumerate(pairwise(corners))
    ]
    pairs = [(None, bars[0]), (bars[0], bars[1]), (bars[1], bars[2]), (None, bars[2])]
    hinges = [
        sim.revolute(*pair, pos=corners[k], axis=(0, 1, 0), name=f"hinge {k}", damping=0.02)
        for k, pair in enumerate(pairs)
    ]
    mechanism = sim.mechanism(hinges[0])
    mechanism.v, mechanism.effort = [0.7], [0.2]
    return sim, mechanism


def ball_and_cross():
    """Joints of two and three coordinates, one after the other, on a body that is free."""
    sim = Sim(dt=0.01, contact=False, integrator="bdf1", config=TIGHT)
    bodies = [sim.box((0.3, 0.1, 0.1), pos=(0.35 * k, 0, 0), name=f"body {k}") for k in range(3)]
    ball = sim.spherical(bodies[0], bodies[1], pos=(0.17, 0, 0), drive=(0.1, 0.2, -0.1))
    ball.drive.stiffness, ball.drive.damping = 10.0, 1.0
    sim.cylindrical(bodies[1], bodies[2], pos=(0.52, 0, 0), axis=(1, 0.2, 0), name="slide")
    return moving(sim, sim.mechanism(), RNG(1))


@pytest.mark.parametrize("make", [four_bar, ball_and_cross, lambda: tree(integrator="ctr")])
def test_rows_of_other_mechanisms_are_adjoint_steps(make):
    sim, mechanism = make()
    expected = by_differences(sim, mechanism, 1e-2)
    tape = sim.rollout(1)
    A, B = tape.step_jacobians(0, mechanism)
    # differences of 1e-2 see 1e-11 of round-off of ctr, and the sixth derivative of the step
    assert error(A, expected[0]) < 1e-6
    assert not B.any() if not expected[1].size else error(B, expected[1]) < 1e-6


@pytest.mark.parametrize("free", [False, True])
def test_a_tree_moves_by_screws(free):
    """As it does by the kinematics of any mechanism."""
    sim, mechanism = tree(free)
    state, simulation = mechanism._state, sim.world._simulation
    Q, V = simulation.state.Q, simulation.state.V
    found = state.lifted(Q, V)
    expected = state._kinematics.lifted(Q, V, simulation.joints.coordinates.rates(Q, V))
    assert state.screws is not None
    for ours, others in zip(found, expected, strict=True):
        assert np.allclose(ours, others, atol=1e-12)


def test_what_is_no_mechanism_of_the_rollout_is_refused():
    sim, _ = four_bar()
    _, other = four_bar()
    tape = sim.rollout(1)
    for mechanism in (other, "hinge"):
        with pytest.raises(GradientError, match=r"Tape.step_jacobians: .* is no mechanism of what was recorded"):
            tape.step_jacobians(0, mechanism)
    with pytest.raises(GradientError, match="there is no step 1; there are 0 to 0"):
        tape.step_jacobians(1, sim.mechanism())
