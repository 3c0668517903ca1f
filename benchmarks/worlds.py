"""What many worlds cost: python benchmarks/worlds.py [--identity] [--soak [seconds]]

1,000 chains of ten exact links, 256 driven arms of six axes with contact on, 64 quadrupeds that stand on the ground:
the least time of a step, by world, with one thread and with two, once they stand again after a reset. `--identity`
compares worlds with the same ones alone, for n up to 300 and 1 to 4 threads. `--soak` has 10⁵ resets and 10⁶ steps of
worlds, or as many as the seconds allow, and fails where the resident memory grows meanwhile.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dovetail import Sim, Worlds
from dovetail.world.marching import PATIENCE

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


SOAKED = {"chains of 10": 8, "driven arms": 4, "quadrupeds": 1}
"""How many worlds of each kind are soaked."""


def measured(worlds: Worlds, steps: int) -> float:
    """Least time of a step of all worlds, by world [µs], after those that they take until they are put together."""
    worlds.step(PATIENCE + 10)
    worlds.step()
    worlds.reset()
    worlds.step(30)
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
    """Every world of every number of them, on any number of threads, does what it does alone."""
    for name, (build, _, _, options) in SCENES.items():
        for integrator in ("ctr", "bdf1", "bdf2"):
            alone: dict[int, Any] = {}
            for n, threads in [(n, t) for n in (1, 2, 7, 33) for t in (1, 2, 3, 4)] + [(300, 1), (300, 4)]:
                worlds = Worlds(build, n, threads=threads, integrator=integrator, **options)
                worlds.step(10)
                for k in {0, n // 2, n - 1}:
                    if k not in alone:
                        alone[k] = by_itself(build, k, 10, integrator=integrator, **options)
                    assert np.array_equal([worlds.q[k], worlds.v[k]], alone[k]), (name, integrator, n, threads, k)
            print(f"{name}, {integrator}: identical", flush=True)


def by_itself(build: Callable[..., None], number: int, steps: int, **options: Any) -> Any:
    """q and v of a world that is built and run in a `Sim` alone."""
    sim = Sim(**options)
    build(sim, np.random.default_rng(np.random.SeedSequence(0).spawn(number + 1)[number]))
    mechanism = sim.mechanism()
    sim.step(steps)
    return np.array([mechanism.q, mechanism.v])


def resident() -> float:
    """Memory of this process now [MB]."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def soak(seconds: float) -> None:
    """Resident memory over resets, homewards and to coordinates and rates, and steps, of worlds of every kind."""
    groups = [Worlds(SCENES[name][0], count, **SCENES[name][3]) for name, count in SOAKED.items()]
    rng, begin, told, known = np.random.default_rng(0), time.perf_counter(), 0.0, list[float]()
    rounds = resets = steps = 0
    while (resets < 100_000 or steps < 1_000_000) and time.perf_counter() - begin < seconds:
        for worlds in groups:
            shape = len(worlds), len(worlds.names)
            small = 0.02 * rng.uniform(-1, 1, (2, *shape))
            if rounds % 3 == 0:
                worlds.reset()
            else:
                worlds.reset(q=None if worlds is groups[-1] else small[0], v=small[1])  # legs would be in the ground
            worlds.step(10)
            resets, steps = resets + len(worlds), steps + 10 * len(worlds)
        rounds += 1
        if time.perf_counter() - begin >= told:
            told += 10.0
            known.append(resident())
            print(f"{resets:8d} resets {steps:10d} steps of worlds {known[-1]:10.2f} MB", flush=True)
    known.append(resident())
    half = known[len(known) // 2]
    print(f"{resets} resets, {steps} steps of worlds: {known[-1] - half:+.2f} MB in the second half")
    if known[-1] - half > 1.0:
        raise SystemExit("the memory grows")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", type=float, default=1.0, help="of the worlds")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--identity", action="store_true")
    parser.add_argument("--soak", type=float, nargs="?", const=float("inf"), metavar="seconds")
    given = parser.parse_args()
    if given.identity:
        identity()
    elif given.soak is not None:
        soak(given.soak)
    else:
        speeds(given.part, given.steps)


if __name__ == "__main__":
    main()
