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
