"""Tasks: gymnasium accepts them, seeds reproduce them bit for bit, and each can be done."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from policies import POLICIES

import dovetail.gym
from dovetail.errors import SceneError
from dovetail.gym import TASKS, Task, TaskEnv, TaskVectorEnv


@pytest.mark.parametrize("name", sorted(TASKS))
def test_gymnasium_accepts_a_task(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(f"dovetail/{name}-v0", render_mode="rgb_array", width=64, height=48)
        check_env(env.unwrapped)
    assert env.unwrapped.render().shape == (48, 64, 3)


@pytest.mark.parametrize("name", sorted(TASKS))
def test_one_alone_and_many_do_the_same_bit_for_bit(name):
    many = gymnasium.make_vec(f"dovetail/{name}-v0", num_envs=3)
    alone = gymnasium.make(f"dovetail/{name}-v0").unwrapped
    assert isinstance(many, TaskVectorEnv)
    actions = np.random.default_rng(1).uniform(-1, 1, (4, 3, many.task.actions))
    for _ in range(2):  # whatever was before
        seen, _ = many.reset(seed=5)
        first, _ = alone.reset(seed=7)
        np.testing.assert_array_equal(seen[2], first)
        for action in actions:
            seen, rewards, ended, cut, _ = many.step(action)
            one, reward, end, stop, _ = alone.step(action[2])
            np.testing.assert_array_equal(seen[2], one)
            assert (rewards[2], ended[2], cut[2]) == (reward, end, stop)


@pytest.mark.parametrize("name", sorted(TASKS))
def test_it_can_be_done(name):
    kind, policy = POLICIES[name]
    env = TaskEnv(kind)
    seen, _ = env.reset(seed=2)
    total = 0.0
    for k in range(env.task.horizon):
        seen, reward, end, stop, info = env.step(policy(seen[None], k)[0])
        total += reward
        if end or stop or (info["success"] and name != "Cartpole"):
            break
    assert info["success"]
    assert name != "Cartpole" or total == env.task.horizon


def test_an_episode_that_ends_begins_again_in_the_same_step():
    envs = TaskVectorEnv(POLICIES["Cartpole"][0], 2)
    envs.reset(seed=0)
    for _ in range(100):
        seen, _, ended, cut, infos = envs.step(np.array([[1.0], [0.0]]))
        if ended[0]:
            break
    assert ended[0] and not cut.any()
    assert np.abs(seen[0]).max() <= 0.05  # a start
    assert abs(infos["final_obs"][0][1]) > 0.21 and infos["_final_obs"][0]
    assert infos["final_info"]["success"].tolist() == [False, False]


class Pendulum(Task):
    actions, observations, horizon, options = 1, 2, 5, {"contact": False}

    def build(self, sim, rng):
        rod = sim.box((0.5, 0.05, 0.05), pos=(0.25, 0, 0))
        return sim.mechanism(sim.revolute(None, rod, pos=(0, 0, 0), axis=(0, 1, 0)))

    def act(self, worlds, actions):
        worlds.effort = actions

    def observe(self, worlds):
        return np.hstack([worlds.q, worlds.v])

    def judge(self, worlds, actions):
        return -worlds.q[:, 0], np.zeros(len(worlds), bool)


def test_a_task_of_ones_own_is_cut_off_at_its_horizon():
    env = TaskEnv(Pendulum())
    env.reset(seed=0)
    assert [env.step(np.zeros(1))[3] for _ in range(5)] == [False] * 4 + [True]


def test_mistakes_are_told():
    class Wrong(Pendulum):
        observations = 3

    with pytest.raises(SceneError, match=r"Wrong.observe: an array \(1, 2\); give one row of 3"):
        TaskEnv(Wrong).reset()
    with pytest.raises(SceneError, match=r"give a subclass of dovetail\.gym\.Task"):
        TaskEnv(dovetail.gym)
