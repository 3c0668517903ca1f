"""The learning curve of docs/learning.md: python docs/scripts/learn.py (needs stable-baselines3 and matplotlib)."""

from __future__ import annotations

import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy

import dovetail.gym  # noqa: F401 - registers the tasks

STEPS = 60_000
IMAGE = Path(__file__).parents[1] / "images" / "learning.png"


def main() -> None:
    envs = make_vec_env("dovetail/Cartpole-v0", n_envs=8, seed=0)
    model = PPO("MlpPolicy", envs, n_steps=128, batch_size=256, n_epochs=10, learning_rate=1e-3, seed=0, device="cpu")
    began, curve = time.perf_counter(), []

    def look(local: dict, _: dict) -> bool:
        if local["self"].num_timesteps % 1024 == 0 and len(model.ep_info_buffer):
            curve.append((model.num_timesteps, np.mean([e["r"] for e in model.ep_info_buffer])))
        return True

    model.learn(STEPS, callback=look)
    seconds = time.perf_counter() - began
    mean, spread = evaluate_policy(model, make_vec_env("dovetail/Cartpole-v0", n_envs=4, seed=100), n_eval_episodes=20)
    print(f"{STEPS:,} steps in {seconds:.0f} s; 20 new episodes: {mean:.0f} ± {spread:.0f} of 500")
    figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
    axes.plot(*np.array(curve).T)
    axes.set(xlabel="steps", ylabel="length of episodes", title="PPO on dovetail/Cartpole-v0")
    figure.savefig(IMAGE, dpi=100)


if __name__ == "__main__":
    main()
