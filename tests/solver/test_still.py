"""Standing steps in one call have the bits of the general way, and are given up where they have to be."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail import Sim
from dovetail.kernel.kernel import jit_enabled

pytestmark = pytest.mark.skipif(not jit_enabled, reason="steps in one call are for compiled kernels")


def table(at=0.0, sim=None, slides=False, **options):
    """A plate on two legs, each on a drive; or on sliders."""
    if sim is None:
        sim = Sim(**options)
        sim.ground()
    plate = sim.box((0.5, 0.3, 0.05), pos=(at, 0, 0.26), mass=3.0)
    for side in (-1, 1):
        leg = sim.box((0.04, 0.3, 0.2), pos=(at + 0.2 * side, 0, 0.111), mass=0.5)
        if slides:
            sim.prismatic(plate, leg, pos=(at + 0.2 * side, 0, 0.22), axis=(0, 0, 1), drive=0.0)
        else:
            sim.revolute(plate, leg, pos=(at + 0.2 * side, 0, 0.22), axis=(0, 1, 0), drive=0.0)
    return sim


def two_tables():
    sim = table(sim=None)
    return table(1.0, sim)


def nothing(sim, step):
    pass


def disturbed(sim, step):
    """A push, and another target."""
    simulation = sim.world._simulation
    if step == 60:
        V = simulation.velocity.copy()
        V[0, 0, 2] += 0.3
        simulation.write_state("test", np.array([0]), None, V[[0]])
    if step == 110:
        sim.mechanism().target = [0.02, -0.02]


SCENES = {
    "exact": (table, nothing, 60),
    "disturbed": (table, disturbed, 40),
    "penalty": (lambda: table(exact=False), nothing, 60),
    "sliders": (lambda: table(slides=True), nothing, 60),
    "two": (two_tables, nothing, 60),
}
"""Scene, what happens before a step, and how many steps at least are taken in one call."""


@pytest.mark.parametrize("name", SCENES)
def test_a_step_in_one_call_has_the_bits_of_the_general_way(name):
    """In all that outlives a step, after each."""
    build, happens, least = SCENES[name]
    pasts, taken = [], 0
    for possible in (True, False):
        sim, past = build(), []
        still = sim.world._simulation.model.still
        assert still.is_possible
        still.is_possible = possible
        for step in range(160):
            happens(sim, step)
            sim.step()
            report = sim.world.report
            seen = {"report": np.array([report.contacts, report.candidates, report.iterations, report.friction_loss])}
            arrays = sim.world._simulation.arrays() | seen
            past.append({key: array.copy() for key, array in arrays.items()})
        pasts.append(past)
        taken += still.taken
    assert taken >= least
    for step, (one, other) in enumerate(zip(*pasts, strict=True)):
        for key, array in one.items():
            np.testing.assert_array_equal(array, other[key], err_msg=f"{key} after step {step}")
