"""What a tape keeps of a step, and what it finds again."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from gradient_check import TIGHT_TAPE

from dovetail import Sim
from dovetail.gradient import adjoint
from dovetail.gradient.sums import Sums


def chain(join, gravity=(0, 0, -1.0)):
    """100 links of 20 cm; join(sim, left, right, k, pos) makes joint k."""
    sim, last = Sim(dt=0.01, contact=False, gravity=gravity, config=TIGHT_TAPE), None
    for k in range(100):
        link = sim.box((0.2, 0.05, 0.05), pos=(0.2 * k + 0.1, 0, 0))
        join(sim, last, link, k, (0.2 * k, 0, 0))
        last = link
    sim.step()
    return sim.world


def kept_by(world):
    """A tape of 20 steps, and how many bytes per body and step 10 of them keep."""
    world.rollout(2)
    ours, sizes, tapes = tracemalloc.Filter(True, str(Path(adjoint.__file__).parent / "*")), [], []
    tracemalloc.start()
    try:
        for steps in (10, 20):
            tapes.append(world.rollout(steps))
            sizes.append(sum(each.size for each in tracemalloc.take_snapshot().filter_traces([ours]).traces))
    finally:
        tracemalloc.stop()
    return tapes[1], (sizes[1] - 2 * sizes[0]) / (10 * len(tapes[1].Q[0]))


@pytest.mark.parametrize("held", [{"strength": 100.0}, {}])
def test_a_tape_of_ctr_keeps_two_states_a_step(held):
    """200 B per body and step: multipliers are found again from where a step has ended."""
    world = chain(lambda sim, left, right, k, pos: sim.spherical(left, right, pos=pos, **held))
    tape, size = kept_by(world)
    assert 192 <= size <= 200
    if held:
        return
    multiplier, sums = world._simulation.model.potential.exact.points.multiplier, Sums(world._simulation, 20)
    last = multiplier.copy()
    with adjoint.Adjoint(world._simulation, tape._parameters, sums) as at:
        at.at(19, tape._frames[19], tape._reel.ends(19))
        found = multiplier.copy()
    # found to 1e-10; those that Newton's method has left are as far off as its last step was long
    assert np.abs(found - last).max() < 1e-6 * np.abs(last).max() and 0.0 < sums.residual[19] < 1e-10
    assert np.array_equal(multiplier, last)


def test_what_laws_begin_a_step_with_is_not_kept():
    """200 B per body and step with dampers: xₙ and parameters of the steps before are known, as are angles but for
    whole turns.
    """
    world = chain(lambda sim, left, right, k, pos: sim.revolute(left, right, pos=pos, axis=(0, 1, k % 2), damping=0.1))
    tape, size = kept_by(world)
    assert 192 <= size <= 200
    of = world._simulation
    laws, values = of.model.potential.laws, of.joints.coordinates.value
    known, sums = [each.copy() for each in (laws.p, laws.scale, values)], Sums(of, 20)
    with adjoint.Adjoint(of, tape._parameters, sums) as at:
        laws.p[laws.start], values[:] = np.nan, np.nan
        at.stand(19, tape._frames[19], tape._reel.ends(19))
        # xₙ + ½hẋ has V̂ of the start, which an adjoint finds to 1e-10 of its size (gradient/linear.py)
        assert np.abs(laws.p - known[0]).max() < 1e-10 and np.array_equal(laws.scale, known[1])
    assert all(map(np.array_equal, (laws.p, laws.scale, values), known))


@pytest.mark.parametrize("every", [0, 7])
def test_angles_of_a_tape_go_on_over_turns(every):
    sim, seen = Sim(dt=0.01, contact=False, gravity=(0, 0, 0)), {}
    wheel = sim.box((0.2, 0.2, 0.05), spin=(0, 0, 50.0))
    hinge = sim.revolute(None, wheel, pos=(0, 0, 0), axis=(0, 0, 1), damping=0.01)
    values = sim.world._simulation.joints.coordinates.value
    tape = sim.rollout(30, lambda k: seen.update({k: values.copy()}), every=every)
    seen[30] = values.copy()
    assert np.array_equal(tape.coordinate(hinge, "angle"), list(seen.values())) and seen[30] > 4 * np.pi
