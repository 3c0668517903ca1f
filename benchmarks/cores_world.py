"""One world of benchmarks/cores.py in a process of its own: python benchmarks/cores_world.py scene threads frames GB

For a line "step 10" it takes so many, and tells of each of them in one line; "end" tells of the whole run. Of dovetail
it uses only what older checkouts have as well, so that these can be compared: PYTHONPATH says which one runs.
"""

from __future__ import annotations

import hashlib
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail import Engine, World
from dovetail.bench.scene import GRAVITY, BenchScene
from dovetail.bench.scenes import pile, wrecking_ball
from dovetail.bench.shapes import box, ring

try:
    from dovetail.bench.engines.scene import describe
except ImportError:  # where it was before
    from dovetail.bench.engines.own import describe  # type: ignore[import-not-found, no-redef]


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


def _field(frames: int) -> BenchScene:
    """100,000 boxes that fall on the ground, far from each other."""
    k = np.arange(100_000)
    places = np.stack([0.3 * (k % 317), 0.3 * (k // 317), np.full(len(k), 0.12)], 1)
    return _scattered("field", box(0.1, 0.1, 0.1), places, frames)


def _rings(frames: int) -> BenchScene:
    """A heap of 600 concave rings of straight bars."""
    k = np.arange(600)
    places = np.stack([0.3 * (k % 6), 0.3 * (k // 6 % 6), 0.2 + 0.27 * (k // 36)], 1)
    return _scattered("rings", ring(0.1, 0.03), places, frames)


SCENES: dict[str, tuple[Callable[[int], BenchScene], int, int]] = {
    "pile 125": (lambda frames: pile(5, frames), 10, 60),
    "pile 1000": (lambda frames: pile(10, frames), 15, 40),
    "pile 8000": (lambda frames: pile(20, frames), 15, 20),
    "pile 27000": (lambda frames: pile(30, frames), 15, 8),
    "wrecking ball": (wrecking_ball, 0, 200),
    "field": (_field, 3, 10),
    "rings": (_rings, 10, 20),
}
"""With the frames before something touches, which are not measured, and how many are."""


class Shared:
    """Time of calls that are cut into chunks; none where a checkout has no such calls."""

    def __init__(self) -> None:
        self.seconds = 0.0
        try:
            from dovetail.kernel import threads
            from dovetail.solver.linear import conjugate
        except ImportError:
            return
        for module, name in ((threads, "drive"), (threads, "drive_phases"), (conjugate, "_iterate")):
            if hasattr(module, name):
                setattr(module, name, self._timed(getattr(module, name)))

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            begin = time.perf_counter()  # that of processors takes the longer to tell the more threads there are
            found = function(*arguments)
            self.seconds += time.perf_counter() - begin
            return found

        return timed


def main() -> None:
    name, threads, frames = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    np.ones(int(1e9 / 8 * float(sys.argv[4])))  # freed at once; the process keeps it where it was told to
    scene = describe(SCENES[name][0](frames))[0]
    scene.config["sanity_check/enable"] = 0
    if threads:
        scene.config["threads/count"] = threads
    world = World(Engine("none", tempfile.mkdtemp()))
    world.init(scene)
    shared = Shared()
    out = sys.stdout
    sys.stdout = sys.stderr  # what else is printed is no answer
    print("{}", file=out, flush=True)
    for line in sys.stdin:
        if line.strip() == "end":
            break
        frames = list[dict[str, float]]()
        for _ in range(int(line.split()[1])):
            shared.seconds = 0.0
            begin, before = time.perf_counter(), time.process_time()
            world.advance()
            world.retrieve()
            told = {"wall": time.perf_counter() - begin, "processor": time.process_time() - before}
            frames.append({**told, "shared": shared.seconds})
        print(json.dumps({"frames": frames}), file=out, flush=True)
    if world.report is None:
        return  # whoever asked for steps is gone
    Q = np.ascontiguousarray(world.state().arrays["state/Q"])
    touching = max(len(world.contacts().gap), 1)
    told = {
        "digest": hashlib.sha256(Q.tobytes()).hexdigest(), "bodies": len(Q), "contacts": touching,
        "per contact": world.report.candidates / touching,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }  # fmt: skip
    print(json.dumps(told), file=out, flush=True)


if __name__ == "__main__":
    main()
