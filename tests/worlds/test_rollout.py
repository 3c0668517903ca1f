"""Rollouts: what worlds do under controls, without a trace of it in them."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail import Sim, Worlds, rollout
from dovetail.errors import SceneError


def pendulum(sim: Sim, rng: np.random.Generator):
    """Two driven links, the first one with a mass of its own."""
    parent = None
    for k in range(2):
        link = sim.box((0.3, 0.05, 0.05), pos=(0.3 * k + 0.15, 0, 1), mass=rng.uniform(0.5, 1.0))
        sim.revolute(parent, link, pos=(0.3 * k, 0, 1), axis=(0, 1, 0), drive=0.0)
        parent = link


@pytest.fixture
def worlds():
    return Worlds(pendulum, 3, contact=False)


CONTROLS = np.linspace(-0.5, 0.5, 3 * 6 * 2).reshape(3, 6, 2)
STATE = np.array([[0.1, 0.2, 0.0, 0.0], [0.0, -0.1, 0.3, 0.0], [0.0, 0.0, 0.0, -0.2]])


def test_a_rollout_is_the_loop_that_it_stands_for_and_leaves_the_worlds_alone(worlds):
    worlds.target = 0.05
    worlds.step(3)
    q, target, frame = worlds.q, worlds.target, worlds.frame
    found = rollout(worlds, STATE, CONTROLS)
    assert np.array_equal(worlds.q, q) and np.array_equal(worlds.target, target)
    assert np.array_equal(worlds.frame, frame)
    again = Worlds(pendulum, 3, contact=False)
    again.reset(q=STATE[:, :2], v=STATE[:, 2:])
    for t in range(6):
        again.target = CONTROLS[:, t]
        again.step()
        assert np.array_equal(found.q[:, t], again.q) and np.array_equal(found.v[:, t], again.v)
        assert np.array_equal(found.effort[:, t], again.effort)
    assert found.steps.tolist() == [6, 6, 6] and not found.failed
    worlds.step()
    other = Worlds(pendulum, 3, contact=False)
    other.target = 0.05
    other.step(4)
    assert np.array_equal(worlds.q, other.q)  # as if there had been no rollout


def test_builds_states_and_efforts_will_do(worlds):
    found = rollout(worlds, STATE, CONTROLS)
    assert np.array_equal(rollout(pendulum, STATE, CONTROLS, contact=False).q, found.q)
    worlds.reset(q=STATE[:, :2], v=STATE[:, 2:])
    assert np.array_equal(rollout(worlds, worlds.state, CONTROLS).q, found.q)
    home = rollout(worlds, controls=CONTROLS[0])
    assert np.array_equal(home.q, rollout(worlds, np.zeros(4), CONTROLS[0], steps=6).q)
    assert rollout(pendulum, steps=2, contact=False).q.shape == (1, 2, 2)
    pushed = rollout(worlds, controls=CONTROLS, control="effort")
    assert not np.array_equal(pushed.q, home.q)


def test_a_world_that_fails_repeats_its_last_state():
    def build(sim, rng):
        rod = sim.box((0.3, 0.05, 0.05), pos=(0.15, 0, 1))
        sim.revolute(None, rod, pos=(0, 0, 1), axis=(0, 1, 0))

    strict = {"newton/max_iter": 8, "extras/strict_mode/enable": 1}
    efforts = np.zeros((2, 4, 1))
    efforts[1, 2] = 1e12
    found = rollout(build, controls=efforts, control="effort", contact=False, config=strict)
    assert found.steps.tolist() == [4, 2] and list(found.failed) == [1]
    assert (found.q[1, 1:] == found.q[1, 1]).all() and len(np.unique(found.q[0])) == 4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda w: rollout(w), "say how many"),
        (lambda w: rollout(w, steps=-1), "steps = -1"),
        (lambda w: rollout(w, STATE[:2], steps=1), r"as an array \(3, 4\)"),
        (lambda w: rollout(w, controls=CONTROLS[:, :, :1]), r"as an array \(3, steps, 2\)"),
        (lambda w: rollout(w, controls=CONTROLS, control="force"), "give one of target"),
        (lambda w: rollout(w, steps=1, dt=0.1), "dt cannot be chosen for worlds that are there"),
        (lambda w: rollout(5, steps=1), "give a Worlds or a function"),
    ],
)
def test_nonsense_is_refused_in_a_paragraph(worlds, call, message):
    with pytest.raises(SceneError, match=message):
        call(worlds)
    assert worlds.frame.tolist() == [0, 0, 0]


def test_targets_need_drives():
    def build(sim, rng):
        sim.revolute(None, sim.box(0.1, pos=(0.1, 0, 1)), pos=(0, 0, 1), axis=(0, 1, 0), name="hinge")

    with pytest.raises(SceneError, match="'hinge' of world 0 has no drive"):
        rollout(build, controls=[[0.1]])


def servo(sim: Sim, rng: np.random.Generator):
    """Two links whose drives have gains of their own, so that their targets may jump."""
    pendulum(sim, rng)
    for joint in sim.joints:
        joint.drive.stiffness, joint.drive.damping, joint.damping = 8.0, 0.4, 0.05


@pytest.mark.parametrize("control, integrator", [("target", "ctr"), ("effort", "bdf1")])
def test_gradients_of_all_worlds_are_those_of_the_program(control, integrator):
    tight = {"newton/velocity_tol": 1e-11, "newton/transrate_tol": 1e-11}
    worlds = Worlds(servo, 3, contact=False, integrator=integrator, config=tight)
    rng, controls = np.random.default_rng(0), 0.5 * CONTROLS[:, :4]  # the last row stays for the steps that follow
    by_q, by_v, way_u = rng.normal(size=(3, 6, 2)), rng.normal(size=(3, 6, 2)), rng.normal(size=(3, 4, 2))
    way_q, way_v = rng.normal(size=(2, 3, 2))
    before = worlds.q

    def run(state=STATE, controls=controls):
        found = rollout(worlds, state, controls, steps=6, control=control, gradients=True)
        return found, (by_q * found.q + by_v * found.v).sum(axis=(1, 2))

    found = run()[0].backward(by_q, by_v, strict=True)
    assert np.array_equal(worlds.q, before) and found.controls.shape == (3, 4, 2)
    ways = {
        "state": (lambda s: {"state": STATE + s * np.hstack([way_q, way_v])}, found.q * way_q + found.v * way_v),
        "controls": (lambda s: {"controls": controls + s * way_u}, (found.controls * way_u).sum(axis=1)),
    }
    for name, (changed, ours) in ways.items():
        wide, narrow = ((run(**changed(h))[1] - run(**changed(-h))[1]) / (2 * h) for h in (1e-2, 5e-3))
        # what Newton's method leaves of ctr, 1e-11 m/s, over steps of 1e-2
        assert ours.sum(axis=1) == pytest.approx((4 * narrow - wide) / 3, rel=1e-6, abs=1e-8), name
    assert found.worlds[1].gravity.shape == (3,)
    with pytest.raises(SceneError, match="nothing was recorded; call rollout with gradients=True"):
        rollout(worlds, STATE, controls).backward(by_q)
    with pytest.raises(SceneError, match=r"dL_dq = .*; give finite numbers as an array \(3, 6, 2\)"):
        run()[0].backward(by_q[0])
