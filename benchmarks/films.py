"""How fast films are: frames per second of a .mp4 of 1280 × 720 and a .gif of 640 × 360 pixels, files included.

    python benchmarks/films.py            # 30 frames of each
    python benchmarks/films.py 120

The scene is an arm above a stack of crates, a ball and a capsule on the ground. Kernels are compiled before the clock
starts. The time of the processor, which others on the machine do not change, is told beside the clock's; that of a .mp4
has the encoder in it.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from dovetail import Sim
from dovetail.export import export


def scene() -> Sim:
    sim = Sim(dt=0.01)
    sim.ground()
    post = sim.box((0.1, 0.1, 1.0), pos=(0, 0, 0.5), fixed=True)
    arm = sim.box((0.6, 0.06, 0.06), pos=(0.4, 0, 0.9))
    fore = sim.box((0.5, 0.05, 0.05), pos=(0.98, 0, 0.9))
    sim.revolute(post, arm, pos=(0.08, 0, 0.9), axis=(0, 1, 0), limit=(-1.2, 1.2), drive=0.3)
    sim.revolute(arm, fore, pos=(0.71, 0, 0.9), axis=(0, 1, 0))
    for k in range(6):
        sim.box(0.12, pos=(0.7 + 0.02 * (k % 2), 0.4, 0.0615 + 0.1215 * k))
    sim.capsule(0.05, 0.2, pos=(0.2, -0.5, 0.2))
    sim.sphere(0.08, pos=(0.5, -0.4, 0.3))
    return sim


def processor() -> float:
    """Seconds of the processor that this process and its children have had."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def main(frames: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sim = scene()
        for file, steps in (("short.dove", 2), ("long.dove", round((frames - 1) / 30 / 0.01))):
            with sim.record(folder / file):
                sim.step(steps)
        for ending in ("mp4", "gif"):
            export(folder / "short.dove", folder / f"warm.{ending}")
            clock, busy = time.perf_counter(), processor()
            export(folder / "long.dove", folder / f"film.{ending}")
            clock, busy = time.perf_counter() - clock, processor() - busy
            print(f".{ending}: {frames / clock:.2f} frames/s, {1e3 * busy / frames:.0f} ms of the processor per frame")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
