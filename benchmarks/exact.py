"""Exact joints in trees: python benchmarks/exact.py [--million] [--long]

Hinge chains from horizontal and binary trees of balls, all joints exact, dt = 0.01 s, default tolerances, 50 steps
after the first one, compiled before, one thread; the best of three runs. Everything in `World.advance` counts:
prediction, guess, Newton with its safeguard, commit, joint angles. Times are of the process; gap is the largest opening
of a joint at the end.

    µs         per link and step
    bytes      per link, what the process has grown by
    rise       largest rise of the energy from step to step, relative to the energy that gravity has set free

--million runs a chain of 1,000,000 links once (M-ABD reports 904 ms a step for a pulley system of that size), --long
1,000 links over 1,500 steps for dt up to 1/24 s.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scenes import ball_tree, hinge_chain, start

from dovetail import Scene

HEADER = "scene               links       µs   iterations   restarts    gap (m)    bytes       rise"


def resident() -> float:
    """Bytes of memory that the process uses now."""
    return float(Path("/proc/self/statm").read_text().split()[1]) * 4096.0


def compile_all(workspace: str) -> None:
    """Have all kernels loaded: a first load takes as long as a hundred steps of a small scene."""
    for scene in (hinge_chain(100, math.inf), ball_tree(7)):
        world = start(scene, workspace)
        for _ in range(60):
            world.advance()
        world.energies()
        world.retrieve()


def run(
    name: str, links: int, build: Callable[[], Scene], workspace: str, frames: int = 50, dt: float = 0.01, runs: int = 1
) -> None:
    rows = [_row(name, links, build(), workspace, frames, dt) for _ in range(runs)]
    best = min(rows)
    print(best[1], f"{max(row[2] for row in rows) / links:8.0f}", best[3], flush=True)


def _row(name: str, links: int, scene: Scene, workspace: str, frames: int, dt: float) -> tuple[float, str, float, str]:
    """What a step takes [s], and the line of the table, with the memory [bytes] in its middle."""
    before = resident()
    scene.config["dt"] = dt
    world = start(scene, workspace)
    world.advance()
    energies = [sum(world.energies().values())]
    spent, iterations, restarts = 0.0, 0, 0
    for _ in range(frames):
        begin = time.process_time()
        world.advance()
        spent += time.process_time() - begin
        iterations += world.report.iterations
        restarts += world.report.restarts
        energies.append(sum(world.energies().values()))
    grown = resident() - before
    world.retrieve()
    joints = list(scene.geometries)[-1][0].geometry
    gap = max(float(part["gap"].max()) for part in (joints.edges, joints.vertices) if "gap" in part)
    total = np.array(energies)
    figures = f"{1e6 * spent / frames / links:8.3f} {iterations / frames:12.2f} {restarts:10d} {gap:10.1e}"
    rise = np.diff(total).max() / max(np.abs(total).max(), 1e-300)
    return spent / frames, f"{name:14s} {links:10d} {figures}", grown, f"{rise:10.1e}"


def main() -> None:
    exact = math.inf
    with tempfile.TemporaryDirectory() as workspace:
        compile_all(workspace)
        print(HEADER)
        if "--million" in sys.argv:
            run("chain", 10**6, lambda: hinge_chain(10**6, exact), workspace, frames=5)
            return
        if "--long" in sys.argv:
            for dt in (0.001, 0.01, 1 / 24):
                run(f"chain dt {dt:.3f}", 1000, lambda: hinge_chain(1000, exact), workspace, 1500, dt)
            return
        for links in (1000, 10000, 100000):
            run("chain", links, lambda links=links: hinge_chain(links, exact), workspace, runs=3)
        for depth in (10, 13, 16):
            run("tree of balls", 2**depth - 1, lambda depth=depth: ball_tree(depth), workspace, runs=3)


if __name__ == "__main__":
    main()
