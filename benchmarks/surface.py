"""What `Sim` costs beside the engine it runs: python benchmarks/surface.py

A falling chain of 1,000 exact hinges, ctr, dt = 0.01 s, without contact: in one joint geometry stepped by
`World.advance`, and made one by one through `Sim`, without and with a look at every angle. Steps are interleaved, and
the least of each counts. Then what reading a handle costs, and the time to build 10,000 jointed bodies, with that of
`World.init` beside it.

Bars: 1.5 and 2 times the engine, 5 s to build. Run it alone on a quiet machine.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable

import numpy as np
from scenes import hinge_chain, start

from dovetail import Sim

LINKS, BODIES, STEPS = 1000, 10_000, 200


def chain(links: int) -> Sim:
    """Links 0.1 × 0.02 × 0.02 m hinged end to end about y, from horizontal, the first on the world."""
    sim = Sim(dt=0.01, contact=False)
    parent = None
    for k in range(links):
        link = sim.box((0.1, 0.02, 0.02), pos=(0.1 * k + 0.05, 0, 0))
        sim.revolute(parent, link, pos=(0.1 * k, 0, 0), axis=(0, 1, 0))
        parent = link
    return sim


def least(ways: dict[str, Callable[[], None]], rounds: int) -> dict[str, float]:
    """The shortest time [s] of each, taken in turns."""
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, run in ways.items():
            begin = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - begin)
    return best


def stepping(workspace: str) -> dict[str, float]:
    """Seconds a step."""
    scene = hinge_chain(LINKS, np.inf)
    scene.config["integrator/type"] = "ctr"
    engine, plain, watched = start(scene, workspace), chain(LINKS), chain(LINKS)
    joints = watched.joints

    def watch() -> None:
        watched.step()
        for joint in joints:
            joint.angle  # noqa: B018

    return least({"engine": engine.advance, "Sim": plain.step, "Sim, all angles read": watch}, STEPS)


def reading() -> dict[str, float]:
    """Seconds a look at a handle of a chain that stands still."""
    sim = chain(LINKS)
    sim.step()
    looks: dict[str, Callable[[], object]] = {
        "joint.angle": lambda: [joint.angle for joint in sim.joints],
        "joint.velocity": lambda: [joint.velocity for joint in sim.joints],
        "joint.gap": lambda: [joint.gap for joint in sim.joints],
        "body.pos": lambda: [body.pos for body in sim.bodies],
        "body.velocity": lambda: [body.velocity for body in sim.bodies],
    }
    return {name: seconds / LINKS for name, seconds in least(looks, 20).items()}


def main() -> None:
    with tempfile.TemporaryDirectory() as workspace:
        steps = stepping(workspace)
    for name, seconds in steps.items():
        print(f"{name:22s} {1e3 * seconds:7.3f} ms/step   {seconds / steps['engine']:5.2f} times the engine")
    for name, seconds in reading().items():
        print(f"{name:22s} {1e9 * seconds:7.0f} ns")
    begin = time.perf_counter()
    sim = chain(BODIES)
    built = time.perf_counter()
    sim.world  # noqa: B018
    print(f"{BODIES:,} jointed bodies are built in {built - begin:.1f} s; their world is made in", end=" ")
    print(f"{time.perf_counter() - built:.1f} s")


if __name__ == "__main__":
    main()
