"""What second-order time costs: python benchmarks/integrators.py

Falling chains of hinges from horizontal, as penalties (γ = 100) and exact, dt = 0.01 s, default tolerances, one thread,
`advance` only. Processor time of bdf2 and ctr in units of bdf1, the best of nine runs that alternate.
"""

from __future__ import annotations

import tempfile
import time
from itertools import product

import numpy as np
from scenes import hinge_chain, start

from dovetail.solver.integrator import INTEGRATORS

_ROUNDS = 9


def cost(links: int, strength: float, method: str, workspace: str, frames: int) -> tuple[float, float]:
    """Processor time [ms] and Newton iterations of a step."""
    scene = hinge_chain(links, strength)
    scene.config["integrator/type"] = method
    world = start(scene, workspace)
    world.advance()
    iterations, begin = 0, time.process_time()
    for _ in range(frames):
        world.advance()
        iterations += world.report.iterations
    return 1e3 * (time.process_time() - begin) / frames, iterations / frames


def main() -> None:
    print(" links   joints   method   ms/step   iterations   times bdf1")
    with tempfile.TemporaryDirectory() as workspace:
        for (links, frames), strength in product(((10, 100), (100, 100), (1000, 60)), (100.0, np.inf)):
            runs = [{m: cost(links, strength, m, workspace, frames) for m in INTEGRATORS} for _ in range(_ROUNDS)]
            for method in INTEGRATORS:
                best, plain = (min(run[m][0] for run in runs) for m in (method, "bdf1"))
                print(
                    f"{links:6d} {'exact' if strength == np.inf else 'penalty':>8} {method:>8} "
                    f"{best:9.3f} {runs[0][method][1]:12.2f} {best / plain:12.2f}"
                )


if __name__ == "__main__":
    main()
