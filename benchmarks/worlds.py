"""What many worlds cost: python benchmarks/worlds.py [--identity] [--memory]

1,000 chains of ten exact links, 256 driven arms of six axes with contact on, 64 quadrupeds that stand on the ground:
the least time of a step, by world, with one thread and with two. `--identity` compares worlds with the same ones alone,
for n up to 300 and 1 to 4 threads; `--memory` has 10⁵ resets and 10⁶ steps of worlds.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail import Sim, Worlds

Y, Z = (0, 1, 0), (0, 0, 1)


def chain(sim: Sim, rng: np.random.Generator) -> None:
    parent = None
    for k in range(10):
        link = sim.box((0.1, 0.02, 0.02), pos=(0.1 * k + 0.05, 0, 1), mass=rng.uniform(0.05, 0.1))
        sim.revolute(parent, link, pos=(0.1 * k, 0, 1), axis=Y)
        parent = link


def arm(sim: Sim, rng: np.random.Generator) -> None:
    parent = None
    for k in range(6):
        link = sim.box((0.3, 0.05, 0.05), pos=(0.3 * k + 0.15, 0, 1), mass=rng.uniform(0.5, 1.0))
        sim.revolute(parent, link, pos=(0.3 * k, 0, 1), axis=Z if k % 2 else Y, limit=(-3.0, 3.0), drive=0.0)
        parent = link


def quadruped(sim: Sim, rng: np.random.Generator) -> None:
    """A trunk on four legs of two links, on firm drives."""
    sim.ground()
    trunk = sim.box((0.5, 0.2, 0.1), pos=(0, 0, 0.45), mass=rng.uniform(5.0, 8.0))
    for x in (-0.2, 0.2):
        for y in (-0.14, 0.14):
            thigh = sim.box((0.05, 0.05, 0.2), pos=(x, y, 0.321), mass=0.5)
            shank = sim.box((0.04, 0.04, 0.2), pos=(x, y, 0.111), mass=0.3)
            sim.revolute(trunk, thigh, pos=(x, y, 0.42), axis=Y, drive=0.0)
            sim.revolute(thigh, shank, pos=(x, y, 0.216), axis=Y, drive=0.0)


SCENES: dict[str, tuple[Callable[..., None], int, float, dict[str, Any]]] = {
    "chains of 10": (chain, 1000, 10.0, {"contact": False}),
    "driven arms": (arm, 256, 25.0, {}),
    "quadrupeds": (quadruped, 64, 250.0, {}),
}
"""Build, number of worlds, and what a world and step should cost at most with one thread [µs]."""


def measured(worlds: Worlds, steps: int) -> float:
    """Least time of a step of all worlds, by world [µs]."""
    worlds.step(10)
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        worlds.step()
        times.append(time.perf_counter() - begin)
    return 1e6 * min(times) / len(worlds)


def speeds(part: float, steps: int) -> None:
    print(f"{'':16s} {'worlds':>8s} {'one thread (µs)':>16s} {'two (µs)':>10s} {'aim (µs)':>10s}")
    for name, (build, n, aim, options) in SCENES.items():
        count = max(1, int(part * n))
        one, two = (measured(Worlds(build, count, threads=t, **options), steps) for t in (1, 2))
        print(f"{name:16s} {count:8d} {one:16.1f} {two:10.1f} {aim:10.0f}", flush=True)


def identity() -> None:
    """Every world of every number of them does what it does alone."""
    for name, (build, _, _, options) in SCENES.items():
        for integrator in ("ctr", "bdf1", "bdf2"):
            alone = {}
            for n, threads in ((1, 1), (2, 2), (7, 3), (33, 4), (300, 4)):
                worlds = Worlds(build, n, threads=threads, integrator=integrator, **options)
                worlds.step(30)
                for k in {0, n // 2, n - 1}:
                    found = worlds.q[k], worlds.v[k]
                    known = alone.setdefault(k, found)
                    assert all(np.array_equal(a, b) for a, b in zip(found, known, strict=True)), (name, n, k)
            print(f"{name}, {integrator}: identical", flush=True)


def memory() -> None:
    """Resident memory over resets and steps [MB]."""
    worlds = Worlds(arm, 10, **SCENES["driven arms"][3])
    for part in range(11):
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{10_000 * part:8d} resets {100_000 * part:10d} steps of worlds {used:10.1f} MB", flush=True)
        for _ in range(1000 if part < 10 else 0):
            worlds.reset()
            worlds.step(10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", type=float, default=1.0, help="of the worlds")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--identity", action="store_true")
    parser.add_argument("--memory", action="store_true")
    given = parser.parse_args()
    if given.identity or given.memory:
        if given.identity:
            identity()
        if given.memory:
            memory()
        return
    speeds(given.part, given.steps)


if __name__ == "__main__":
    main()
