"""Spoils a recording again and again and reads all of it: python recordings.py 2000 1.

Half of the files have one flipped bit: everything reads as it was, or an error or a warning says what is lost. The
others are changed in header, shapes or frames and have valid checksums: they are read, or refused by a
`DovetailError`.
"""

from __future__ import annotations

import faulthandler
import hashlib
import json
import logging
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from mutations import NUMBERS, spoil_document

from dovetail import Sim
from dovetail.errors import DovetailError
from dovetail.io import Recording
from dovetail.io.chunks import MAGIC, chunk_bytes, read_chunk, scan


class Warnings(logging.Handler):
    """Keeps what was warned of."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


def record(path: Path) -> None:
    """A short fall onto the ground, with a hinge and a slider."""
    sim = Sim(dt=0.01)
    sim.ground()
    a, b = sim.box(0.2, pos=(0, 0, 0.1005)), sim.box(0.2, pos=(0.5, 0, 0.3))
    c = sim.box(0.1, pos=(1.0, 0, 0.3))
    sim.revolute(a, b, (0.25, 0, 0.3), (0, 1, 0), limit=(-1.0, 1.0))
    sim.prismatic(b, c, (0.8, 0, 0.3), (1, 0, 0), drive=0.1)
    with sim.record(path):
        sim.step(6)


def everything(path: Path) -> str:
    """Digest of all that a recording tells."""
    digest = hashlib.sha256()
    with Recording(path) as recording:
        digest.update(recording.head)
        for body in recording.bodies:
            digest.update(repr((body.name, body.color, body.mass, body.fixed)).encode())
            for array in (body.vertices, body.triangles, body.edges, body.mass_center):
                digest.update(np.ascontiguousarray(array).tobytes())
        digest.update(repr((recording.joints, recording.planes, len(recording))).encode())
        for array in (recording.times, recording.frames, recording.iterations):
            digest.update(array.tobytes())
        for k in range(len(recording)):
            contacts = recording.contacts(k)
            digest.update(recording.transforms(k).tobytes() + contacts.point.tobytes() + contacts.bodies.tobytes())
            digest.update(repr((recording.joint_states(k), recording.energies(k), recording.read(k).frame)).encode())
        for joint in recording.joints:
            digest.update(recording.history(joint.name, joint.columns[0]).tobytes())
    return digest.hexdigest()


def spoilt(parts: list[tuple[bytes, bytes]], rng: np.random.Generator) -> bytes:
    """The chunks with one of them changed, put together with new checksums."""
    parts = list(parts)
    way, at = int(rng.integers(10)), int(rng.integers(len(parts)))
    if way <= 3:
        parts[0] = b"HEAD", json.dumps(spoil_document(json.loads(parts[0][1]), rng)).encode()
    elif way == 4:
        parts.pop(at)
    elif way == 5:
        parts.insert(int(rng.integers(len(parts))), parts[at])
    else:
        tag, payload = parts[at]
        content = bytearray(payload)
        if way == 6:
            content = content[: rng.integers(len(content) + 1)]
        elif way == 7 and len(content) >= 8:
            start = 8 * int(rng.integers(len(content) // 8))
            content[start : start + 8] = np.float64(NUMBERS[rng.integers(len(NUMBERS))]).tobytes()
        elif way == 8 and len(content) >= 8:
            start = 8 * int(rng.integers(min(len(content) // 8, 5)))  # the counts at the beginning
            content[start : start + 8] = np.int64(rng.choice([-1, 0, 1, 7, 2**31, 2**62, -(2**63)])).tobytes()
        else:
            content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
        parts[at] = tag, bytes(content)
    return MAGIC + b"".join(chunk_bytes(tag, payload) for tag, payload in parts)


def main(count: int, seed: int) -> None:
    faulthandler.enable()
    warnings = Warnings()
    logging.getLogger("dovetail").addHandler(warnings)
    rng = np.random.default_rng(seed)
    told = {"files": 0, "taken": 0, "slowest": 0.0, "warned": 0}
    with tempfile.TemporaryDirectory() as folder:
        good, path = Path(folder) / "good.dove", Path(folder) / "bad.dove"
        record(good)
        honest, content = everything(good), good.read_bytes()
        with good.open("rb") as stream:
            parts = [(chunk.tag, read_chunk(stream, chunk)) for chunk in scan(stream, len(MAGIC)).chunks]
        warnings.said.clear()
        for k in range(2 * count):
            is_flip = k % 2 == 0
            if is_flip:
                flipped = bytearray(content)
                # every part of the file in turn, so that none is left out
                place = (k * len(content)) // (2 * count)
                flipped[place] ^= 1 << int(rng.integers(8))
                path.write_bytes(flipped)
            else:
                path.write_bytes(spoilt(parts, rng))
            begin = time.perf_counter()
            try:
                found = everything(path)
            except DovetailError as error:
                assert len(str(error)) < 1000, (k, str(error))
            except Exception as error:
                raise AssertionError(f"file {k}: {type(error).__name__}: {error}") from error
            else:
                told["taken"] += not is_flip
                assert not is_flip or found == honest or warnings.said, f"file {k}: byte {place} in silence"
            told["warned"] += bool(warnings.said)
            warnings.said.clear()
            told["slowest"] = max(told["slowest"], time.perf_counter() - begin)
            told["files"] += not is_flip
    print(json.dumps(told))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
