"""Threads inside a step: python benchmarks/cores.py [--scene "pile 8000" …] [--threads 1 2 4] [--plot f.svg]

Worlds that differ in the number of threads alone take turns, frame by frame: what else runs on the machine meets all of
them, and the ratio to one thread is the median over frames. They go through the same states, bit for bit, which is
checked. Told for each scene:

    wall, ratio     median ms a step, `advance` and `retrieve`; time of one thread by time of so many
    processor       ms a step of all threads together, with one thread
    in chunks       share of that which threads can share; the rest is serial
    at most         ratio that this share allows (Amdahl)
    per contact     candidates by contacts, at the last frame
    memory          most that a process with one such world has had [GB]

The field stays below `threads/grain` in most of its work, and shows what threads cost where they do not help.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dovetail import Engine, Scene, World
from dovetail.bench.engines.scene import describe
from dovetail.bench.scene import GRAVITY, BenchScene
from dovetail.bench.scenes import pile, wrecking_ball
from dovetail.bench.shapes import box, ring
from dovetail.kernel import threads as pool
from dovetail.solver.contact import active


def _scattered(name: str, shape: Any, places: np.ndarray, frames: int) -> BenchScene:
    """Bodies of one shape, turned by up to 0.3 rad each."""
    rng, n = np.random.default_rng(0), len(places)
    T = np.tile(np.eye(4), (n, 1, 1))
    half = 0.15 * rng.standard_normal((n, 3)).clip(-1.0, 1.0)
    K = np.zeros((n, 3, 3))
    for x, y, z in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        K[:, z, y], K[:, y, z] = half[:, x], -half[:, x]
    T[:, :3, :3] = np.linalg.solve(np.eye(3) - 0.5 * K, np.eye(3) + 0.5 * K)  # Cayley's rotation
    T[:, :3, 3] = places
    energy = n * shape.mass * GRAVITY * 0.1
    return BenchScene(name, (shape,), np.zeros(n, np.int64), T, np.zeros(n, np.int64), None, True, frames, energy)


def field(frames: int) -> BenchScene:
    """100,000 boxes that fall on the ground, far from each other."""
    k = np.arange(100_000)
    places = np.stack([0.3 * (k % 317), 0.3 * (k // 317), np.full(len(k), 0.12)], 1)
    return _scattered("field", box(0.1, 0.1, 0.1), places, frames)


def rings(frames: int) -> BenchScene:
    """A heap of 600 concave rings of straight bars."""
    k = np.arange(600)
    places = np.stack([0.3 * (k % 6), 0.3 * (k // 6 % 6), 0.2 + 0.27 * (k // 36)], 1)
    return _scattered("rings", ring(0.1, 0.03), places, frames)


SCENES: dict[str, tuple[Callable[[int], BenchScene], int]] = {
    "pile 1000": (lambda frames: pile(10, frames), 15),
    "pile 8000": (lambda frames: pile(20, frames), 15),
    "pile 27000": (lambda frames: pile(30, frames), 15),
    "wrecking ball": (wrecking_ball, 60),
    "field": (field, 3),
    "rings": (rings, 10),
}
"""With the frames before something touches, which are not measured."""


class Shared:
    """Counts the processor time of calls that are cut into several chunks, while a world of one thread runs."""

    def __init__(self) -> None:
        self.seconds, self.on = 0.0, False
        inner, find = pool.map_chunks, active._find

        def found_alone(*arguments: Any) -> int:
            """One thread chooses and writes contacts chunk by chunk in one pass, by calls of its own."""
            begin = time.process_time()
            count = find(*arguments)
            if self.on and arguments[-1][3] == active._CHOOSE | active._WRITE:
                self.seconds += time.process_time() - begin
            return int(count)

        def timed(kernel: Any, spans: Any, *arguments: Any) -> list[Any]:
            begin = time.process_time()
            found = inner(kernel, spans, *arguments)
            if self.on and len(spans) > 1:
                self.seconds += time.process_time() - begin
            return found

        active._find = found_alone
        for module in list(sys.modules.values()):
            if getattr(module, "map_chunks", None) is inner and module is not pool:
                module.map_chunks = timed  # type: ignore[attr-defined]


def start(name: str, frames: int, threads: int) -> World:
    scene: Scene = describe(SCENES[name][0](frames))[0]
    scene.config["threads/count"] = threads
    scene.config["sanity_check/enable"] = 0
    world = World(Engine("none", tempfile.mkdtemp()))
    world.init(scene)
    return world


def measure(name: str, counts: list[int], frames: int, skip: int) -> dict[int, float]:
    """Print a row for each number of threads; medians of ratios."""
    worlds = {count: start(name, frames, count) for count in counts}
    shared, wall, processor = Shared(), {count: [] for count in counts}, 0.0
    for frame in range(skip + frames):
        for count, world in worlds.items():
            shared.on = count == 1 and frame >= skip
            begin, before = time.perf_counter(), time.process_time()
            world.advance()
            world.retrieve()
            if frame >= skip:
                wall[count].append(time.perf_counter() - begin)
                processor += time.process_time() - before if count == 1 else 0.0
    states = [world.state().arrays["state/Q"] for world in worlds.values()]
    assert all(np.array_equal(state, states[0]) for state in states), "threads have changed the result"
    first = worlds[counts[0]]
    touching = max(len(first.contacts().gap), 1)
    part = shared.seconds / processor if processor else 0.0
    ratios = {}
    for count in counts:
        ratios[count] = statistics.median(a / b for a, b in zip(wall[counts[0]], wall[count], strict=True))
        print(
            f"{name:14} {count:8} {1e3 * statistics.median(wall[count]):10.1f} {ratios[count]:7.2f} "
            f"{1e3 * processor / frames:11.1f} {100.0 * part:9.0f}% {1.0 / (1.0 - part + part / count):8.2f} "
            f"{first.report.candidates / touching:12.1f} ({touching} contacts)",
            flush=True,
        )
    return ratios


def memory(name: str, frames: int, skip: int) -> float:
    """GB of a process of its own with one world."""
    code = [sys.executable, __file__, "--scene", name, "--frames", str(frames), "--skip", str(skip), "--alone"]
    return float(subprocess.run(code, capture_output=True, text=True, check=True).stdout.split()[-1])


def alone(name: str, frames: int, skip: int) -> None:
    world = start(name, frames, 0)
    for _ in range(skip + frames):
        world.advance()
        world.retrieve()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)


def plot(path: Path, found: dict[str, dict[int, float]]) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5.0, 3.5))
    for name, ratios in found.items():
        axes.plot(list(ratios), list(ratios.values()), marker="o", label=name)
    most = max(max(ratios) for ratios in found.values())
    axes.plot([1, most], [1, most], color="grey", linestyle=":", label="all of it shared")
    axes.set(xlabel="threads", ylabel="times as fast as with one")
    axes.legend(frameon=False)
    figure.savefig(path, bbox_inches="tight")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scene", nargs="+", choices=list(SCENES), default=["pile 1000", "wrecking ball", "rings"])
    parser.add_argument("--threads", nargs="+", type=int, default=sorted({1, 2, pool.processors()}))
    parser.add_argument("--frames", type=int, default=20)
    parser.add_argument("--skip", type=int, help="frames that are not measured")
    parser.add_argument("--memory", action="store_true", help="also measure memory, in a process of its own")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.alone:
        alone(given.scene[0], given.frames, given.skip)
        return
    print("scene           threads    wall ms   ratio processor ms in chunks  at most  per contact")
    found = {}
    for name in given.scene:
        skip = SCENES[name][1] if given.skip is None else given.skip
        found[name] = measure(name, given.threads, given.frames, skip)
        if given.memory:
            print(f"{name:14} memory {memory(name, given.frames, skip):.2f} GB")
    if given.plot:
        plot(given.plot, found)


if __name__ == "__main__":
    main()
