"""What a small step costs, most of which is not in kernels: python benchmarks/small.py

A chain of ten hinges through the engine; an arm of six links, bare and with drives and limits on all joints, contact
off and on; Jansen's walker with four legs on the ground; twenty driven arms. All but the chain through `Sim` with its
defaults. Times are of `advance` alone, without the first steps: the least and the median of 200.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable

import numpy as np
from machines import arm, arms, walker
from scenes import hinge_chain, start

from dovetail import Sim, World


def _of(sim: Sim) -> World:
    sim.step()
    return sim.world


SCENES: dict[str, Callable[[], World]] = {
    "chain of 10": lambda: start(hinge_chain(10), tempfile.mkdtemp()),
    "arm, contact off": lambda: _of(arm(contact=False, driven=False)),
    "arm, contact on": lambda: _of(arm(contact=True, driven=False)),
    "driven arm, contact off": lambda: _of(arm(contact=False, driven=True)),
    "driven arm, contact on": lambda: _of(arm(contact=True, driven=True)),
    "20 driven arms": lambda: _of(arms(20)),
    "walker": lambda: _of(walker()),
}


def measured(world: World, steps: int = 200) -> tuple[float, float, float]:
    """Least and median time of a step [ms], and iterations."""
    for _ in range(8):
        world.advance()
    times, iterations = [], 0
    for _ in range(steps):
        begin = time.perf_counter()
        world.advance()
        times.append(time.perf_counter() - begin)
        assert world.report is not None
        iterations += world.report.iterations
    return 1e3 * min(times), 1e3 * float(np.median(times)), iterations / steps


def main() -> None:
    print(f"{'':24s}  least (ms)  median (ms)  iterations")
    for name, build in SCENES.items():
        least, median, iterations = measured(build())
        print(f"{name:24s} {least:11.4f} {median:12.4f} {iterations:11.2f}", flush=True)


if __name__ == "__main__":
    main()
