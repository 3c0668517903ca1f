"""One engine with one scene in a process of its own: steps when told to, then says what it has measured.

    python -m dovetail.bench.worker '{"engine": "MuJoCo", "scene": "chain 10", "frames": 100}'

It reads numbers of steps from the standard input, a line each, and answers each with a line of JSON: the processor time
of every step [s]. 0 asks for the measures and ends it.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.bench.engines import Engine, find
from dovetail.bench.measure import energies, joint_gaps
from dovetail.bench.penetration import deepest
from dovetail.bench.scene import BenchScene
from dovetail.bench.scenes import build
from dovetail.typing import Array

__all__ = ["main", "measures", "peak_memory"]

_START = 1e-5  # m, of round-off in single precision; times the size of a scene in metres
_LOOKS = 60  # frames in which overlaps are looked for, evenly spread


def peak_memory() -> float:
    """Most memory that this process has had [bytes]."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return 1024.0 * float(line.split()[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak) * (1.0 if sys.platform == "darwin" else 1024.0)


def measures(scene: BenchScene, poses: Array) -> dict[str, Any]:
    """Everything that is judged of a motion: poses (f, n, 3, 4), the first those at the start."""
    finite = np.isfinite(poses).all(axis=(1, 2, 3))
    whole = len(poses) if finite.all() else max(1, int(np.argmin(finite)))
    seen = poses[:whole]
    with np.errstate(over="ignore", invalid="ignore"):
        energy = energies(scene, seen) if whole > 1 else np.zeros(1)
        start = float(energy[0])
        change = (energy - start) / scene.energy
        gaps = joint_gaps(scene, seen)
    stride = -(-len(seen) // _LOOKS)
    return {
        "finite_frames": whole - 1,
        "frames": len(poses) - 1,
        "joint_gap": float(gaps.max()) if scene.joints is not None else None,
        "energy_change": float(change[-1]),
        "energy_gain": float(change.max()),
        "energy": [round(float(value), 6) for value in change[:: max(1, len(change) // 100)]],
        "penetration": deepest(scene, seen[::stride]),
    }


def _run(engine: Engine, scene: BenchScene, poses: Path, answer: Any) -> None:
    shape = (scene.count, 3, 4)
    with poses.open("wb") as file:
        file.write(np.ascontiguousarray(engine.poses(), float).tobytes())
        for line in sys.stdin:
            steps = int(line)
            if steps == 0:
                break
            times = []
            for _ in range(steps):
                begin = time.process_time()
                engine.step()
                times.append(time.process_time() - begin)
                file.write(np.ascontiguousarray(engine.poses(), float).tobytes())
            answer({"times": times})
    memory = peak_memory()
    found = measures(scene, np.fromfile(poses).reshape(-1, *shape))
    answer({**found, "memory": memory})


def main() -> None:
    """Entry point."""
    wanted = json.loads(sys.argv[1])
    # engines print to the standard output as they like: answers go through a channel of their own
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(value: dict[str, Any]) -> None:
        channel.write(json.dumps(value) + "\n")
        channel.flush()

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # some engines leave logs where they run
        tempfile.tempdir = folder
        scene = build(wanted["scene"], wanted["frames"])
        begin = time.process_time()
        try:
            engine = find(wanted["engine"]).build(scene)
        except Exception as error:
            answer({"failed": f"{type(error).__name__}: {error}"})
            return
        built = time.process_time() - begin
        off = float(np.abs(engine.poses() - scene.transform[:, :3]).max())
        if not off <= _START * max(1.0, float(np.abs(scene.transform).max())):
            answer({"failed": f"bodies do not start where the scene has them: {off:.2g} m off"})
            return
        answer({"built": built})
        _run(engine, scene, Path(folder) / "poses", answer)
        os.chdir("/")


if __name__ == "__main__":
    main()
    os._exit(0)  # some engines take seconds to go
