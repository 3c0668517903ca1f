"""Prints Newton iterations a step, and the gap a stack of cubes rests on, for several ranges d̂ of contact.

python docs/scripts/range_cost.py
"""

from __future__ import annotations

from dovetail import Sim

__all__ = ["fall"]


def fall(d_hat: float, frames: int = 100, cubes: int = 5) -> tuple[float, int, float]:
    """Mean and largest Newton iterations a step, and the smallest gap at rest [m], of cubes that fall on each other."""
    sim = Sim(dt=0.01, integrator="bdf1", d_hat=d_hat)
    sim.ground()
    for k in range(cubes):
        sim.box(0.1, pos=(0.005 * k, 0, 0.07 + 0.12 * k))
    iterations = []
    for _ in sim.run(frames):
        assert sim.world.report is not None
        iterations.append(sim.world.report.iterations)
    return sum(iterations) / frames, max(iterations), float(sim.contacts.gap.min())


if __name__ == "__main__":
    for d_hat in (1e-2, 1e-3, 1e-4, 1e-5):
        mean, most, gap = fall(d_hat)
        print(f"d_hat = {d_hat:.0e} m: {mean:.1f} iterations a step, at most {most}, smallest gap at rest {gap:.1e} m")
