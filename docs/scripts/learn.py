"""The learning curve of docs/learning.md: python docs/scripts/learn.py (needs stable-baselines3 and matplotlib).

PPO learns a task from nothing, on one thread; the curve goes to docs/images/learning.png, the figures into the page.
Equal versions of all packages give equal curves.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy

import dovetail.gym  # noqa: F401 - registers the tasks

TASK, STEPS = "Cartpole", 50_000
SETTINGS: dict[str, Any] = {"n_steps": 128, "batch_size": 256, "n_epochs": 10, "learning_rate": 1e-3, "gamma": 0.98}
ENVS, EPISODES = 8, 20
DOCS = Path(__file__).parents[1]
PAGE, IMAGE = DOCS / "learning.md", DOCS / "images" / "learning.png"
BEGIN, END = "<!-- learned: begin; written by docs/scripts/learn.py -->", "<!-- learned: end -->"


def made(count: int, seed: int) -> Any:
    return make_vec_env(f"dovetail/{TASK}-v0", n_envs=count, seed=seed)


def judged(model: Any) -> tuple[float, float, float]:
    """Mean, least and most of the returns of new episodes, played without noise."""
    returns, _ = evaluate_policy(model, made(4, 1000), n_eval_episodes=EPISODES, return_episode_rewards=True)
    return float(np.mean(returns)), min(returns), max(returns)


def learned() -> tuple[list[tuple[int, float]], str]:
    """(step, return) of all episodes that ended while it learned, and what there is to say."""
    torch.set_num_threads(1)
    model = PPO("MlpPolicy", made(ENVS, 0), seed=0, device="cpu", **SETTINGS)
    before = judged(model)
    ended: list[tuple[int, float]] = []

    def look(local: dict[str, Any], _: dict[str, Any]) -> bool:
        ended.extend((model.num_timesteps, info["episode"]["r"]) for info in local["infos"] if "episode" in info)
        return True

    wall, used = time.perf_counter(), time.process_time()
    model.learn(STEPS, callback=look)
    wall, used = time.perf_counter() - wall, time.process_time() - used
    after, load = judged(model), os.getloadavg()[1]
    busy = f", on a machine with {os.cpu_count()} processors and a load of {load:.0f}" if load > 1.5 else ""
    return ended, (
        f"{STEPS:,} actions of {ENVS} environments took {used:.0f} s of one processor ({wall:.0f} s in all{busy}),\n"
        f"learning included. In {EPISODES} new episodes the policy earned {before[0]:.0f} of 500 before and "
        f"{after[0]:.0f} after, from {after[1]:.0f} to {after[2]:.0f}."
    )


def draw(ended: list[tuple[int, float]]) -> None:
    steps, returns = np.array(ended).T
    figure = Figure(figsize=(6, 2.8), layout="constrained")
    axes = figure.subplots()
    axes.plot(steps, returns, ".", color="#b3541e", markersize=2.5, alpha=0.35, label="episodes")
    count = 20
    mean = np.convolve(returns, np.full(count, 1.0 / count), "valid")
    axes.plot(steps[count - 1 :], mean, color="#1d3557", label=f"mean of {count}")
    axes.set(xlabel="actions", ylabel="return", title=f"PPO on dovetail/{TASK}-v0")
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(IMAGE, dpi=110)


def main() -> None:
    ended, text = learned()
    draw(ended)
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    assert after, f"{PAGE.name} lacks the markers {BEGIN} and {END}"
    picture = f"![Returns of episodes while PPO learns {TASK}](images/{IMAGE.name})"
    PAGE.write_text(f"{before}{BEGIN}\n\n{picture}\n\n{text}\n\n{END}{after}", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
