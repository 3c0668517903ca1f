"""Steps in touch: starts in one call have the bits of those in many, and guesses are closed by what they leave."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dovetail import Sim
from dovetail.kernel.kernel import jit_enabled

ARRAYS = ("Q", "V", "A", "pushed", "carried")


def falling_leg(driven: bool) -> Sim:
    """A shank that stands on its edge and falls over, with a load on a hinge."""
    sim = Sim(friction=1.0)
    sim.ground()
    tilt = 0.35
    up = np.array([math.sin(tilt), 0.0, math.cos(tilt)])
    turn = (math.cos(tilt / 2), 0.0, math.sin(tilt / 2), 0.0)
    shank = sim.box((0.04, 0.3, 0.3), pos=0.15 * up + [0, 0, 0.03], rot=turn)
    load = sim.box((0.3, 0.1, 0.1), pos=0.3 * up + [0, 0, 0.13], mass=2.0)
    more = {"drive": 0.1, "limit": (-1.0, 1.0)} if driven else {}
    sim.revolute(shank, load, pos=0.3 * up + [0, 0, 0.07], axis=(0, 1, 0), **more)
    return sim


@pytest.mark.skipif(not jit_enabled, reason="starts in one call are for compiled kernels")
@pytest.mark.parametrize("driven", [False, True])
def test_a_start_in_one_call_has_the_bits_of_the_general_way(driven):
    """From the fall through the time on the edge to where the load hits the ground."""
    states, used = [], 0
    for possible in (True, False):
        sim = falling_leg(driven)
        sim.step()
        simulation = sim.world._simulation
        stance = simulation.model.stance
        assert stance.is_possible
        stance.is_possible = possible
        for _ in range(45):
            sim.step()
            used += possible and len(stance._made_for) > 0 and stance._made_for[1] is simulation.scheme.last
        states.append({name: getattr(simulation.state, name).copy() for name in ARRAYS})
    assert used > 20
    for name in ARRAYS:
        np.testing.assert_array_equal(states[0][name], states[1][name], err_msg=name)


def test_a_foot_that_sticks_takes_three_iterations():
    """While the shank turns about its edge: two, and a third where the second changes a force by over a hundredth."""
    sim = falling_leg(driven=False)
    sim.step(13)
    iterations = []
    for _ in range(18):
        sim.step()
        assert sim.world.report.contacts > 0
        iterations.append(sim.world.report.iterations)
    assert sum(iterations) <= 3 * len(iterations) + 2  # swinging about the slip at which it sticks, it took up to five
    assert max(iterations) <= 4


def test_a_guess_is_closed_by_the_filter_of_its_start_as_by_a_factor_of_its_own():
    sim = falling_leg(driven=False)
    sim.step(20)
    directions, exact = sim.world._simulation.model.directions, sim.world._simulation.model.potential.exact
    closing, found = directions.closing, []

    def both(at, active):
        filtered = directions.filtered
        assert filtered is not None
        kept = directions.blocks.D.copy(), directions.blocks.U.copy(), directions.blocks.R.copy()
        directions.filtered = None
        ways = [closing(at, active).copy()]
        assert exact.closed
        directions.blocks.D[:], directions.blocks.U[:], directions.blocks.R[:] = kept
        directions.filtered = filtered
        ways.append(closing(at, active).copy())
        assert exact.closed
        found.append(ways)
        return directions.y

    directions.closing = both
    sim.step()
    ((own, of_start),) = found
    # both are the shortest, in metrics that differ by the strain of the guess, by which shapes are stiffer
    assert 0.0 < np.abs(own - of_start).max() < 0.2 * np.abs(own).max()
