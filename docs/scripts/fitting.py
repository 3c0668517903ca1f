"""Runs the worked examples of docs/fitting.md and draws their picture: python docs/scripts/fitting.py (needs matplotlib)."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from dovetail import identify, optimise

REPOSITORY = Path(__file__).parents[2]
sys.path.insert(0, str(REPOSITORY / "examples" / "gradients"))

import design_a_four_bar as bar  # noqa: E402
import identify_pendulum as pendulum  # noqa: E402
import strike_a_puck as puck  # noqa: E402
import swing_up  # noqa: E402


def main() -> None:
    figure, axes = plt.subplots(2, 2, figsize=(9, 6.5), layout="constrained")
    seen = pendulum.film()
    found = identify(
        pendulum.build, pendulum.GUESS, seen, pendulum.marks, steps=pendulum.STEPS, names=pendulum.NAMES,
        bounds=[(0.1, 5), (0, 1), (0, 1)],
    )  # fmt: skip
    print(f"double pendulum: {found}")
    for k, name in ((0, "first rod"), (2, "second rod")):
        axes[0, 0].plot(seen[:, k], seen[:, k + 1], ".", label=f"film, {name}")
        axes[0, 0].plot(found.fitted[:, k], found.fitted[:, k + 1], "k-", lw=0.8)
    axes[0, 0].set(title=f"identified in {found.rollouts} rollouts", aspect="equal")
    axes[0, 0].legend()

    function, start, loss, number = puck.problem()
    best = optimise(function, start, loss, rollouts=puck.ROLLOUTS, goal=puck.GOAL)
    for values, style, name in ((start, ":", "first torques"), (best.values, "-", "found")):
        way = function(*values)[0][:, number, 0]
        axes[0, 1].plot(way[:, 0], way[:, 1], style, label=name)
    axes[0, 1].plot(*puck.MARK, "r+", ms=12)
    off = np.linalg.norm(way[-1, :2] - puck.MARK)
    print(f"puck: {1e3 * off:.1f} mm from its mark after {best.rollouts} rollouts")
    axes[0, 1].set(title=f"way of the puck, {best.rollouts} rollouts", aspect="equal")
    axes[0, 1].legend()

    function, loss, distances = bar.problem()
    best = optimise(function, [bar.GUESS], loss, bounds=[bar.BOUNDS], rollouts=bar.ROLLOUTS, goal=bar.GOAL)
    (p,) = best.values
    coupler = function(p)[2].body("coupler")
    for q, style, name in ((bar.WANTED, "-", "wanted"), (bar.GUESS, ":", "first guess"), (p, "k--", "found")):
        curve = bar.drawn(function(q)[0][:, coupler], q)
        axes[1, 0].plot(curve[:, 0], curve[:, 2], style, label=name)
    print(f"four-bar: curves {1e3 * distances(function(p)[0], p).max():.3f} mm apart after {best.rollouts} rollouts")
    axes[1, 0].set(title=f"coupler curves, {best.rollouts} rollouts", aspect="equal")
    axes[1, 0].legend()

    planner = swing_up.Planner()
    cost = planner.plan(60)
    times = swing_up.DT * np.arange(swing_up.STEPS + 1)
    axes[1, 1].plot(times, planner.x[:, 1], label="angle [rad]")
    axes[1, 1].plot(times, planner.x[:, 0], label="cart [m]")
    axes[1, 1].plot(times[:-1], planner.u / 10, label="force [10 N]")
    off = planner.x[-1] - swing_up.GOAL
    print(f"swing-up: {planner.rollouts} rollouts, cost {cost:.2f}, at the end {off.round(4)} off")
    axes[1, 1].set(title=f"swing-up, {planner.rollouts} rollouts", xlabel="s")
    axes[1, 1].legend()
    figure.savefig(REPOSITORY / "docs" / "images" / "fitting.png", dpi=90)


if __name__ == "__main__":
    main()
