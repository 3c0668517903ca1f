"""Recordings: files that hold what a world did, read frame by frame."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

import numpy as np

from dovetail.checked import checked
from dovetail.errors import RecordingError
from dovetail.io.cast import Cast
from dovetail.io.chunks import EARLIER_MAGIC, MAGIC, Chunk, read_chunk, read_magic, scan
from dovetail.io.describe import FORMAT, VERSION
from dovetail.io.recorded import RecordedContacts, RecordedFrame, read_note, unpack_shape
from dovetail.logger import Logger
from dovetail.messages import counted
from dovetail.typing import Array, Indices

__all__ = ["Recording"]


class Recording:
    """A recording, open for reading. Frames are counted from 0 as they were written; −1 is the last.

        with Recording("pendulum.dove") as recording:
            print(recording.times[-1], recording.bodies)
            T = recording.transforms(-1)                       # (n, 4, 4)
            angles = recording.history("hinge", "angle")       # one per frame

    Opening reads the header and skips from frame to frame; a frame is read, and its checksum compared, when it is
    asked for. What a killed process left unfinished at the end is ignored with a note, and so is what is damaged so
    badly that it is not known for a frame. Nothing in the file is executed.
    """

    @checked(RecordingError)
    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self._stream = self.path.open("rb")
        except OSError as error:
            raise RecordingError(f"Recording: cannot read '{path}': {error.strerror or error}.") from error
        try:
            self._open()
        except BaseException:
            self._stream.close()
            raise

    def _open(self) -> None:
        magic = read_magic(self._stream)
        if magic == EARLIER_MAGIC:
            raise RecordingError(
                f"Recording: '{self.path}' has version 1 of the format, whose frames are not safe from damage; "
                f"this program reads version {VERSION}, record it again."
            )
        if magic != MAGIC:
            raise RecordingError(f"Recording: '{self.path}' is not a recording of dovetail; it does not begin as one.")
        chunks, self._end, gaps = scan(self._stream, len(MAGIC))
        first = next((chunk.begin for chunk in chunks if chunk.tag == b"FRAM"), self._end)
        if not chunks or chunks[0].tag != b"HEAD" or any(start < first for start, _ in gaps[:1]):
            self._refuse("its header is missing, or what follows it is damaged")
        self.head = self._payload(chunks[0])
        """The header as it stands in the file: JSON."""
        try:
            self._document: dict[str, Any] = json.loads(self.head)
            self._check_version()
            meshes = [chunk for chunk in chunks if chunk.tag == b"MESH"]
            self._read_header(meshes)
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            self._refuse(f"its header does not make sense ({type(error).__name__}: {error!s:.200})")
        self._chunks = [chunk for chunk in chunks if chunk.tag == b"FRAM"]
        self._tell_gaps(gaps)
        self._drop_torn_tail()
        self._cached: tuple[int, RecordedFrame] | None = None
        self._heads: Array | None = None

    def _check_version(self) -> None:
        if self._document["format"] != FORMAT:
            self._refuse(f"it calls itself {self._document['format']!r:.40}")
        if self._document["version"] > VERSION:
            raise RecordingError(
                f"Recording: '{self.path}' has version {self._document['version']!s:.20} of the format, written by "
                f"{self._document.get('written_by', 'a later dovetail')!s:.40}; this one reads up to {VERSION}, update "
                "it."
            )

    def _read_header(self, meshes: list[Chunk]) -> None:
        shapes = [
            unpack_shape(self._payload(chunk), float(entry["thickness"]))
            for chunk, entry in zip(meshes, self._document["shapes"], strict=True)
        ]
        self.cast = cast = Cast(self._document, shapes)
        """Everything that does not change from frame to frame."""
        self.shapes, self.bodies, self.joints, self.planes = cast.shapes, cast.bodies, cast.joints, cast.planes
        self.dt = cast.dt
        """Time step at the start [s]."""
        self.gravity = cast.gravity
        """[m/s²]"""
        self.d_hat = cast.d_hat
        """Distance below which surfaces repel [m]."""

    def _drop_torn_tail(self) -> None:
        """Leave out what a killed process or a full disk left unfinished."""
        last = self._chunks[-1:]
        while last and not self._is_whole(last[0]):
            self._chunks.pop()
            self._end = last[0].begin
            last = self._chunks[-1:]
        self._stream.seek(0, 2)
        torn = self._stream.tell() - self._end
        if torn:
            Logger.warn(
                f"Recording: '{self.path}' ends in {torn} bytes that are not a whole frame, as after a program was "
                f"killed; the {len(self._chunks)} frames before them are read."
            )

    def _tell_gaps(self, gaps: list[tuple[int, int]]) -> None:
        """Say which bytes hold frames that cannot be found any more."""
        for start, end in gaps:
            before = sum(chunk.end <= start for chunk in self._chunks)
            Logger.warn(
                f"Recording: the bytes {start} to {end} of '{self.path}' are damaged: one frame or more behind the "
                f"first {before} is lost; {len(self._chunks)} frames are read."
            )

    def _is_whole(self, chunk: Chunk) -> bool:
        try:
            read_chunk(self._stream, chunk)
        except ValueError:
            return False
        return True

    # --- what does not change -----------------------------------------------------------------------------

    @property
    def end(self) -> int:
        """Where the last whole frame ends in the file [bytes]."""
        return self._end

    @checked(RecordingError)
    def body(self, name: str) -> int:
        """The number of the body with a name."""
        return self._named("body", name, [body.name for body in self.bodies])

    @checked(RecordingError)
    def joint(self, name: str) -> int:
        """The number of the joint with a name."""
        return self._named("joint", name, [joint.name for joint in self.joints])

    def _named(self, what: str, name: str, names: list[str]) -> int:
        if name not in names:
            there = ", ".join(map(repr, names[:20])) or "none"
            raise RecordingError(f"Recording: '{self.path}' has no {what} '{name}'; there are: {there}.")
        return names.index(name)

    # --- frames -------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """How many frames there are."""
        return len(self._chunks)

    def _require_open(self) -> None:
        if self._stream.closed:
            raise RecordingError(f"Recording: '{self.path}' is closed; open it again with Recording(path).")

    def refresh(self) -> int:
        """Look for frames that were written since; how many there are now."""
        self._require_open()
        found, end, gaps = scan(self._stream, self._end)
        if found:
            self._chunks += [chunk for chunk in found if chunk.tag == b"FRAM"]
            self._end = end
            self._heads = None
            self._tell_gaps(gaps)
        return len(self)

    @property
    def times(self) -> Array:
        """Simulated time of each frame [s]."""
        return self._numbers()[:, 1]

    @property
    def frames(self) -> Indices:
        """The world's frame number of each frame; they differ where only every so many were recorded."""
        return self._numbers()[:, 0].astype(np.int64)

    @property
    def iterations(self) -> Indices:
        """Newton iterations of each frame."""
        return self._numbers()[:, 2].astype(np.int64)

    def transforms(self, frame: int) -> Array:
        """Affine transforms of all bodies, (n, 4, 4)."""
        rows = self.read(frame).transforms
        full = np.zeros((len(rows), 4, 4))
        full[:, :3], full[:, 3, 3] = rows, 1.0
        return full

    def joint_states(self, frame: int) -> list[dict[str, float | Array]]:
        """Per joint what it reported: coordinate, velocity, gap, reaction/force, driving/effort, targets, ….

        Names are those of the joint's attributes; scalars are floats, vectors arrays.
        """
        return self.cast.joint_states(self.read(frame).joints)

    def contacts(self, frame: int) -> RecordedContacts:
        """Where bodies touch, and how hard."""
        return self.read(frame).contacts

    def energies(self, frame: int) -> dict[str, float]:
        """Energies [J] by name, as `World.energies` gives them."""
        return dict(zip(self.cast.energies, self.read(frame).energies.tolist(), strict=True))

    @checked(RecordingError)
    def history(self, joint: str | int, name: str) -> Array:
        """One of a joint's numbers in every frame: (frames,), or (frames, 3) for a vector."""
        number = self.joint(joint) if isinstance(joint, str) else joint
        if not 0 <= number < len(self.joints):
            raise RecordingError(f"Recording: '{self.path}' has {len(self.joints)} joints, there is no joint {number}.")
        g, k = self.cast.places[number]
        columns = self.cast.layout.groups[g]
        start = 0
        for column, size in columns.names:
            if column == name:
                rows = [self.read(frame).joints[g][k, start : start + size] for frame in range(len(self))]
                values = np.array(rows, float).reshape(len(self), size)
                return values[:, 0] if size == 1 else values
            start += size
        there = ", ".join(self.joints[number].columns)
        raise RecordingError(
            f"Recording: joint '{self.joints[number].name}' of '{self.path}' has no '{name}'; it has: {there}."
        )

    @checked(RecordingError)
    def read(self, frame: int) -> RecordedFrame:
        """Everything of a frame."""
        count = len(self)
        if not -count <= frame < count:
            raise RecordingError(f"Recording: '{self.path}' has {count} frames, there is no frame {frame}.")
        index = frame % count
        if self._cached is None or self._cached[0] != index:
            self._require_open()
            try:
                self._cached = index, self.cast.layout.unpack(read_chunk(self._stream, self._chunks[index]))
            except ValueError as error:
                self._refuse_frame(index, error)
        return self._cached[1]

    def _refuse_frame(self, index: int, flaw: ValueError) -> NoReturn:
        raise RecordingError(
            f"Recording: frame {index} of '{self.path}' is damaged ({flaw}); the other frames can be read."
        ) from None

    def _numbers(self) -> Array:
        """Frame, time, iterations of every frame (k, 3), without reading the rest of it; a checksum covers them."""
        if self._heads is None:
            self._require_open()
            rows = []
            for index, chunk in enumerate(self._chunks):
                try:
                    rows.append(read_note(chunk.note))
                except ValueError as error:
                    self._refuse_frame(index, error)
            self._heads = np.array(rows, float).reshape(len(rows), 3)
        return self._heads

    def _payload(self, chunk: Chunk) -> bytes:
        try:
            return read_chunk(self._stream, chunk)
        except ValueError as error:
            self._refuse(str(error))

    def _refuse(self, flaw: str) -> NoReturn:
        raise RecordingError(f"Recording: '{self.path}' is damaged: {flaw}; record it again.")

    def close(self) -> None:
        """Let go of the file; what was read stays."""
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
        bodies, joints = counted(len(self.bodies), "body", "bodies"), counted(len(self.joints), "joint")
        return f"<Recording '{self.path}': {bodies}, {joints}, {counted(len(self), 'frame')}>"
