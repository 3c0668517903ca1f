"""What second-order time costs: python benchmarks/integrators.py

Falling chains of hinges from horizontal, dt = 0.01 s, default tolerances, one thread, `advance` only. Processor time of
bdf2 and ctr in units of bdf1, from runs that alternate.
"""

from __future__ import annotations

import tempfile
import time

import numpy as np
from scenes import hinge_chain, start

from dovetail.solver.integrator import INTEGRATORS

_ROUNDS = 5


def cost(links: int, method: str, workspace: str, frames: int) -> tuple[float, float]:
    """Processor time [ms] and Newton iterations of a step."""
    scene = hinge_chain(links)
    scene.config["integrator/type"] = method
    world = start(scene, workspace)
    world.advance()
    iterations, begin = 0, time.process_time()
    for _ in range(frames):
        world.advance()
        iterations += world.report.iterations
    return 1e3 * (time.process_time() - begin) / frames, iterations / frames


def main() -> None:
    print(" links   method   ms/step   iterations   times bdf1")
    with tempfile.TemporaryDirectory() as workspace:
        for links, frames in ((10, 100), (100, 100), (1000, 60)):
            runs = [{m: cost(links, m, workspace, frames) for m in INTEGRATORS} for _ in range(_ROUNDS)]
            for method in INTEGRATORS:
                ratio = np.median([run[method][0] / run["bdf1"][0] for run in runs])
                print(
                    f"{links:6d} {method:>8} {np.median([run[method][0] for run in runs]):9.3f} "
                    f"{runs[0][method][1]:12.2f} {ratio:12.2f}"
                )


if __name__ == "__main__":
    main()
