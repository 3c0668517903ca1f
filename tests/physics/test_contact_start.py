"""Bodies that begin within the range of the barrier: they are let apart slowly, the default of `Sim`."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from dovetail.sim import Sim

G, D_HAT = 9.81, 1e-3
PART = D_HAT / 1.0  # [m/s]: the range of a pair grows by d̂ in a second
SWING = 1.5  # by which the barrier, a spring, may be ahead of its range


def cube(gap: float, dt: float = 1e-3, **options: object) -> Sim:
    """A cube of 1 kg at a gap over the ground."""
    sim = Sim(dt=dt)
    sim.ground()
    sim.box(0.1, pos=(0, 0, 0.05 + gap), name="cube", **options)
    return sim


def gaps(sim: Sim, steps: int) -> np.ndarray:
    found = []
    for _ in range(steps):
        sim.step()
        found.append(sim["cube"].pos[2] - 0.05)
    return np.array(found)


@pytest.mark.parametrize("kappa", [None, 1e9], ids=["adaptive", "given"])
def test_a_cube_that_begins_a_micrometre_over_the_ground_does_not_jump(kappa):
    """It was thrown up by 42 mm, with 0.9 d̂/dt = 0.9 m/s; it rises with d̂/s to where it rests, and stays there."""
    sim = cube(1e-6)
    if kappa is not None:
        sim.scene.contact_tabular.default_model(0.5, kappa)
    way = gaps(sim, 1200)
    assert np.diff(way).max() < SWING * PART * sim.dt
    assert way.max() - way[-1] < 1e-5  # the swing of the soft one; it was 42 mm
    assert 0.3 * D_HAT < way[-1] < D_HAT
    assert abs(sim["cube"].velocity[2]) < 1e-6


def test_a_cube_that_slides_near_the_ground_loses_what_friction_takes():
    """At 0.9 d̂ the whole barrier pressed with 130 N, and took 62 % of the speed in a step."""
    sim = cube(0.9 * D_HAT, velocity=(1, 0, 0))
    sim.step(20)
    loss = 1.0 - sim["cube"].velocity[0]
    # the weight in 19.5 to 20 steps, for what touches tells the mean over its last step while friction that slides
    # acts with the load of its middle, and the impulse that lifts it once; within a hundredth
    least, most = (0.5 * (G * time + PART) for time in (0.0195, 0.02))
    assert 0.99 * least < loss < 1.01 * most


def test_a_cube_that_begins_in_balance_stays():
    rest = gaps(cube(0.98 * D_HAT), 300)[-1]
    sim = cube(rest)
    way = gaps(sim, 30)
    np.testing.assert_allclose(way, rest, rtol=0, atol=1e-9)  # [m]; weight strains the shape, which begins whole


def test_without_gravity_near_bodies_part_slowly():
    sim = Sim(gravity=(0, 0, 0))
    left, right = sim.box(0.1), sim.box(0.1, pos=(0.1 + 0.5 * D_HAT, 0, 0))
    sim.step(100)
    assert 0.0 < right.velocity[0] - left.velocity[0] < SWING * PART  # and not 0.4 d̂/dt
    assert right.velocity[0] == pytest.approx(-left.velocity[0], rel=1e-6)


def test_what_is_let_apart_is_still_kept_apart():
    """A cube of the same mass falls on it with 3 m/s in the first step."""
    sim = cube(1e-5, dt=0.01)
    sim.box(0.1, pos=(0.02, 0.01, 0.151 + 1e-5), velocity=(0, 0, -3))
    for _ in range(50):
        sim.step()
        assert (sim.contacts.gap > 0).all()
        assert sim.world.report.converged
    assert sim.world.sanity_checker().check() == 0


def test_a_state_carries_it_bit_for_bit_from_the_first_frame_on():
    sim = cube(1e-4)
    start = sim.state
    first = gaps(sim, 20)
    middle = sim.state
    assert len(middle.arrays["contact/eased"]) == 1
    then = gaps(sim, 20)
    sim.state = start
    np.testing.assert_array_equal(gaps(sim, 20), first)
    sim.state = middle
    np.testing.assert_array_equal(gaps(sim, 20), then)


def test_a_body_that_is_put_near_another_one_is_eased_too():
    sim = cube(0.99 * D_HAT)
    sim.step(5)
    sim["cube"].pos = (1.0, 0, 0.05 + 1e-5)
    sim["cube"].velocity = (0, 0, 0)
    assert np.diff(gaps(sim, 50)).max() < SWING * PART * sim.dt


def test_one_message_names_the_nearest_pair(caplog):
    sim = cube(1e-6)
    sim.box(0.1, pos=(0, 0, 0.15 + 0.5e-3), name="upper")
    with caplog.at_level(logging.INFO, "dovetail"):
        sim.step(3)
    told = [record.getMessage() for record in caplog.records if "nearer than it would rest" in record.getMessage()]
    assert len(told) == 1
    assert "'cube'" in told[0] and "1e-06 m from half-plane 'ground 1'" in told[0] and "the nearest of 2" in told[0]
