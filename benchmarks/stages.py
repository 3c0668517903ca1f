"""Writes docs/benchmarks/profile.md: where the time of every benchmark scene goes, stage by stage.

    python benchmarks/stages.py [--quick] [--scene NAME]

The stages of a step are timed from outside, each without what it calls of the others. Processor time, one thread.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dovetail import Engine, World
from dovetail.bench.comparison import SIZES
from dovetail.bench.engines.scene import describe
from dovetail.bench.scenes import build
from dovetail.files import atomic_write

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks" / "profile.md"


FIRST = {
    "chain 10": 0.208, "chain 100": 0.415, "chain 1000": 2.96, "chain 1000, exact": 4.69, "net 100": 1.28,
    "net 100, exact": 2.89, "pile 3³": 1.17, "pile 5³": 4.54, "wrecking ball": 137.0,
}  # fmt: skip
"""Milliseconds a step when this table was first measured, by the quick run on a busy machine: what to beat."""


def stages() -> dict[str, list[tuple[type, str]]]:
    """What is timed under which name: methods of the solver."""
    from dovetail.solver.articulated.trees import Sweep
    from dovetail.solver.blocks import Blocks
    from dovetail.solver.contact.contact import Contact
    from dovetail.solver.contact.watch import Watch
    from dovetail.solver.directions import Directions
    from dovetail.solver.iteration import Iteration
    from dovetail.solver.joint.exact import ExactJoints
    from dovetail.solver.potential import Potential
    from dovetail.world.joints import Joints
    from dovetail.world.simulation import Simulation

    return {
        "steps and energies of bodies and joints": [(Potential, "run"), (Potential, "add_others")],
        "assembly of bodies and joints": [(Potential, "assemble")],
        "assembly, factor and solve in one": [(Potential, "solve_standard")],
        "energies of contacts": [(Contact, "at"), (Contact, "begin"), (Contact, "add_friction_energy")],
        "assembly of contacts": [(Contact, "assemble")],
        "layout of blocks": [(Directions, "lay_out")],
        "sweep over trees": [(Sweep, "direction")],
        "factor": [(Blocks, "factor")],
        "solve": [(Blocks, "solve")],
        "multipliers": [(ExactJoints, "direction")],
        "search for contacts": [(Watch, "update_candidates")],
        "islands": [(Iteration, "number")],
        "free path": [(Contact, "free_share")],
        "read-back": [(Simulation, "retrieve"), (Joints, "commit")],
        "parameters": [(Joints, "refresh")],
        "Newton, the rest": [(Simulation, "advance")],
    }


class Clock:
    """Time by stage; what a stage calls of another is the other's."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self._open: list[float] = []  # time of inner stages, by depth

    def wrap(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **named: Any) -> Any:
            self._open.append(0.0)
            begin = time.process_time()
            try:
                return function(*arguments, **named)
            finally:
                whole = time.process_time() - begin
                inner = self._open.pop()
                self.spent[stage] = self.spent.get(stage, 0.0) + whole - inner
                if self._open:
                    self._open[-1] += whole

        return timed


@contextmanager
def profiled() -> Iterator[Clock]:
    """Time the stages of everything that runs inside the block."""
    clock, kept = Clock(), []
    for stage, methods in stages().items():
        for owner, name in methods:
            kept.append((owner, name, owner.__dict__[name]))
            setattr(owner, name, clock.wrap(stage, owner.__dict__[name]))
    try:
        yield clock
    finally:
        for owner, name, function in kept:
            setattr(owner, name, function)


LIMITS = {"full": 20.0, "quick": 3.0}
"""Seconds of processor time for a scene; steps that are not done by then are left out, and the page says so."""


def profile(
    name: str, frames: int, strength_ratio: float = 100.0, limit: float = 20.0
) -> tuple[dict[str, float], dict[str, float]]:
    """Milliseconds a step by stage, and counts a step."""
    scene, _ = describe(build(name, frames), strength_ratio)
    with tempfile.TemporaryDirectory() as folder, profiled() as clock:
        world = World(Engine("cpu", folder))
        world.init(scene)
        world.advance()
        world.retrieve()
        clock.spent.clear()
        begin = time.process_time()
        steps = iterations = looks = contacts = 0
        while steps < frames - 1 and time.process_time() - begin < limit:
            steps += 1
            world.advance()
            world.retrieve()
            report = world.report
            iterations, looks = iterations + report.iterations, looks + report.detections
            contacts += report.contacts
        whole = time.process_time() - begin
    spent = {stage: 1e3 * seconds / steps for stage, seconds in clock.spent.items()}
    spent["everything else"] = 1e3 * whole / steps - sum(spent.values())
    if steps < frames - 1:
        print(f"    stopped after {steps} of {frames - 1} steps, {limit:g} s were over", flush=True)
    counts = {"steps": steps, "ms": 1e3 * whole / steps, "iterations": iterations / steps, "looks": looks / steps}
    return spent, {**counts, "contacts": contacts / steps}


def render(found: dict[str, tuple[dict[str, float], dict[str, float]]], quick: bool) -> str:
    """The page as Markdown."""
    names = list(found)
    stage_names = [s for s in (*stages(), "everything else") if any(s in spent for spent, _ in found.values())]
    lines = [
        "# Where the time goes",
        "",
        "<!-- Written by python benchmarks/stages.py; do not edit. -->",
        "",
        "Shares of a step of the [benchmark scenes](index.md), stage by stage, without the inner stages of each. The "
        "clock itself costs some µs a call, which shows in the smallest scenes. *First measured*: in "
        "the first table of this kind, on a busy machine." + (" A **quick** run." if quick else ""),
        "",
        "| | " + " | ".join(names) + " |",
        "|---" + "|---:" * len(names) + "|",
        "| steps | " + " | ".join(f"{found[n][1]['steps']:.0f}" for n in names) + " |",
        "| ms per step | " + " | ".join(f"{found[n][1]['ms']:.3g}" for n in names) + " |",
        "| the same, first measured | " + " | ".join(f"{FIRST[n]:.3g}" if n in FIRST else "–" for n in names) + " |",
        "| Newton iterations | " + " | ".join(f"{found[n][1]['iterations']:.1f}" for n in names) + " |",
        "| searches for contacts | " + " | ".join(f"{found[n][1]['looks']:.2f}" for n in names) + " |",
        "| contacts | " + " | ".join(f"{found[n][1]['contacts']:.0f}" for n in names) + " |",
    ]
    for stage in stage_names:
        shares = [100 * found[n][0].get(stage, 0.0) / found[n][1]["ms"] for n in names]
        lines.append(f"| {stage} | " + " | ".join(f"{share:.0f} %" if share >= 0.5 else "" for share in shares) + " |")
    lines += ["", "## The largest savings in sight", ""]
    ranked = sorted(savings(found), key=lambda saving: -saving[0])[:3]
    lines += [f"{k}. **{stage}**: {text}" for k, (_, stage, text) in enumerate(ranked, 1)]
    return "\n".join(lines) + "\n"


def savings(found: dict[str, tuple[dict[str, float], dict[str, float]]]) -> Iterator[tuple[float, str, str]]:
    """Stages by the largest part of a step that they take in a scene of some size."""
    for stage in stages():
        shares = {
            name: spent.get(stage, 0.0) / counts["ms"] for name, (spent, counts) in found.items() if counts["ms"] > 1
        }
        if shares:
            worst = max(shares, key=lambda name: shares[name])
            mean = sum(shares.values()) / len(shares)
            gain = 1.0 / (1.0 - 0.5 * shares[worst])
            yield (
                mean,
                stage,
                f"{100 * mean:.0f} % of a step on average over scenes above 1 ms, {100 * shares[worst]:.0f} % in "
                f"*{worst}*; at half the cost that scene would be {gain:.2f} times as fast.",
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the scenes of a quick benchmark")
    parser.add_argument(
        "--scene", action="append", default=[], help="only scenes whose name contains this; prints only"
    )
    given = parser.parse_args()
    mode = "quick" if given.quick else "full"
    sizes, limit = SIZES[mode], LIMITS[mode]
    found = {}
    profile("chain 2", 3)
    profile("pile 2³", 40)
    for name, frames in sizes.items():
        if given.scene and not any(part in name for part in given.scene):
            continue
        print(f"{name} …", flush=True)
        found[name] = profile(name, frames, limit=limit)
        if name in ("chain 1000", "net 100"):
            found[f"{name}, exact"] = profile(name, frames, float("inf"), limit)
    page = render(found, given.quick)
    if given.scene:
        print(page)
    else:
        PAGE.parent.mkdir(exist_ok=True)
        atomic_write(PAGE, page)
        print(f"wrote {PAGE.name}")


if __name__ == "__main__":
    main()
