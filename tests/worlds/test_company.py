"""Worlds in company: who shares a model, who leaves it for a step, and that nobody could tell by the numbers."""

from __future__ import annotations

import numpy as np
import pytest
from world_machines import alone, chain, mixed, require_equal

from dovetail import Worlds
from dovetail.kernel.emit import LANES
from dovetail.world.company import LARGEST
from dovetail.world.marching import PATIENCE

N = LANES + 3


def swings(sim, rng):
    """Pendulums of two links with dampers, of any lengths and masses, about a post of their own."""
    parent, x = None, 0.0
    for k in range(2):
        link = sim.box((0.2, 0.04, 0.04), pos=(x + 0.1, 0, 1), mass=rng.uniform(0.3, 0.6))
        sim.revolute(parent, link, pos=(x, 0, 1), axis=(rng.uniform(-0.1, 0.1), 1, 0), name=f"j{k}")
        parent, x = link, x + 0.2


def above(sim, rng):
    """Arms on springs above the ground, every second of which comes near it when it is pushed."""
    mixed(sim, rng, spring=0.5, damping=0.01)


def hopper(sim, rng):
    """A plate on two driven legs that falls to the ground, and stands."""
    sim.ground()
    plate = sim.box((0.5, 0.3, 0.05), pos=(0, 0, 0.28), mass=rng.uniform(2.0, 3.0))
    for x in (-0.2, 0.2):
        leg = sim.box((0.04, 0.3, 0.2), pos=(x, 0, 0.131), mass=0.5)
        sim.revolute(plate, leg, pos=(x, 0, 0.24), axis=(0, 1, 0), drive=0.0)


def warm_up(worlds):
    """So many steps that worlds are put together, and back home."""
    worlds.step(2 * PATIENCE)
    worlds.step()
    worlds.reset()
    worlds.step(2)
    worlds.step(2)


def companies(worlds):
    return [company for _, stage in worlds._marching._stages for company in stage.companies]


def have_been_apart(worlds):
    return [company.company.apart.tolist() != [0, 1] for company in companies(worlds)]


@pytest.mark.parametrize(
    ("build", "contact", "integrator"),
    [(chain, False, "ctr"), (chain, False, "bdf2"), (swings, True, "ctr"), (swings, True, "bdf1")],
)
def test_worlds_in_company_have_the_numbers_that_they_have_alone(build, contact, integrator):
    worlds = Worlds(build, 2 * LARGEST + 1, threads=2, contact=contact, integrator=integrator)
    warm_up(worlds)
    assert [len(company.worlds) for company in companies(worlds)] == [LARGEST, LARGEST]
    worlds.step(20)
    worlds.reset([1, LARGEST], v=0.5)
    for _ in range(6):
        worlds.step(4)
    assert not any(have_been_apart(worlds))
    for k in (1, LARGEST - 1, LARGEST):
        one = alone(build, k, contact=contact, integrator=integrator)
        warm_up(one)
        one.step(20)
        if k in (1, LARGEST):
            one.reset()
            one.mechanism().v = np.full(len(worlds.names), 0.5)
        one.step(24)
        require_equal(worlds[k], one)


def test_mechanisms_that_turn_fast_are_told_from_those_that_do_not():
    """Some take a start with two sweeps, some steps of three iterations, and some of two."""
    speeds = np.linspace(0.0, 40.0, N)[:, None] * [1.0, -1.0]
    worlds = Worlds(swings, N, contact=False)
    warm_up(worlds)
    worlds.v = speeds
    seen = set()
    for _ in range(30):
        worlds.step()
        seen.add(tuple(sorted({sim.world.report.iterations for sim in worlds})))
    assert any(len(numbers) > 1 for numbers in seen), "all were alike"
    assert companies(worlds) and not any(have_been_apart(worlds))
    for k in range(N):
        one = alone(swings, k, contact=False)
        warm_up(one)
        one.mechanism().v = speeds[k]
        one.step(30)
        require_equal(worlds[k], one)


def test_what_one_cannot_take_in_its_stride_all_take_alone_for_a_while():
    """Half of the arms hold themselves just above the ground, and are pushed towards it."""
    worlds = Worlds(above, N)
    warm_up(worlds)
    assert companies(worlds)
    worlds.v = 3.0
    apart = False
    for _ in range(19):
        worlds.step(3)
        apart = apart or any(have_been_apart(worlds))
    assert apart
    for k in range(0, N, 3):
        one = alone(above, k)
        warm_up(one)
        one.mechanism().v = np.full(2, 3.0)
        one.step(57)
        require_equal(worlds[k], one)


def test_machines_that_have_flown_in_company_stand_alone():
    worlds = Worlds(hopper, LANES)
    warm_up(worlds)
    assert companies(worlds)
    for _ in range(50):
        worlds.step()
    assert all(sim.world.marcher.stands for sim in worlds)
    one = alone(hopper, 3)
    warm_up(one)
    one.step(50)
    require_equal(worlds[3], one)


def test_forces_pushes_and_efforts_reach_each_world():
    def pushed(sim, rng):
        swings(sim, rng)
        sim["j1"].torque = 0.0

    worlds = Worlds(pushed, N, contact=False)
    warm_up(worlds)
    single = [alone(pushed, k, contact=False) for k in range(N)]
    for one in single:
        warm_up(one)
    efforts = 0.1 * np.arange(2 * N).reshape(N, 2)
    assert companies(worlds)
    for effort in (efforts, -efforts):
        worlds.effort = effort
        worlds.step(3)
        for k, one in enumerate(single):
            one.mechanism().effort = effort[k]
            one.step(3)
            require_equal(worlds[k], one)


def ropes(sim, rng):
    """Balls, which are swept by other instructions where many stand side by side."""
    parent = None
    for k in range(5):
        link = sim.box((0.1, 0.02, 0.02), pos=(0.1 * k + 0.05, 0, 1), mass=rng.uniform(0.05, 0.1))
        if parent is None:
            sim.revolute(None, link, pos=(0, 0, 1), axis=(0, 1, 0))
        else:
            sim.spherical(parent, link, pos=(0.1 * k, 0, 1))
        parent = link


@pytest.mark.parametrize(("build", "number"), [(swings, LANES - 1), (ropes, N)])
def test_few_worlds_and_those_that_others_would_change_stay_alone(build, number):
    worlds = Worlds(build, number, contact=False)
    for _ in range(3):
        worlds.step(PATIENCE)
    assert not companies(worlds)
    one = alone(build, 2, contact=False)
    one.step(3 * PATIENCE)
    require_equal(worlds[2], one)


def test_a_world_that_gets_another_body_goes_on_by_itself():
    worlds, one = Worlds(swings, LANES, contact=False), alone(swings, 2, contact=False)
    warm_up(worlds)
    warm_up(one)
    assert companies(worlds)
    for sim in (worlds[2], one):
        rod = sim.box((0.2, 0.04, 0.04), pos=(0.1, 1, 1), mass=0.4)
        sim.revolute(None, rod, pos=(0, 1, 1), axis=(0, 1, 0))
        sim.step(3)
    worlds.step(20)
    one.step(20)
    require_equal(worlds[2], one)


def test_constants_that_worlds_differ_by_are_brought_onto_the_stage():
    """Two companies take turns on one stage; masses, axes and points of their joints are their own."""
    worlds = Worlds(swings, 2 * LARGEST, contact=False)
    warm_up(worlds)
    (stage,) = [stage for _, stage in worlds._marching._stages]
    first, second = stage.companies
    assert not first.own and second.own
    copied = first.company.constants[:, 2].sum()
    assert 0 < copied < sum(array.nbytes for array in stage._common.arrays) // 8 // 4, "most of a stage is room"
