"""Gradients through blows with restitution, and by it; friction against rolling by its lever."""

from __future__ import annotations

import numpy as np
import pytest
from gradient_check import TIGHT_TAPE, Problem

from dovetail import Sim
from dovetail.errors import GradientError


def thrown(kind, integrator, log_e=0.0, lever=0.0):
    config = {"contact/ease_in": 0, "contact/friction/memory": int(integrator == "ctr"), **TIGHT_TAPE}
    sim = Sim(friction=0.3, integrator=integrator, config=config)
    if kind != "plate":
        sim.ground(restitution=0.7 * np.exp(log_e), rolling_friction=3e-3 * np.exp(lever))
    if kind == "plate":  # which is fixed; the other box on it has contacts of the blow, too
        sim.box((1, 1, 0.1), pos=(0, 0, -0.05), fixed=True, restitution=0.7 * np.exp(log_e))
        sim.box((0.2, 0.15, 0.05), pos=(0, 0, 0.06), velocity=(0.3, 0.1, -1), spin=(0.3, 0.2, 2.0))
        sim.box((0.2, 0.15, 0.05), pos=(0.3, 0.1, 0.028), velocity=(0.2, 0.1, -0.1), spin=(0.1, 0.1, 1.0))
    elif kind == "box":  # on four corners at once, of which three would do
        sim.box((0.2, 0.15, 0.05), pos=(0, 0, 0.06), velocity=(0.3, 0.1, -1), spin=(0.3, 0.2, 2.0))
    else:
        sim.sphere(0.05, pos=(0, 0, 0.08), velocity=(1, 0.2, -1), spin=(-4, 20, 1))
        sim.sphere(
            0.05, pos=(0.01, 0.005, 0.3), velocity=(0, 0, -2.5), spin=(-1, 2, 4), restitution=0.7 * np.exp(log_e)
        )
    return sim.world


# Differences of balls under ctr are noisy below 1e-4 m/s: which points of their contacts roll is asked with 1e-6 rad.
@pytest.mark.parametrize("kind, integrator", [("box", "ctr"), ("plate", "bdf1"), ("balls", "ctr")])
def test_gradients_through_a_blow_are_those_of_the_program(kind, integrator):
    problem = Problem(lambda **changes: thrown(kind, integrator, **changes), 9)
    tape = problem.tape()
    bounces = [jump.step for jump in tape.jumps if jump.reason == "bounces"]
    assert bounces
    found = tape.backward(problem.by_Q, problem.by_V, strict=True)
    rng = np.random.default_rng(1)
    along, by = rng.normal(size=problem.by_Q.shape[1:]), rng.normal(size=(2, *problem.by_Q.shape[1:]))
    along[~np.isfinite(found.V)] = 0.0
    pairs = {
        "V": (float(np.nansum(found.V * along)), problem.slope(1e-4, dV=along)),
        "Q": (float(np.nansum(found.Q * along)), problem.slope(1e-6, dQ=along)),
        "e": (float(found.log_restitution.sum()), problem.slope(1e-4, log_e=1.0)),
    }
    if kind == "balls":
        pairs["lever"] = float(found.log_rolling.sum()), problem.slope(1e-3, lever=1.0)
    wrong = {name: both for name, both in pairs.items() if not abs(both[0] - both[1]) <= 1e-5 * abs(both[1])}
    assert not wrong
    ahead, back = tape.step_jvp(bounces[0], 1e-3 * along, along), tape.step_vjp(bounces[0], *by)
    expected = float(np.nansum(1e-3 * back.Q * along + back.V * along))
    assert sum((b * d).sum() for b, d in zip(by, ahead, strict=True)) == pytest.approx(expected, rel=1e-5)


def test_blows_on_joints_are_refused_by_name():
    sim = Sim(friction=0.3, config={"contact/ease_in": 0})
    sim.ground(restitution=0.5)
    arm = sim.box((0.4, 0.05, 0.05), pos=(0.2, 0, 0.1), spin=(0, 3.0, 0), name="arm")
    sim.revolute(None, arm, pos=(0, 0, 0.1), axis=(0, 1, 0))
    tape = sim.rollout(12)
    assert any(jump.reason == "bounces" for jump in tape.jumps)
    with pytest.raises(GradientError, match=r"restitution on instance 0 of 'arm'.*which joints hold"):
        tape.backward(np.ones_like(tape.Q))
