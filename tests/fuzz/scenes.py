"""Spoils a scene file again and again, with checksums that are right, and loads it: python scenes.py 2000 1 [1].

Every file is refused by a `DovetailError`, or leads to a scene that a world takes or refuses in the same way. One
file in four is .bson, the others are .json.
"""

from __future__ import annotations

import faulthandler
import json
import sys
import tempfile
import time
import warnings
import zlib
from pathlib import Path

import numpy as np
from mutations import spoil_document, spoil_number

from dovetail import Engine, Logger, Sim, World
from dovetail.errors import DovetailError
from dovetail.io import SceneIO
from dovetail.io.bson import to_bson


def document(with_joint: bool) -> str:
    """A box above the ground, alone or hanging on another one by a driven hinge."""
    sim = Sim(dt=0.01, config={"newton/max_iter": 40})
    sim.ground()
    a = sim.box(0.2, pos=(0, 0, 0.101))
    if with_joint:
        b = sim.box(0.2, pos=(0.5, 0, 0.3), fixed=True)
        sim.revolute(a, b, (0.25, 0, 0.3), (0, 1, 0), limit=(-1.0, 1.0), drive=0.1, exact=False)
    sim.step()
    return json.dumps(SceneIO(sim.scene).to_json())


def write(path: Path, spoilt: object) -> None:
    """Write it with the checksum of what it is now."""
    if isinstance(spoilt, dict) and isinstance(spoilt.get("__meta__"), dict):
        data = json.dumps(spoilt.get("__data__"), separators=(",", ":"))
        spoilt["__meta__"]["crc32"] = zlib.crc32(data.encode())
    if path.suffix == ".bson":
        path.write_bytes(to_bson(spoilt if isinstance(spoilt, dict) else {"x": spoilt}))
    else:
        path.write_text(json.dumps(spoilt), encoding="utf-8")


def main(count: int, seed: int, every: int) -> None:
    """Of the scenes that can be loaded, each `every`-th is run; that takes longer than all the rest."""
    faulthandler.enable()
    warnings.simplefilter("ignore")  # what a number of 1e300 makes of a mesh is told by the errors
    Logger.set_level(Logger.Critical)
    rng = np.random.default_rng(seed)
    told = {"files": count, "taken": 0, "started": 0, "slowest": 0.0}
    honest = [document(False), document(True)]
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"scene.{ending}" for ending in ("json", "bson")]
        for k in range(count):
            path = paths[k % 4 == 0]
            spoilt = json.loads(honest[k % 5 == 0])
            if rng.random() < 0.3:
                spoilt = spoil_document(spoilt, rng)
            else:
                slots = spoilt["__data__"]["geometry_atlas"]["attributes"]
                values = slots[rng.integers(len(slots))]["attribute"]["values"]
                if values:
                    spoil_number(values, rng)
            try:
                write(path, spoilt)
            except ValueError:
                continue  # no BSON has such a number
            begin = time.perf_counter()
            try:
                scene = SceneIO.load(path)
                told["taken"] += 1
                if told["taken"] % every:
                    continue
                world = World(Engine("cpu", folder))
                world.init(scene)
                if world.is_valid():
                    told["started"] += 1
                    world.advance()
                    world.retrieve()
            except DovetailError as error:
                assert len(str(error)) < 2000, (k, str(error))
            except Exception as error:
                raise AssertionError(f"file {k}: {type(error).__name__}: {error}") from error
            told["slowest"] = max(told["slowest"], time.perf_counter() - begin)
    print(json.dumps(told))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 8)
