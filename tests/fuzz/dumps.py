"""Spoils a dumped frame again and again, with checksums that are right, and recovers it: python dumps.py 2000 1.

A world goes on from it, or says why not and stays as it was.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from mutations import spoil_bytes
from states import scene, spoilt
from watched import Watched


def main(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sim = scene()
    for _ in range(5):
        sim.step()
    with tempfile.TemporaryDirectory() as folder:
        sim.world.engine._workspace = Path(folder)
        assert sim.world.dump()
        (path,) = (Path(folder) / "dump").glob("state.*.npz")
        content, good, frame = path.read_bytes(), sim.state, sim.frame
        with np.load(path) as found:
            header = json.loads(found["header"].tobytes())
        with Watched(Path(folder)) as watched:
            for k in range(count):
                path.write_bytes(spoil_bytes(content, rng) if k % 5 == 0 else spoilt(content, header, good.arrays, rng))
                had, sim.state = watched.told["taken"], good

                def recover() -> bool:
                    if not sim.world.recover(frame):
                        return False
                    sim.world.advance()
                    sim.world.retrieve()
                    return True

                watched.told["taken"] = had + bool(watched.read(str(k), recover))
            watched.tell()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
