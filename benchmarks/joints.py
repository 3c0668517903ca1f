"""Chains of hinges: python benchmarks/joints.py

Falling chains from horizontal, dt = 0.01 s, 100 steps, default tolerances, one thread, `advance` and `retrieve`
included; with γ = 100, and with exact joints. Their energies are looked at: the largest rise from step to step.
"""

from __future__ import annotations

import math
import tempfile
import time
from operator import itemgetter

import numpy as np
from scenes import hinge_chain, start


def chain(links: int, gamma: float, workspace: str, frames: int = 100, dt: float = 0.01) -> dict[str, float]:
    scene = hinge_chain(links, gamma)
    scene.config["dt"] = dt
    world = start(scene, workspace)
    slot, _ = next(scene.objects.find("hinges")[0].geometries.pairs())
    edges = slot.geometry.edges
    times, energies, iterations, restarts, gap = [], [], 0, 0, 0.0
    for _ in range(frames):
        begin = time.perf_counter()
        world.advance()
        world.retrieve()
        times.append(time.perf_counter() - begin)
        iterations += world.report.iterations
        restarts += world.report.restarts
        gap = max(gap, float(edges["gap"].max()))
        energies.append(sum(world.energies().values()))
    steady = np.array(times[1:]) * 1e3
    return {
        "mean": steady.mean(),
        "median": float(np.median(steady)),
        "iterations": iterations / frames,
        "restarts": restarts,
        "gap": gap,
        "rise": float(np.diff(energies).max()),
    }


def row(links: int, gamma: float, r: dict[str, float]) -> None:
    print(
        f"{links:6d} {gamma:5g} {r['mean']:14.3f} {r['median']:8.3f} {1e3 * r['mean'] / links:9.2f} "
        f"{r['iterations']:12.2f} {r['restarts']:10d} {r['gap']:17.1e} {r['rise']:12.1e}"
    )


def main() -> None:
    print(" links     γ   ms/step mean   median   µs/link   iterations   restarts   largest gap (m)     rise (J)")
    with tempfile.TemporaryDirectory() as workspace:
        for links, frames in ((10, 100), (100, 100), (1000, 100), (10000, 30)):
            for gamma in (100.0, math.inf):
                row(
                    links,
                    gamma,
                    min((chain(links, gamma, workspace, frames) for _ in range(3)), key=itemgetter("mean")),
                )
        print("a long run of 1,500 steps at dt = 1/24 s")
        row(1000, math.inf, chain(1000, math.inf, workspace, 1500, 1 / 24))


if __name__ == "__main__":
    main()
