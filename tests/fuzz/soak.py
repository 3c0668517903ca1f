"""Everything at once, again and again: python soak.py MINUTES [PART]. Nothing grows, crashes or changes its bits.

Every round does the same: bodies are added to a heap and removed from it, worlds are stepped and reset, a robot's
environment is played, a run is recorded and read, a rollout is differentiated, a scene is dumped and resumed. The
digests of its results are those of the first round. Memory is read when a round has ended and garbage is collected;
growth is what the most of the last quarter of the rounds is above that of the one before it. Prints one JSON object.
"""

from __future__ import annotations

import faulthandler
import gc
import hashlib
import json
import logging
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import dovetail.gym  # noqa: F401 - registers environments
from dovetail import Engine, Sim, World, Worlds
from dovetail.io.recording import Recording
from dovetail.sim.body import Body


def _digest(*arrays: Any) -> str:
    return hashlib.md5(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest()


def heap(folder: Path) -> str:
    """Bodies come, go and are pushed."""
    rng, sim, bodies = np.random.default_rng(3), Sim(dt=0.01), list[Body]()
    sim.ground()
    for _ in range(20):
        if len(bodies) < 5 or rng.random() < 0.5:
            top = max((body.pos[2] for body in bodies), default=0.0) + 0.3
            bodies.append(sim.box(0.15, pos=(*rng.uniform(-0.1, 0.1, 2), top), spin=rng.normal(size=3)))
        else:
            sim.remove(bodies.pop(int(rng.integers(len(bodies)))))
        bodies[0].velocity = rng.normal(size=3)
        sim.step(3)
    return _digest(*(body.transform for body in bodies))


def worlds(folder: Path) -> str:
    """Worlds with contact that begin anew one by one, and others that march."""

    def build(sim: Sim, rng: np.random.Generator) -> None:
        sim.ground()
        for k in range(3):
            sim.box(0.1, pos=(*rng.uniform(-0.02, 0.02, 2), 0.1 + 0.2 * k))
        rod = sim.box((0.3, 0.05, 0.05), pos=(0.6, 0, 0.5))
        sim.revolute(None, rod, pos=(0.45, 0, 0.5), axis=(0, 1, 0), motor=1.0)

    many = Worlds(build, 4)
    for k in range(12):
        many.step(8)
        many.reset([k % 4])
    return _digest(many.q, many.v)


def episodes(folder: Path) -> str:
    """An environment whose episodes end."""
    env, rng = gymnasium.make_vec("dovetail/Cartpole-v0", num_envs=4), np.random.default_rng(1)
    seen = [env.reset(seed=7)[0]]
    for _ in range(120):
        seen.append(env.step(rng.uniform(-1, 1, env.action_space.shape).astype(np.float32))[0])
    env.close()
    return _digest(*seen)


def recording(folder: Path) -> str:
    """A run that is recorded and read again."""
    sim, path = Sim(dt=0.01), folder / "run.dove"
    sim.ground()
    sim.box(0.2, pos=(0, 0, 0.5), spin=(1, 2, 3))
    with sim.record(path, overwrite=True):
        sim.step(60)
    with Recording(path) as read:
        return _digest(*(read.transforms(k) for k in range(len(read))))


def gradient(folder: Path) -> str:
    """A rollout in touch that is differentiated."""
    sim = Sim(dt=0.01)
    sim.ground()
    box = sim.box(0.2, pos=(0, 0, 0.1005), velocity=(1, 0, 0))
    tape = sim.rollout(20)
    dL_dQ = np.zeros_like(tape.Q[-1])
    dL_dQ[tape.body(box), 0, 0] = 1.0
    return _digest(tape.Q, tape.backward(dL_dQ).V)


def dumped(folder: Path) -> str:
    """A world that goes back to a frame that was dumped."""
    sim = Sim(dt=0.01)
    sim.ground()
    boxes = [sim.box(0.1, pos=(0.02 * k, 0, 0.1 + 0.15 * k)) for k in range(4)]
    world = World(Engine("cpu", folder))
    world.init(sim.scene)

    def later() -> str:
        for _ in range(15):
            world.advance()
        world.retrieve()
        return _digest(*(box.slot.geometry.transforms.values for box in boxes))

    later()
    world.dump()
    there = later()
    world.recover(15)
    assert later() == there
    return there


PARTS: tuple[Callable[[Path], str], ...] = (heap, worlds, episodes, recording, gradient, dumped)


def resident() -> float:
    """Memory of this process [kB]."""
    return 4.0 * int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])


def main(minutes: float, *names: str) -> None:
    logging.getLogger("dovetail").setLevel(logging.ERROR)
    end, memory, first = time.monotonic() + 60.0 * minutes, list[float](), dict[str, str]()
    chosen = [part for part in PARTS if not names or part.__name__ in names]
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end or len(memory) < 4:
            for part in chosen:
                found = part(Path(folder))
                assert first.setdefault(part.__name__, found) == found, f"{part.__name__} has other bits"
            gc.collect()
            memory.append(resident())
    quarter = len(memory) // 4  # of which each has the most that caches of known calls hold
    growth = (max(memory[-quarter:]) - max(memory[-2 * quarter : -quarter])) / quarter
    print(json.dumps({"rounds": len(memory), "memory [kB]": memory[-1], "growth [kB a round]": round(growth, 3)}))


if __name__ == "__main__":
    faulthandler.enable()
    main(float(sys.argv[1]), *sys.argv[2:])
