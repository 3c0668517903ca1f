"""Start-up and free bodies: python benchmarks/core.py

Prints the time to import, the first step with an empty and with a filled kernel cache, and the time per step of free
spinning bodies at tolerances that take two Newton iterations. Minima of several runs: other programs can only add.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scenes import spinning, start

FIRST_STEP = """
import sys, time
begin = time.perf_counter()
sys.path.insert(0, {here!r})
from scenes import spinning, start
world = start(spinning(10), {workspace!r})
world.advance()
world.retrieve()
print(time.perf_counter() - begin)
"""


def child(code: str, **environment: str) -> float:
    """Seconds that a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def free_bodies(count: int, workspace: str) -> tuple[float, float]:
    """Best milliseconds per step (advance and retrieve), and Newton iterations per step."""
    scene = spinning(count)
    scene.config["newton/velocity_tol"] = 1e-5
    scene.config["newton/transrate_tol"] = 1e-4
    world = start(scene, workspace)
    times, iterations = [], []
    for _ in range(60):
        begin = time.perf_counter()
        world.advance()
        world.retrieve()
        times.append(time.perf_counter() - begin)
        iterations.append(world.report.iterations)
    return 1e3 * min(times), float(np.mean(iterations))


def main() -> None:
    with tempfile.TemporaryDirectory() as workspace:
        code = "import time; t = time.perf_counter(); import dovetail; print(time.perf_counter() - t)"
        print(f"import dovetail             {min(child(code) for _ in range(5)):7.3f} s")
        first = FIRST_STEP.format(here=str(Path(__file__).parent), workspace=workspace)
        cache = str(Path(workspace) / "cache")
        print(f"first step, empty cache     {child(first, DOVETAIL_CACHE_DIR=cache):7.3f} s")
        warm = min(child(first, DOVETAIL_CACHE_DIR=cache) for _ in range(3))
        print(f"first step, filled cache    {warm:7.3f} s")
        for count in (10, 100, 1000):
            ms, iterations = free_bodies(count, workspace)
            print(f"{count:5d} free bodies           {ms:7.3f} ms per step, {iterations:.2f} Newton iterations")


if __name__ == "__main__":
    main()
