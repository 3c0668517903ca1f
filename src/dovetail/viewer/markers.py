"""Joints as things to look at: axes, stops, balls and blocks that the bodies carry along.

| joint | drawn |
|---|---|
| revolute | a bar along its axis; with a limit a thin ring sector at its end, from lower to upper, and a pointer |
| prismatic | a bar along its axis, from lower to upper with a stop at both ends if it has a limit, and a runner |
| spherical, distance, others without an axis | a ball |
| fixed | a block |

A marker is carried by one body: fixed to a material point x̄ of it, with an offset and a rotation in the axes of the
body's rotation R. So only poses change from frame to frame.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.io.colors import Color
from dovetail.io.recorded import RecordedBody, RecordedJoint
from dovetail.picture.mesh import Mesh, ball, block, cylinder, sector
from dovetail.typing import Array, Indices
from dovetail.viewer.pose import Poses, quaternions, split

__all__ = ["JointDrawing", "Markers", "joint_frames", "joint_markers", "limit_sectors"]

_DARK: Color = (0.30, 0.33, 0.38)
LIMIT: Color = (0.36, 0.42, 0.52)
_BEYOND = 0.05  # how far an axis sticks out of the smaller body, of its size
_THIN, _RADIUS = 0.009, 0.15  # of a bar and of a ring, of the size of the smaller body


class Markers(NamedTuple):
    """Equal shapes at n places.

    owners (n,)            bodies that carry them
    points (n, 3)          material points x̄ [m]
    offsets (n, 3)         from there, in the axes of R [m]
    rotations (n, 3, 3)    likewise
    scales, colours (n, 3)
    """

    mesh: Mesh
    owners: Indices
    points: Array
    offsets: Array
    rotations: Array
    scales: Array
    colours: Array

    def placed(self, transforms: Array, poses: Poses) -> tuple[Array, Array]:
        """Quaternions (n, 4) and positions (n, 3) in the world."""
        R, T = poses.rotations[self.owners], transforms[self.owners]
        at = np.einsum("nij,nj->ni", T[:, :3, :3], self.points) + T[:, :3, 3]
        at += np.einsum("nij,nj->ni", R, self.offsets)
        return quaternions(R @ self.rotations), at


class _Mark(NamedTuple):
    """One marker: shape, body, material point, offset and rotation, scale, colour."""

    shape: str
    owner: int
    point: Array
    offset: Array
    rotation: Array
    scale: tuple[float, float, float]
    colour: Color = _DARK


class JointDrawing:
    """A joint with what is needed to draw it: the size of its smaller body and that body's extent along the axis.

    transforms   (n, 4, 4) of all bodies, where the joint is at rest
    offset       its init_angle or init_distance: limits count from there
    seen_from    the camera [m]: the ring of a limit is put on the end of the axis that is nearer to it
    """

    def __init__(
        self, joint: RecordedJoint, bodies: list[RecordedBody], transforms: Array, offset: float, seen_from: Array
    ) -> None:
        self.joint = joint
        self.sides = (
            (joint.left, joint.left_anchor, joint.left_frame),
            (
                joint.right,
                joint.right_anchor,
                joint.right_frame,
            ),
        )
        self.limit = None if joint.limit is None else (joint.limit[0] - offset, joint.limit[1] - offset)
        rotations = split(transforms[[joint.left, joint.right]]).rotations
        found = []
        for (number, anchor, frame), R in zip(self.sides, rotations, strict=True):
            T, vertices = transforms[number], bodies[number].vertices
            if len(vertices):
                spread = (vertices - anchor) @ T[:3, :3].T
                along = spread @ (R @ frame[0])
                extent = float(np.linalg.norm(np.ptp(spread, axis=0)))
                found.append((extent, float(along.min()), float(along.max())))
        self.size, lowest, highest = min(found, default=(0.1, 0.0, 0.0))
        self.start, self.end = lowest - _BEYOND * self.size, highest + _BEYOND * self.size
        T = transforms[joint.left]
        there = seen_from - T[:3, :3] @ joint.left_anchor - T[:3, 3]
        self.ring = self.end if there @ (rotations[0] @ joint.left_frame[0]) > 0 else self.start

    def mark(
        self, shape: str, side: int, along: float, axes: str, scale: tuple[float, float, float], colour: Color = _DARK
    ) -> _Mark:
        """A marker on the axis, `along` [m] from the anchor, with the rows named `axes` of the frame as its x, y, z."""
        number, anchor, frame = self.sides[side]
        rotation = frame[["tnb".index(axis) for axis in axes]].T
        return _Mark(shape, number, anchor, along * frame[0], rotation, scale, colour)

    def marks(self) -> list[_Mark]:
        """All markers but the ring sector of a limit."""
        s, kind = self.size, self.joint.kind
        thin = _THIN * s
        if not self.joint.has_axis or kind == "distance":  # whose line goes from body to body
            side = 0.09 * s
            return [
                self.mark("block", 0, 0.0, "tnb", (side, side, side))
                if kind == "fixed"
                else self.mark("ball", 0, 0.0, "tnb", (side / 2, side / 2, side / 2))
            ]
        start, end = self.start, self.end
        found = []
        if self.joint.coordinate == "distance":
            if self.limit is not None:
                start, end = self.limit
                stop = (5 * thin, 5 * thin, 2 * thin)
                found += [self.mark("block", 0, at, "nbt", stop, LIMIT) for at in self.limit]
            found.append(self.mark("block", 1, 0.0, "nbt", (4 * thin, 4 * thin, 4 * thin)))
        elif self.limit is not None:
            found.append(self.mark("bar", 1, self.ring, "btn", (thin, thin, 1.1 * _RADIUS * s)))
        return [*found, self.mark("bar", 0, start, "nbt", (thin, thin, end - start))]


def _collected(mesh: Mesh, marks: list[_Mark]) -> Markers:
    _, owners, points, moved, rotations, scales, colours = zip(*marks, strict=True)
    arrays = (np.array(values, float) for values in (points, moved, rotations, scales, colours))
    return Markers(mesh, np.array(owners), *arrays)


def joint_markers(drawings: list[JointDrawing]) -> list[Markers]:
    """Bars, balls and blocks of all joints."""
    marks = [mark for drawing in drawings for mark in drawing.marks()]
    found = []
    for name, mesh in (("bar", cylinder), ("ball", ball), ("block", block)):
        chosen = [mark for mark in marks if mark.shape == name]
        if chosen:
            found.append(_collected(mesh(), chosen))
    return found


def limit_sectors(drawings: list[JointDrawing]) -> list[Markers]:
    """Ring sectors of the limits of hinges, one set for each pair of bounds that occurs."""
    by_range: dict[tuple[float, float], list[_Mark]] = {}
    for drawing in drawings:
        if drawing.joint.coordinate == "angle" and drawing.limit is not None and np.isfinite(drawing.limit).all():
            radius = _RADIUS * drawing.size
            mark = drawing.mark("sector", 0, drawing.ring, "nbt", (radius, radius, radius), LIMIT)
            by_range.setdefault((round(drawing.limit[0], 6), round(drawing.limit[1], 6)), []).append(mark)
    return [_collected(sector(*bounds), marks) for bounds, marks in by_range.items()]


def joint_frames(joints: list[RecordedJoint]) -> Markers | None:
    """Where the left body has the frame (t, n, b) of each joint; None where there are no joints."""
    if not joints:
        return None
    marks = [
        _Mark("frame", joint.left, joint.left_anchor, np.zeros(3), joint.left_frame.T, (1.0, 1.0, 1.0))
        for joint in joints
    ]
    return _collected(Mesh(np.zeros((0, 3)), np.zeros((0, 3), np.int64)), marks)
