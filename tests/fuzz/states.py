"""Spoils the file of a state again and again, with checksums that are right, and loads it: python states.py 2000 1.

Every file is either refused by a `DovetailError` or leads to a state from which a world can take a step, or say
why it cannot. The scene has contact, half-planes, joints with limits and drives, exact and not.
"""

from __future__ import annotations

import faulthandler
import io
import json
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np
from mutations import VALUES, spoil_array

from dovetail import Logger, Sim
from dovetail.core import WorldState
from dovetail.errors import DovetailError


def scene() -> Sim:
    """A heap that rests on the ground, and a driven arm."""
    sim = Sim(dt=0.01, config={"newton/max_iter": 40})  # a spoilt state may need all of them
    sim.ground()
    for k in range(3):
        sim.box(0.2, pos=(0.05 * k, 0, 0.102 + 0.202 * k))
    post = sim.box(0.1, pos=(2, 0, 2), fixed=True)
    arm = sim.box((0.4, 0.05, 0.05), pos=(2.3, 0, 2))
    tip = sim.box((0.3, 0.05, 0.05), pos=(2.7, 0, 2))
    sim.revolute(post, arm, (2.1, 0, 2), (0, 1, 0), limit=(-1.0, 1.0), drive=0.3)
    sim.revolute(arm, tip, (2.5, 0, 2), (0, 1, 0), exact=False, damping=0.1, friction=0.1)
    return sim


def packed(header: object, arrays: dict[str, np.ndarray], compress: bool = False) -> bytes:
    content = io.BytesIO()
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    (np.savez_compressed if compress else np.savez)(content, **arrays, header=text)
    return content.getvalue()


def spoilt(content: bytes, header: dict[str, object], arrays: dict[str, np.ndarray], rng: np.random.Generator) -> bytes:
    """The file with this content, header and arrays, wrong in one of many ways."""
    header, arrays = dict(header), dict(arrays)
    names = sorted(arrays)
    way = int(rng.integers(20))
    if way == 0:
        header[sorted(header)[rng.integers(len(header))]] = VALUES[rng.integers(len(VALUES))]
    elif way == 1:
        arrays.pop(names[rng.integers(len(names))])
    elif way == 2:
        one, two = rng.choice(names, 2, replace=False)
        arrays[one], arrays[two] = arrays[two], arrays[one]
    elif way == 3:
        arrays["more" * int(rng.integers(1, 100))] = np.zeros(3)
    elif way == 4:
        return packed(header, arrays, compress=True)
    elif way == 5:
        return npy_spoilt(content, rng)
    else:
        # half of the time one of the lists of contact, which hold indices
        chosen = [name for name in names if name.startswith("contact/")] if rng.random() < 0.5 else names
        for name in rng.choice(chosen, int(rng.integers(1, 3)), replace=False):
            arrays[name] = spoil_array(arrays[name], rng)
    return packed(header, arrays)


def npy_spoilt(content: bytes, rng: np.random.Generator) -> bytes:
    """Bytes at the beginning of one array changed: its shape, its type; the checksum is that of the new bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        chosen = int(rng.integers(len(old.infolist())))
        for k, part in enumerate(old.infolist()):
            data = bytearray(old.read(part))
            if k == chosen:
                for _ in range(int(rng.integers(1, 4))):
                    data[rng.integers(min(len(data), 128))] = int(rng.choice(list(b"0123456789(),'<>|fOV\x00")))
            new.writestr(part.filename, bytes(data))
    return out.getvalue()


def main(count: int, seed: int) -> None:
    faulthandler.enable()
    Logger.set_level(Logger.Critical)
    rng = np.random.default_rng(seed)
    sim = scene()
    for _ in range(5):
        sim.step()
    taken, slowest = 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.npz"
        sim.save(path)
        content, good = path.read_bytes(), sim.state
        with np.load(path) as found:
            header = json.loads(found["header"].tobytes())
        for k in range(count):
            path.write_bytes(spoilt(content, header, good.arrays, rng))
            begin, touched = time.perf_counter(), False
            try:
                sim.world.restore(WorldState.load(path))
                taken, touched = taken + 1, True
                sim.world.advance()
                sim.world.retrieve()
            except DovetailError as error:
                assert len(str(error)) < 1000, (k, str(error))
            except Exception as error:
                raise AssertionError(f"file {k}: {type(error).__name__}: {error}") from error
            slowest = max(slowest, time.perf_counter() - begin)
            if touched:
                sim.world.restore(good)
    print(json.dumps({"files": count, "taken": taken, "slowest": slowest}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
