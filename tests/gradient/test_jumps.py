"""Steps in which the motion jumps with a change of its start are listed, and told once; smooth ones are not."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from dovetail import Sim


def crate(**options):
    sim = Sim(**options)
    sim.ground()
    sim.box((0.2, 0.2, 0.1), pos=(0, 0, 0.07), name="crate")
    return sim


def edge():
    """A box that slides over the edge of a table."""
    sim = Sim()
    sim.box((1, 1, 0.1), pos=(0, 0, -0.05), fixed=True)
    sim.box((0.1, 0.1, 0.1), pos=(0.4, 0, 0.0509), velocity=(2.0, 0, 0), name="faller")
    return sim


def limited():
    sim = Sim(contact=False)
    arm, hand = (sim.box((0.3, 0.05, 0.05), pos=(x, 0, 0), name=name) for x, name in ((0.15, "arm"), (0.45, "hand")))
    sim.revolute(None, arm, pos=(0, 0, 0), axis=(0, 1, 0), limit=(-0.3, 0.3), hard=True)
    sim.revolute(arm, hand, pos=(0.3, 0, 0), axis=(0, 1, 0))
    return sim


def slider():
    """A box that slides on the ground throughout."""
    sim = Sim()
    sim.ground()
    sim.box((0.2, 0.15, 0.05), pos=(0, 0, 0.0259), velocity=(1.0, 0.3, 0), spin=(0, 0, 2.0))
    return sim


@pytest.mark.parametrize(
    "build, steps, body, reasons",
    [
        (crate, 12, "crate", ["begins to touch something", "is struck"]),
        (lambda: crate(integrator="bdf2"), 12, "crate", ["is taken as bdf1"]),
        (edge, 12, "faller", ["slides in 2 contacts, before in 4", "touches nothing and no hard limit any more"]),
        (limited, 30, "arm", ["reaches a hard limit"]),
    ],
    ids=["lands", "lands under bdf2", "leaves", "hard limit"],
)
def test_jumps_are_listed_by_step_body_and_reason(build, steps, body, reasons):
    tape = build().rollout(steps)
    assert [jump.reason for jump in tape.jumps] == reasons
    assert all(f"'{body}'" in jump.body for jump in tape.jumps)
    first = tape.jumps[0].step
    assert 0 < first < steps
    # a rollout that ends before it has none, and one with checkpoints the same
    assert build().rollout(first).jumps == []
    assert build().rollout(steps, every=5).jumps == tape.jumps


def test_a_jump_is_one():
    """A box that is let go from a little higher lands a step later; how fast it is before that jumps."""

    def dropped(height):
        sim = Sim()
        sim.ground()
        sim.box((0.2, 0.2, 0.1), pos=(0, 0, height))
        tape = sim.rollout(8)
        return tape.V[7, 0, 0, 2], tape.jumps[0].step

    low, high = 0.07, 0.08
    assert (dropped(low)[1], dropped(high)[1]) == (6, 7)
    for _ in range(14):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if dropped(middle)[1] == 6 else (low, middle)
    assert high - low < 1e-6 and abs(dropped(high)[0] - dropped(low)[0]) > 0.5


@pytest.mark.parametrize("build", [slider, lambda: crate(integrator="bdf1")])
def test_a_smooth_motion_has_no_jumps(build):
    assert build().rollout(12).jumps == []


def test_smooth_rollouts_have_no_jumps():
    for build in (crate, edge, limited):
        assert build().rollout(12, smooth=True).jumps == []


def test_jumps_are_told_once(caplog):
    sim = crate()
    with caplog.at_level(logging.WARNING, "dovetail"):
        tape = sim.rollout(12)
        assert not caplog.records  # recording says nothing
        for _ in range(2):
            tape.backward(np.ones_like(tape.Q))
    assert len(caplog.records) == 1
    text = caplog.records[0].getMessage()
    assert "jumps in step 6" in text and "'crate'" in text and "begins to touch something" in text
