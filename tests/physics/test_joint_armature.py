"""Inertia of joint coordinates themselves, against closed forms: pendulums and sliders with a rotor geared to them."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail import Sim

G, A = 9.81, 0.05


def pendulum(dt, integrator="ctr", **options):
    tight = {"newton/velocity_tol": 1e-6, "newton/transrate_tol": 1e-6}
    sim = Sim(dt=dt, contact=False, integrator=integrator, config=tight)
    rod = sim.box((0.6, 0.05, 0.05), pos=(0.3, 0, 1))
    hinge = sim.revolute(None, rod, pos=(0, 0, 1), axis=(0, 1, 0), armature=A, **options)
    inertia = rod.mass * ((0.6**2 + 0.05**2) / 12 + 0.3**2)
    return sim, hinge, rod.mass, inertia + A


def test_the_mass_matrix_has_it_and_the_bias_has_not():
    sim, hinge, mass, inertia = pendulum(0.01)
    m = sim.mechanism(hinge)
    assert m.mass_matrix() == pytest.approx(inertia, rel=1e-12)
    assert m.bias() == pytest.approx(-mass * G * 0.3, rel=1e-12)
    hinge.armature = 2 * A
    assert m.mass_matrix() == pytest.approx(inertia + A, rel=1e-12)


@pytest.mark.parametrize("options", [{}, {"strength": 1e4}], ids=["exact", "penalty"])
@pytest.mark.parametrize(("integrator", "order"), [("bdf1", 1), ("bdf2", 2), ("ctr", 2)])
def test_a_pendulum_with_a_rotor_converges_to_its_motion(integrator, order, options):
    """At the bottom its energy gives θ̇ = √(2 m g l/(I + a)); the time there is where θ = π/2."""
    misses = []
    for dt in (0.01, 0.005):
        sim, hinge, mass, inertia = pendulum(dt, integrator, **options)
        sim.step(round(0.3 / dt))
        # energy at rest was 0: θ̇² (I + a)/2 = m g l sin θ
        misses.append(abs(0.5 * inertia * hinge.velocity**2 - mass * G * 0.3 * np.sin(hinge.angle)))
        if integrator == "ctr":
            assert misses[-1] < 1e-3 * mass * G * 0.3  # it keeps energy
    assert misses[1] < misses[0] / 2 ** (order - 0.4)  # the order is that of the limit of small steps


def test_its_energy_is_kinetic():
    sim, hinge, mass, inertia = pendulum(0.005)
    sim.step(40)
    assert sim.energy.kinetic == pytest.approx(0.5 * inertia * hinge.velocity**2, rel=1e-4)  # strain takes the rest
    assert sim.energy.total == pytest.approx(mass * G, rel=1e-3)


@pytest.mark.parametrize("integrator", ["bdf1", "bdf2", "ctr"])
def test_a_slider_with_a_rotor_falls_as_the_sum_of_both_masses_lets_it(integrator):
    sim = Sim(dt=0.01, contact=False, integrator=integrator)
    slide = sim.prismatic(None, sim.box(0.1, mass=2.0), axis=(0, 0, -1), armature=3.0)
    sim.step(20)
    # a constant acceleration is exact in the velocity of every one of them; Newton's tolerance is left
    assert slide.velocity == pytest.approx(G * 2 / (2 + 3) * 0.2, rel=1e-6)
    assert slide.reaction.force[2] == pytest.approx(2 * G * 3 / 5, rel=1e-5)  # the rotor holds it up


def test_a_state_that_is_loaded_goes_on_as_it_did():
    sim, hinge, *_ = pendulum(0.01)
    sim.step(20)
    state = sim.state
    sim.step(20)
    there = hinge.angle
    sim.state = state
    sim.step(20)
    assert hinge.angle == there


def test_two_rotors_of_a_gear_are_those_of_one_with_the_square_of_the_ratio():
    sim = Sim(dt=0.01, contact=False)
    wheels = [sim.cylinder(0.1, 0.05, pos=(x, 0, 1)) for x in (0, 1)]
    one, two = (sim.revolute(None, wheel, pos=wheel.pos, axis=(0, 0, 1), armature=A) for wheel in wheels)
    sim.couple(two, one, -3.0)
    alone = sim.mechanism(one).mass_matrix()[0, 0]
    bare = wheels[0].inertia[2, 2]
    assert alone == pytest.approx((bare + A) * (1 + 9), rel=1e-9)


def test_it_must_not_be_negative():
    _, hinge, *_ = pendulum(0.01)
    with pytest.raises(Exception, match="armature = -1; give a number ≥ 0"):
        hinge.armature = -1.0
