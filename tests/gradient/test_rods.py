"""Gradients by the length of an exact rod, a winch, in one step alone and in all."""

from __future__ import annotations

import numpy as np
import pytest
from gradient_check import TIGHT_TAPE

from dovetail import Sim
from dovetail.errors import GradientError

STEPS = 20


def swung(more, speed=0.0, smooth=False, integrator="ctr"):
    """A bob on a rod of 0.5 m, which `speed` lengthens, and `more` (T,) in each step: the rod and its tape."""
    sim = Sim(dt=0.01, contact=False, integrator=integrator, config=TIGHT_TAPE)
    bob = sim.box((0.1, 0.1, 0.1), pos=(0.5, 0, 0), velocity=(0, 0.3, 0))
    rod = sim.distance(None, bob, (0, 0, 0), (0.5, 0, 0))

    def reel_out(k):
        rod.length = 0.5 + 0.01 * speed * (k + 1) + more[k]

    return rod, sim.rollout(STEPS, reel_out, smooth=smooth)


@pytest.mark.parametrize(
    "options", [{"smooth": True}, {"integrator": "bdf2", "speed": 0.3}, {"integrator": "ctr", "speed": 0.3}]
)
def test_gradients_by_a_length_are_those_of_the_program(options):
    """A length that differs in one step is taken back in the next, but for some millionths that count."""
    rod, tape = swung(np.zeros(STEPS), **options)
    by_Q = np.random.default_rng(0).normal(size=tape.Q.shape)
    found = tape.backward(by_Q, strict=True)[rod, "length"][:, 0]

    def slope(way, step):
        ends = [(by_Q * swung(sign * step * way, **options)[1].Q).sum() for sign in (1.0, -1.0)]
        return (ends[0] - ends[1]) / (2.0 * step)

    for way in (np.eye(STEPS)[5], np.ones(STEPS)):
        expected = (4.0 * slope(way, 5e-5) - slope(way, 1e-4)) / 3.0
        assert abs(found @ way / expected - 1.0) < 1e-6


def test_a_length_that_stays_has_no_gradient_under_ctr():
    rod, tape = swung(np.zeros(STEPS))
    found = tape.backward(np.ones_like(tape.Q))
    with pytest.raises(GradientError, match=r"'distance joint 1' has no gradient by 'length' in step 0.*smooth=True"):
        found[rod, "length"]
    # because the motion jumps: a hundredth of a micrometre has it taken as bdf1
    apart = [np.abs(swung(np.full(STEPS, 1e-8))[1].Q - swung(np.full(STEPS, more))[1].Q).max() for more in (0.0, 2e-8)]
    assert apart[0] > 1e-5 > 1e-6 > apart[1]
