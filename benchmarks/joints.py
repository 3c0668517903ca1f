"""Chains of hinges: python benchmarks/joints.py

Falling chains from horizontal, dt = 0.01 s, 100 steps, default tolerances, one thread, `advance` and `retrieve`
included.
"""

from __future__ import annotations

import tempfile
import time

import numpy as np
from scenes import hinge_chain, start


def chain(links: int, workspace: str, frames: int = 100) -> dict[str, float]:
    scene = hinge_chain(links)
    world = start(scene, workspace)
    slot, _ = next(scene.objects.find("hinges")[0].geometries.pairs())
    edges = slot.geometry.edges
    times, iterations, restarts, gap = [], 0, 0, 0.0
    for _ in range(frames):
        begin = time.perf_counter()
        world.advance()
        world.retrieve()
        times.append(time.perf_counter() - begin)
        iterations += world.report.iterations
        restarts += world.report.restarts
        gap = max(gap, float(edges["gap"].max()))
    steady = np.array(times[1:]) * 1e3
    return {
        "mean": steady.mean(),
        "median": float(np.median(steady)),
        "iterations": iterations / frames,
        "restarts": restarts,
        "gap": gap,
    }


def main() -> None:
    print(" links   ms/step mean   median   µs/link   iterations   restarts   largest gap (m)")
    with tempfile.TemporaryDirectory() as workspace:
        for links, frames in ((10, 100), (100, 100), (1000, 100), (10000, 30)):
            r = min((chain(links, workspace, frames) for _ in range(3)), key=lambda r: r["mean"])
            print(
                f"{links:6d} {r['mean']:14.3f} {r['median']:8.3f} {1e3 * r['mean'] / links:9.2f} "
                f"{r['iterations']:12.2f} {r['restarts']:10d} {r['gap']:17.1e}"
            )


if __name__ == "__main__":
    main()
