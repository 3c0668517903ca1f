"""Operations that a few scenes cost, counted: python benchmarks/counters.py [--renew]

Counts do not depend on how busy or fast a machine is, so a test compares them with `counters.json` and fails where one
grows by more than 5 %. After a change that is meant to cost or save work: look at the printed table, then --renew.

iterations      Newton iterations
energies        evaluations of the incremental potential
sweeps          directions of trees of bodies by the dual sweep
factorisations  of the linear system
products        of 12×12 blocks in these factorisations: cost of the linear algebra
small products  of 3×3 blocks, where nets are solved by the forces in their points
looks           searches for candidates of contact
candidates      pairs of features under watch, summed over steps
contacts        active at the start of a step, summed over steps
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from dovetail import Engine, World
from dovetail.bench.engines.scene import describe
from dovetail.bench.scene import BenchScene
from dovetail.bench.scenes import chain, net, pile, wrecking_ball

BASELINE = Path(__file__).with_name("counters.json")


def turned_pile() -> BenchScene:
    """Cubes that land on corners and edges and tumble."""
    scene = pile(3, 45)
    rng = np.random.default_rng(0)
    turned = scene.transform.copy()
    for T in turned:
        axis = rng.normal(size=3)
        x, y, z = axis / np.linalg.norm(axis)
        S = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        T[:3, :3] = np.eye(3) + np.sin(0.15) * S + (1 - np.cos(0.15)) * S @ S
    return replace(scene, transform=turned)


def rings() -> BenchScene:
    """The chain of the wrecking ball without the wall: rings that hold each other by contact, a joint, a heavy bob."""
    scene = wrecking_ball(20)
    kept = slice(560, None)
    joints = replace(scene.joints, left=scene.joints.left - 560, right=scene.joints.right - 560)
    return replace(
        scene, shape_of=scene.shape_of[kept], transform=scene.transform[kept], fixed=scene.fixed[kept], joints=joints
    )


SCENES: dict[str, tuple[Callable[[], BenchScene], float]] = {
    "chain of 60 hinges": (lambda: chain(60, 40), 100.0),
    "net of 36 plates, exact joints": (lambda: net(6, 25), np.inf),
    "pile of 27 cubes": (lambda: pile(3, 45), 100.0),
    "pile of 27 turned cubes": (turned_pile, 100.0),
    "13 rings and a bob": (rings, 100.0),
}
"""What is built, and the strength of its joints."""


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count what the solver does inside the block."""
    from dovetail.solver.articulated.trees import Sweep
    from dovetail.solver.blocks import Blocks
    from dovetail.solver.phases import DECIDE, ENERGIES, LEFT
    from dovetail.solver.potential import Potential

    counts: Counter[str] = Counter()

    def counted_energies(original):
        def run(self, phases, *arguments):
            original(self, phases, *arguments)
            # a last step, which is decided on in the same call, is not evaluated
            untested = phases & DECIDE and self.numbers[LEFT] == 0.0
            counts["energies"] += bool(phases & ENERGIES) and not untested

        return run

    def add_factor(blocks: Blocks, active: np.ndarray) -> None:
        counts["factorisations"] += 1
        chosen = blocks.order[active[blocks.order] != 0]
        below = np.diff(blocks.row_start)[blocks.position[chosen]]  # blocks beside the diagonal, by row
        # a row of m blocks: one Cholesky, m triangular solves, m(m + 1)/2 updates; an incomplete factor has none
        updates = np.where(blocks.iterative[chosen] != 0, 0, below * (below + 1) // 2)
        counts["products"] += int((1 + below + updates).sum())
        if blocks.net is not None:
            below = np.diff(blocks.net.structure.row_start)
            counts["small products"] += int((below + below * (below + 1) // 2).sum())

    def counted_factor(original):
        def factor(self, active):
            add_factor(self, active)
            return original(self, active)

        return factor

    def counted_solve(original):
        def solve_standard(self, at, exact, active, blocks, y):
            add_factor(blocks, active)
            return original(self, at, exact, active, blocks, y)

        return solve_standard

    def counted_sweep(original):
        def direction(self, *arguments):
            counts["sweeps"] += 1
            return original(self, *arguments)

        return direction

    chosen = [
        (Potential, "run", counted_energies), (Potential, "solve_standard", counted_solve),
        (Blocks, "factor", counted_factor), (Sweep, "direction", counted_sweep),
    ]  # fmt: skip
    kept = [(owner, name, owner.__dict__[name]) for owner, name, _ in chosen]
    for owner, name, wrap in chosen:
        setattr(owner, name, wrap(owner.__dict__[name]))
    try:
        yield counts
    finally:
        for owner, name, original in kept:
            setattr(owner, name, original)


def count(name: str) -> dict[str, int]:
    """Counts of a scene over all of its steps."""
    build, strength_ratio = SCENES[name]
    bench = build()
    scene, _ = describe(bench, strength_ratio)
    with tempfile.TemporaryDirectory() as folder, counted() as counts:
        world = World(Engine("cpu", folder))
        world.init(scene)
        assert world._simulation is not None
        world._simulation.model.quiet.is_possible = False  # the same kernels, each called from Python
        for _ in range(bench.frames):
            world.advance()
            report = world.report
            counts["iterations"] += report.iterations
            counts["looks"] += report.detections
            counts["candidates"] += report.candidates
            counts["contacts"] += report.contacts
    return dict(sorted(counts.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--renew", action="store_true", help="write what is counted now as the baseline")
    given = parser.parse_args()
    old = json.loads(BASELINE.read_text(encoding="utf-8")) if BASELINE.exists() else {}
    new = {}
    for name in SCENES:
        new[name] = count(name)
        print(name)
        for key, value in new[name].items():
            before = old.get(name, {}).get(key)
            change = f"{100 * (value / before - 1):+7.1f} %" if before else ""
            print(f"    {key:16s} {value:10d} {change}")
    if given.renew:
        BASELINE.write_text(json.dumps(new, indent=1) + "\n", encoding="utf-8")
        print(f"wrote {BASELINE.name}")


if __name__ == "__main__":
    main()
