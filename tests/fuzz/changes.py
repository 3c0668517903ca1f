"""Bodies come, go, and are pushed between steps, at random, in a heap that rubs: python changes.py 40 1.

A run for each integrator, with one thread and with two that share whatever work there is. After each change some steps
are taken, and exact arithmetic tells whether anything intersects (tests/intersection.py).
"""

from __future__ import annotations

import faulthandler
import json
import logging
import sys
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import trimesh

sys.path.insert(0, str(Path(__file__).parents[1]))

from intersection import assert_apart

from dovetail import Sim
from dovetail.errors import SceneError
from dovetail.sim.body import Body

MOST = 10  # bodies
FINE = 5.0  # [µs] of work that two threads share


class Heap:
    """A heap of bodies that come and go, and what was done to it."""

    def __init__(self, integrator: str, threads: int, rng: np.random.Generator) -> None:
        config = {"threads/grain": FINE} if threads > 1 else {}
        self.rng, self.bodies = rng, list[Body]()
        self.sim = Sim(dt=0.01, integrator=integrator, threads=threads, friction=rng.uniform(0.0, 1.0), config=config)
        self.sim.ground()
        self.sim.box((0.05, 1.2, 0.4), pos=(0.5, 0, 0.21), rot=(1, 0, 0.2, 0), fixed=True)
        self.steps = self.refused = self.touching = 0

    def add(self) -> None:
        """A body above the others, thrown or hung on another one; not a round one, whose mesh is but a picture."""
        rng, sim, height = self.rng, self.sim, 0.3 + 0.1 * len(self.bodies)
        options = {
            "pos": (*rng.uniform(-0.1, 0.1, 2), height),
            "velocity": rng.uniform(-1, 1, 3) * [1, 1, 2] * (rng.random() < 0.5),
            "spin": rng.uniform(-5, 5, 3),
            "friction": rng.choice([0.0, 0.3, 1.5]),
            "mass": 10.0 ** rng.uniform(-1, 1),
        }
        shape, size = rng.integers(3), rng.uniform(0.06, 0.2, 3)
        if shape == 0:
            body = sim.box(tuple(size), **options)
        elif shape == 1:
            body = sim.cylinder(0.4 * size[0], size[1], detail=0, **options)
        else:
            body = sim.mesh(trimesh.creation.icosphere(1, 0.5 * size[0]), **options)
        self.bodies.append(body)
        if len(self.bodies) > 1 and rng.random() < 0.2:
            sim.revolute(self.bodies[-2], body, pos=body.pos, axis=rng.normal(size=3))

    def change(self) -> None:
        """Do something to it."""
        kind = self.rng.random()
        if len(self.bodies) < MOST // 2 or (kind < 0.5 and len(self.bodies) < MOST):
            self.add()
        elif kind < 0.75:
            self.sim.remove(self.bodies.pop(self.rng.integers(len(self.bodies))))
        elif kind < 0.9:
            self.rng.choice(self.bodies).velocity = self.rng.uniform(-2, 2, 3)  # type: ignore[arg-type]
        else:
            self.rng.choice(self.bodies).force = self.rng.uniform(-20, 20, 3)  # type: ignore[arg-type]

    def go_on(self) -> None:
        """Take some steps; what was put into another body is taken out again."""
        try:
            self.sim.step()
        except SceneError:
            self.refused += 1
            self.sim.remove(self.bodies.pop())
        steps = int(self.rng.integers(1, 12))
        self.sim.step(steps)
        self.steps += steps + 1
        self.touching += len(self.sim.contacts) > 0
        self.sim.sync()
        joined = [(joint.left, joint.right) for joint in self.sim.joints]  # which may intersect
        assert_apart(self.sim.scene, [frozenset(f"{body.name}[0]" for body in pair if body) for pair in joined])


def main(changes: int, seed: int) -> None:
    warnings.simplefilter("ignore")
    logging.getLogger("dovetail").setLevel(logging.ERROR)
    told = {"changes": 0, "steps": 0, "refused": 0, "touching": 0}
    for number, (integrator, threads) in enumerate(product(("ctr", "bdf1", "bdf2"), (1, 2))):
        heap = Heap(integrator, threads, np.random.default_rng([seed, number]))
        for _ in range(changes):
            heap.change()
            heap.go_on()
            told["changes"] += 1
        for name in ("steps", "refused", "touching"):
            told[name] += getattr(heap, name)
    print(json.dumps(told))


if __name__ == "__main__":
    faulthandler.enable()
    main(int(sys.argv[1]), int(sys.argv[2]))
