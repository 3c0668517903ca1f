"""What a recording holds: bodies, joints and planes once, and the layout of a frame.

docs/recordings.md describes the bytes.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.io.colors import Color
from dovetail.typing import Array

__all__ = [
    "Columns",
    "FrameLayout",
    "Look",
    "RecordedBody",
    "RecordedContacts",
    "RecordedFrame",
    "RecordedJoint",
    "RecordedPlane",
    "RecordedShape",
    "pack_shape",
    "read_note",
    "unpack_shape",
]

_FRAME_HEAD = struct.Struct("<QdqqQ")
_NOTE = struct.Struct("<Qdq")
_MOST = 2**53  # frames and iterations; beyond it they are no whole numbers in float64
_SHAPE_HEAD = struct.Struct("<QQQ")


@dataclass(frozen=True)
class RecordedShape:
    """A surface that bodies share.

    vertices (v, 3)                  [m], in the frame of the body
    triangles (t, 3), edges (e, 2)   outward triangles; single edges, of rods
    thickness                        radius of shells and rods [m], otherwise 0
    """

    vertices: Array
    triangles: NDArray[np.int32]
    edges: NDArray[np.int32]
    thickness: float = 0.0


class Look(NamedTuple):
    """A part of what a body looks like: a surface in the frame of the body, and its colour, or None for the body's."""

    shape: RecordedShape
    color: Color | None


@dataclass(frozen=True)
class RecordedBody:
    """A body: its name, surface, colour (r, g, b in 0…1), whether it is fixed, mass [kg] and its centre [m].

    `looks` are what it is drawn as: its surface, or shapes that are there to be looked at alone.
    """

    name: str
    shape: RecordedShape = field(repr=False)
    color: Color
    fixed: bool
    mass: float
    mass_center: Array = field(repr=False)
    looks: tuple[Look, ...] = field(repr=False)

    @property
    def vertices(self) -> Array:
        return self.shape.vertices

    @property
    def triangles(self) -> NDArray[np.int32]:
        return self.shape.triangles

    @property
    def edges(self) -> NDArray[np.int32]:
        return self.shape.edges

    @property
    def is_seen(self) -> bool:
        """False where there is nothing but points to see of it."""
        return any(len(look.shape.triangles) or len(look.shape.edges) for look in self.looks)


@dataclass(frozen=True)
class RecordedPlane:
    """A half-space: a point of its plane [m] and the unit normal that points out of it."""

    name: str
    point: Array
    normal: Array


@dataclass(frozen=True)
class RecordedJoint:
    """A joint and where it sits on its two bodies.

    kind                        "revolute", "prismatic", "spherical", "fixed", …
    left, right                 numbers of the bodies
    left_anchor, right_anchor   (3,) the joint's point in the frame of either body [m]
    left_frame, right_frame     (3, 3) rows t, n, b: directions in the frame of either body, t along the axis
    has_axis                    False for a joint at a point; its frame is that of the world at the start
    coordinate, unit            what it measures ("angle", "distance") in rad or m, "" if nothing
    limit                       (lower, upper) at the start, or None
    columns                     names of what is recorded per frame
    """

    name: str
    kind: str
    left: int
    right: int
    left_anchor: Array = field(repr=False)
    right_anchor: Array = field(repr=False)
    left_frame: Array = field(repr=False)
    right_frame: Array = field(repr=False)
    has_axis: bool
    coordinate: str
    unit: str
    limit: tuple[float, float] | None
    columns: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True)
class RecordedContacts:
    """Contacts of a frame as arrays, like `World.contacts()`; len(contacts) is how many there are.

    point (k, 3) [m], normal (k, 3) from b to a, gap (k,) [m], normal_force (k,) [N], friction_force (k, 3) [N] on a,
    bodies (k, 2) numbers of a and b, plane (k,) number of the half-plane or −1.
    """

    point: Array
    normal: Array
    gap: Array
    normal_force: Array
    friction_force: Array
    bodies: NDArray[np.int64]
    plane: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.gap)


class RecordedFrame(NamedTuple):
    """A frame as arrays.

    transforms   (n, 3, 4), the upper rows of the bodies' 4×4 transforms
    joints       per group of joints (count, width)
    """

    frame: int
    time: float
    iterations: int
    converged: bool
    transforms: Array
    joints: list[Array]
    energies: Array
    contacts: RecordedContacts


class Columns(NamedTuple):
    """What a group of joints records: how many joints, and names with the number of values of each, in order."""

    joints: int
    names: tuple[tuple[str, int], ...]

    @property
    def width(self) -> int:
        return sum(size for _, size in self.names)

    def split(self, row: Array) -> dict[str, float | Array]:
        """Named values of one joint."""
        found: dict[str, float | Array] = {}
        start = 0
        for name, size in self.names:
            found[name] = float(row[start]) if size == 1 else row[start : start + size]
            start += size
        return found


class FrameLayout(NamedTuple):
    """How a frame becomes bytes: so many bodies, groups of joints and energies."""

    bodies: int
    groups: tuple[Columns, ...]
    energies: int

    def pack(self, frame: RecordedFrame) -> bytes:
        """The payload of a frame's chunk."""
        contacts = frame.contacts
        head = _FRAME_HEAD.pack(frame.frame, frame.time, frame.iterations, int(frame.converged), len(contacts))
        numbers = [
            frame.transforms, *frame.joints, frame.energies,
            contacts.point, contacts.normal, contacts.gap, contacts.normal_force, contacts.friction_force,
        ]  # fmt: skip
        parts = [np.ascontiguousarray(array, "<f8").tobytes() for array in numbers]
        parts += [np.ascontiguousarray(array, "<i8").tobytes() for array in (contacts.bodies, contacts.plane)]
        return b"".join([head, *parts])

    def unpack(self, payload: bytes) -> RecordedFrame:
        """The inverse of `pack`; ValueError where the length does not fit."""
        if len(payload) < _FRAME_HEAD.size:
            raise ValueError("a frame is too short")
        frame, time, iterations, converged, k = _FRAME_HEAD.unpack_from(payload)
        shapes: list[tuple[int, ...]] = [(self.bodies, 3, 4)]
        shapes += [(group.joints, group.width) for group in self.groups]
        shapes += [(self.energies,), (k, 3), (k, 3), (k,), (k,), (k, 3), (k, 2), (k,)]
        sizes = [int(np.prod(shape, dtype=object)) for shape in shapes]
        if _FRAME_HEAD.size + 8 * sum(sizes) != len(payload):
            raise ValueError(f"a frame of {len(payload)} bytes does not fit the header")
        arrays: list[Any] = []
        start = _FRAME_HEAD.size
        for index, (shape, size) in enumerate(zip(shapes, sizes, strict=True)):
            kind = "<i8" if index >= len(shapes) - 2 else "<f8"
            arrays.append(np.frombuffer(payload, kind, size, start).reshape(shape))
            start += 8 * size
        contacts = RecordedContacts(*arrays[-7:])
        return RecordedFrame(frame, time, iterations, bool(converged), arrays[0], arrays[1:-8], arrays[-8], contacts)


def read_note(note: bytes) -> tuple[int, float, int]:
    """Frame, time and iterations from the beginning of a frame's payload; ValueError where they make no sense."""
    if len(note) < _NOTE.size:
        raise ValueError("a frame is too short")
    frame, time, iterations = _NOTE.unpack_from(note)
    if not (frame < _MOST and math.isfinite(time) and 0 <= iterations < _MOST):
        raise ValueError(f"it says that it is frame {frame} at {time:g} s after {iterations} iterations")
    return frame, time, iterations


def pack_shape(shape: RecordedShape) -> bytes:
    """The payload of a shape's chunk."""
    counts = _SHAPE_HEAD.pack(len(shape.vertices), len(shape.triangles), len(shape.edges))
    numbers = np.ascontiguousarray(shape.vertices, "<f8").tobytes()
    return counts + numbers + b"".join(np.ascontiguousarray(a, "<i4").tobytes() for a in (shape.triangles, shape.edges))


def unpack_shape(payload: bytes, thickness: float) -> RecordedShape:
    """The inverse of `pack_shape`; ValueError where lengths or indices do not fit."""
    if len(payload) < _SHAPE_HEAD.size:
        raise ValueError("a shape is too short")
    v, t, e = _SHAPE_HEAD.unpack_from(payload)
    start = _SHAPE_HEAD.size
    if start + 24 * v + 12 * t + 8 * e != len(payload):
        raise ValueError(f"a shape of {len(payload)} bytes does not have {v} vertices, {t} triangles and {e} edges")
    vertices = np.frombuffer(payload, "<f8", 3 * v, start).reshape(v, 3)
    triangles = np.frombuffer(payload, "<i4", 3 * t, start + 24 * v).reshape(t, 3)
    edges = np.frombuffer(payload, "<i4", 2 * e, start + 24 * v + 12 * t).reshape(e, 2)
    for topo in (triangles, edges):
        if topo.size and not (topo.min() >= 0 and topo.max() < v):
            raise ValueError(f"a shape names vertices that it does not have (0 to {v - 1})")
    return RecordedShape(vertices, triangles, edges, thickness)
