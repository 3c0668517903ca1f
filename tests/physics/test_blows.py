"""Impacts: laws, balances and energy at 10 ms in some phases of the step; `benchmarks/verify.py` has all of them."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from dovetail import AngleAxis, Sim

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # whose scenes are run here in fewer phases

from verification import impacts

DT, G = 0.01, 9.81
PHASES = (0.0, 0.37, 0.81)


@pytest.mark.parametrize("run", [impacts._head_hits_box, impacts._box_hits_slider])
@pytest.mark.parametrize("phase", PHASES)
def test_what_a_contact_gives_to_one_body_it_takes_from_the_other(run, phase):
    momentum, energy = run(DT, phase * DT)
    assert momentum == pytest.approx(1.0, abs=1e-6)
    assert energy == pytest.approx(1.0, abs=2e-3)  # the barrier gives back a little of a slow approach


@pytest.mark.parametrize("phase", PHASES)
def test_a_landing_counts_once_in_friction_and_in_forces(phase):
    slowed, pushed = impacts._thrown(DT, 0.2 + phase * DT * 2)
    assert slowed == pytest.approx(1.0, abs=0.015)  # half of a step of 50 is still to come
    assert pushed == pytest.approx(1.0, abs=0.005)


@pytest.mark.parametrize("mu, e", [(0.05, 0.8), (0.5, 0.8), (0.5, 0.0)])
def test_an_oblique_blow_obeys_newton_and_coulomb(mu, e):
    errors = np.array([impacts._oblique(DT, phase * DT * 3, mu, e) for phase in PHASES])
    assert np.abs(errors).max() < 1e-3


@pytest.mark.parametrize("mu", [0.0, 1.0])
def test_friction_changes_no_rebound_of_what_has_one_freedom(mu):
    assert impacts._rod(DT, 0.004, mu) == pytest.approx(0.8, abs=2e-3)


def test_momentum_and_angular_momentum_of_bodies_that_collide_off_centre_are_kept():
    P, L = impacts._two_turn(DT, 0.007)
    assert P < 1e-12 and L < 1e-4


def test_a_row_of_balls_passes_a_blow_on_and_gains_nothing():
    last, rest, gained = impacts._cradle(DT, 0.0)
    assert last == pytest.approx(1.0, abs=0.01) and rest < 0.01 and gained < 1e-6


@pytest.mark.parametrize("e, mu", [(0.5, 0.5), (1.0, 1.0), (0.0, 1.0)])
def test_no_blow_gives_energy(e, mu):
    assert max(impacts._throw(seed, e, mu) for seed in range(3)) < 1e-9


def test_a_ball_that_lands_is_slowed_down_by_rolling_friction_from_the_blow_on():
    """The blow has the impulse of all the fall: c/r of it, over 1 + 2/5, is taken from the speed."""
    c, r = 5e-3, 0.1
    sim = Sim()
    sim.ground(rolling_friction=c)
    ball = sim.sphere(r, pos=(0, 0, r + 0.2), velocity=(2, 0, 0), spin=(0, 20, 0))
    t = 0.4
    sim.step(round(t / DT))
    lost = c / r * G * t / 1.4  # as if it had rolled all the time
    # read as the mean of the last step, half of which is still to come
    assert 2 - ball.velocity[0] == pytest.approx(lost, abs=1.5 * DT / t * lost)


def bouncing() -> Sim:
    sim = Sim(friction=0.4)
    sim.ground(restitution=0.6)
    turn = AngleAxis(0.4, [1, 2, 0])
    sim.box((0.2, 0.15, 0.1), pos=(0, 0, 0.3), rot=turn, velocity=(1, 0, -2), restitution=0.6)
    sim.sphere(0.08, pos=(0.02, 0, 0.6), velocity=(0, 0.5, -2))
    return sim


def test_a_state_within_a_blow_is_bit_for_bit_and_tells_its_forces():
    sim, blows = bouncing(), 0
    for _ in range(60):
        sim.step()
        state = sim.state
        if not len(state.arrays["contact/struck"]):
            continue
        blows += 1
        forces = [body.contact_force.copy() for body in sim.bodies if not body.fixed]
        sim.step(5)
        after = sim.state
        sim.state = state
        again = [body.contact_force for body in sim.bodies if not body.fixed]
        np.testing.assert_array_equal(again, forces)
        sim.step(5)
        for name, array in after.arrays.items():
            np.testing.assert_array_equal(sim.state.arrays[name], array, err_msg=name)
        sim.state = state
    assert blows >= 4


def test_contacts_of_a_blow_tell_its_forces():
    """At the step of the blow m g h and the momentum of the fall are carried by the contacts that are listed."""
    sim = Sim(friction=0.3)
    sim.ground()
    box = sim.box((0.4, 0.4, 0.1), pos=(0, 0, 0.05 + 0.1), velocity=(1, 0, 0))
    hardest, t = 0.0, 0.0
    while t < 0.3:
        sim.step()
        t += DT
        listed = sim.contacts
        normal = np.asarray(listed.normal_force)
        assert normal.sum() == pytest.approx(box.contact_force[2], abs=1e-6 * box.mass * G)
        rubbed = np.asarray(listed.friction_force).sum(axis=0) if len(normal) else np.zeros(3)
        assert rubbed[0] == pytest.approx(box.contact_force[0], abs=1e-6 * box.mass * G)
        if normal.sum() > hardest:
            hardest, falls = normal.sum(), t
    assert hardest * DT == pytest.approx(box.mass * G * falls, rel=1e-3)
    assert math.sqrt(2 * 0.1 / G) < falls < math.sqrt(2 * 0.1 / G) + DT
