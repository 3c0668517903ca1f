"""The recorder: appends what a world does, frame by frame, to one file."""

from __future__ import annotations

import json
import os
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from dovetail.checked import checked
from dovetail.errors import DovetailError, RecordingError
from dovetail.files import atomic_write
from dovetail.geometry import SimplicialComplex
from dovetail.io.chunks import MAGIC, append_chunk, chunk_bytes
from dovetail.io.describe import Described, describe
from dovetail.io.recorded import RecordedContacts, RecordedFrame, pack_shape
from dovetail.io.recording import Recording
from dovetail.typing import Array
from dovetail.world.features import AffineBodyStateAccessorFeature
from dovetail.world.world import World

__all__ = ["Recorder", "each"]


def each(every: int, who: str = "Recorder", error: type[DovetailError] = RecordingError) -> int:
    """Of how many frames one is kept, if that is possible."""
    if every < 1:
        raise error(f"{who}: every = {every}; give 1 to keep each frame, 2 for each second one, ….")
    return int(every)


class Recorder:
    """Writes a recording of a world, which must have been initialised.

        with Recorder("pendulum.dove", world) as recorder:
            recorder.write()                    # the start
            for _ in range(100):
                world.advance()
                recorder.write()

    Every frame is in the file when `write` returns: a process that is killed afterwards does not lose it. `every`
    thins out: of the frames that `write` is called for, only each `every`-th is kept. A file that exists already is
    refused, unless `overwrite` replaces it or `append` continues it, which needs the same bodies and joints.
    """

    @checked(RecordingError)
    def __init__(
        self,
        path: str | PathLike[str],
        world: World,
        *,
        every: int = 1,
        append: bool = False,
        overwrite: bool = False,
    ) -> None:
        self.path = Path(path)
        self._world = world
        self._every = each(every)
        self._described: Described = describe(world)
        self._states = _states(world)
        self._calls = 0
        self.last_frame: int | None = None
        """The world's frame that was written last."""
        head = json.dumps(self._described.document, ensure_ascii=False, separators=(",", ":")).encode()
        end = self._resume(head) if append and self.path.exists() else self._begin(head, overwrite)
        self._stream = self.path.open("r+b", buffering=0)
        self._stream.truncate(end)
        self._stream.seek(end)

    def _begin(self, head: bytes, overwrite: bool) -> int:
        """Write the file with no frames; its length."""
        if self.path.exists() and not overwrite:
            raise RecordingError(
                f"Recorder: '{self.path}' exists already; choose another name, or pass overwrite=True to replace it "
                "or append=True to continue it."
            )
        parts = [chunk_bytes(b"HEAD", head), *(chunk_bytes(b"MESH", pack_shape(s)) for s in self._described.shapes)]
        content = b"".join([MAGIC, *parts])
        try:
            atomic_write(self.path, content)
        except OSError as error:
            raise RecordingError(f"Recorder: cannot write '{self.path}': {error.strerror or error}.") from error
        return len(content)

    def _resume(self, head: bytes) -> int:
        """Check that the file is a recording of an equal scene; where its last whole frame ends."""
        with Recording(self.path) as found:
            same = found.head == head and all(
                pack_shape(a) == pack_shape(b) for a, b in zip(found.shapes, self._described.shapes, strict=True)
            )
            if not same:
                raise RecordingError(
                    f"Recorder: '{self.path}' is a recording of other bodies or joints than this world has; "
                    "choose another name."
                )
            return found.end

    def write(self) -> bool:
        """Record the present frame of the world; False where `every` leaves it out.

        Calls `world.retrieve()`, so that the scene's attributes are those of this frame.
        """
        if self._stream.closed:
            raise RecordingError(f"Recorder: '{self.path}' is closed; make a new Recorder with append=True.")
        world, frame = self._world, self._world.frame()
        report = world.report
        self._calls += 1
        if (self._calls - 1) % self._every:
            return False
        world.retrieve()
        energies = world.energies()
        contacts = world.contacts()
        recorded = RecordedFrame(
            frame=frame,
            time=world.time(),
            iterations=0 if report is None else report.iterations,
            converged=report is None or report.converged,
            transforms=self._transforms()[:, :3],
            joints=self._described.joint_rows(),
            energies=np.array([energies[name] for name in self._described.document["energies"]]),
            contacts=RecordedContacts(
                contacts.point, contacts.normal, contacts.gap, contacts.normal_force, contacts.friction_force,
                contacts.bodies.astype(np.int64), contacts.plane.astype(np.int64),
            ),
        )  # fmt: skip
        end = self._stream.tell()
        try:
            append_chunk(self._stream, b"FRAM", self._described.layout.pack(recorded))
        except BaseException as error:
            # half a frame in the middle of the file would hide all that follow
            self._stream.seek(end)
            self._stream.truncate()
            if not isinstance(error, OSError):
                raise
            raise RecordingError(
                f"Recorder: frame {frame} could not be written to '{self.path}' ({error.strerror or error}); "
                "the frames before it are safe."
            ) from error
        self.last_frame = frame
        return True

    def _transforms(self) -> Array:
        accessor = self._world.features().find(AffineBodyStateAccessorFeature)
        assert accessor is not None
        accessor.copy_to(self._states)
        transforms: Array = self._states.transforms.values
        return transforms

    def close(self) -> None:
        """Hand everything to the disk and close the file; a second call does nothing."""
        if not self._stream.closed:
            os.fsync(self._stream.fileno())
            self._stream.close()

    def __del__(self) -> None:
        if hasattr(self, "_stream"):
            self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Recorder '{self.path}', {'closed' if self._stream.closed else f'at frame {self._world.frame()}'}>"


def _states(world: World) -> SimplicialComplex:
    """What the transforms of all bodies are read into."""
    accessor: Any = world.features().find(AffineBodyStateAccessorFeature)
    states: SimplicialComplex = accessor.create_geometry()
    states.instances.create("transform", np.eye(4))
    return states
