"""A robot as its file describes it: links with mass and shapes, joints between them, and what was odd about it.

Lengths are in m, angles in rad, masses in kg. A pose is a 4×4 matrix. Frames are those of the file: a link's frame is
that of the joint that carries it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dovetail.doctor.finding import Finding
from dovetail.errors import SceneError
from dovetail.typing import Array, Indices

__all__ = [
    "Axis",
    "Closure",
    "Inertia",
    "Joint",
    "Keyframe",
    "Link",
    "Mimic",
    "Motor",
    "RobotDescription",
    "Shape",
    "Triangles",
]


@dataclass(frozen=True)
class Inertia:
    """Mass [kg], its centre (3,) [m] in the frame of the link, and the tensor (3, 3) [kg·m²] about that, its axes."""

    mass: float
    center: Array
    tensor: Array

    def moved(self, pose: Array) -> Inertia:
        """The same in the frame in which the link has this pose."""
        R = pose[:3, :3]
        return Inertia(self.mass, R @ self.center + pose[:3, 3], R @ self.tensor @ R.T)

    def plus(self, other: Inertia) -> Inertia:
        """Both as one body (Steiner)."""
        mass = self.mass + other.mass
        center = (self.mass * self.center + other.mass * other.center) / mass
        tensor = np.zeros((3, 3))
        for part in (self, other):
            arm = part.center - center
            tensor = tensor + part.tensor + part.mass * (float(arm @ arm) * np.eye(3) - np.outer(arm, arm))
        return Inertia(mass, center, tensor)


class Triangles(NamedTuple):
    """A surface: corners (n, 3) [m] and the three of each face (m, 3)."""

    vertices: Array
    faces: Indices


@dataclass(frozen=True)
class Shape:
    """A box (three edges), sphere (radius), cylinder or capsule (radius, length of the straight part along z),
    ellipsoid (half axes) or mesh, of a file or as triangles.

    `size` are these lengths [m], of a mesh the factors of its three axes. `where` is its place in the file. The pose of
    what is only looked at may be any affine map.
    """

    kind: str
    size: Array
    pose: Array
    where: str
    file: Path | None = None
    color: Array | None = None
    triangles: Triangles | None = None
    fit: str = ""
    """What the file wants a mesh to touch as: "hull", "boxes", or as `Sim.robot` is asked for."""


@dataclass
class Link:
    """A body of the robot; without inertia it has no mass. One with a `carries` is none of the file: it is between the
    joints of a link with several, and has a trace of the inertia of that.
    """

    name: str
    where: str
    inertia: Inertia | None = None
    collisions: list[Shape] = field(default_factory=list)
    visuals: list[Shape] = field(default_factory=list)
    carries: str = ""
    friction: float | None = None
    restitution: float = 0.0


@dataclass(frozen=True)
class Closure:
    """Two links that are held together beside the joints of the tree: "connect" at a point, or "weld".

    `points` are where they carry the same point, `turn` (3, 3) how the second is turned in the frame of the first.
    """

    name: str
    kind: str
    links: tuple[str, str]
    points: tuple[Array, Array]
    turn: Array


@dataclass(frozen=True)
class Keyframe:
    """A posture of the file: coordinates of joints, rotation vectors (3,) of balls, and the pose of the base."""

    q: dict[str, Any]
    base: Array


@dataclass(frozen=True)
class Mimic:
    """x = ratio·x_leader + offset."""

    leader: str
    ratio: float
    offset: float


@dataclass
class Motor:
    """A controller with the effort k(x̃ − x) + c(ṽ − ẋ) [N·m or N], at most `effort`.

    Where it is an acceleration, all of it is to be multiplied by the inertia of what is moved.
    """

    stiffness: float
    damping: float
    target: float
    target_velocity: float
    effort: float
    is_acceleration: bool = False


@dataclass
class Axis:
    """A free axis of a joint with several: its limit [rad or m], its motor, and where it starts."""

    limit: tuple[float, float] | None = None
    motor: Motor | None = None
    start: float = 0.0


@dataclass
class Joint:
    """How a child hangs on its parent.

    kind        "revolute" (with or without limit), "prismatic", "ball", "fixed", "floating", "planar", "d6", "distance"
    pose        of the child's frame in that of the parent, where the coordinate is `reference`
    axis        unit vector in the child's frame: what it turns about, slides along, or is normal to its plane
    anchor      where it is in the child's frame [m]
    limit       (lower, upper) [rad or m]
    effort      the strongest that its motor can be [N·m or N]; infinite where the file says none
    velocity    the fastest that its motor can be [rad/s or m/s]; infinite where the file says none
    spring      stiffness of a spring [N·m/rad or N/m], at rest at `rest`
    armature    inertia of its motor behind the gears [kg·m² or kg]
    gains       stiffness and damping of its motor's controller; None where the file says none
    motor       one that is on from the start
    frame       (3, 3) of a d6 or a ball: its axes x, y, z in the child's frame
    axes        of a d6: those that are free, of x, y, z, rx, ry, rz
    flipped     of a d6 or a ball: the child is the left body, that coordinates are measured from
    closes      it is no part of the tree, and closes a loop
    touches     the file lets its links touch each other
    """

    name: str
    kind: str
    parent: str
    child: str
    where: str
    pose: Array
    axis: Array
    limit: tuple[float, float] | None = None
    effort: float = math.inf
    velocity: float = math.inf
    damping: float = 0.0
    friction: float = 0.0
    mimic: Mimic | None = None
    anchor: Array = field(default_factory=lambda: np.zeros(3))
    reference: float = 0.0
    spring: float = 0.0
    rest: float = 0.0
    armature: float = 0.0
    gains: tuple[float, float] | None = None
    motor: Motor | None = None
    frame: Array = field(default_factory=lambda: np.eye(3))
    axes: dict[str, Axis] = field(default_factory=dict)
    flipped: bool = False
    closes: bool = False
    touches: bool = False
    on_parent: Array = field(default_factory=lambda: np.eye(4))
    """Pose of the joint's own frame in the parent's, where a file says it."""

    @property
    def is_scalar(self) -> bool:
        """Whether it has the one coordinate of a hinge or slider."""
        return self.kind in ("revolute", "prismatic")

    def placed(self, q: Any) -> Array:
        """The child's pose in the parent's frame for a value of the coordinate, of a ball a rotation vector (3,)."""
        from dovetail.geometry import AngleAxis

        moved = np.eye(4)
        if self.kind == "revolute":
            moved[:3, :3] = AngleAxis(float(q) - self.reference, self.axis).matrix()
        elif self.kind == "prismatic":
            moved[:3, 3] = (float(q) - self.reference) * self.axis
        elif self.kind == "ball":
            turn = self.frame @ (np.zeros(3) + (-q if self.flipped else q))
            angle = float(np.linalg.norm(turn))
            moved[:3, :3] = AngleAxis(angle, turn / angle).matrix() if angle else np.eye(3)
        moved[:3, 3] += self.anchor - moved[:3, :3] @ self.anchor
        return np.asarray(self.pose @ moved)


@dataclass
class RobotDescription:
    """Links and joints by name in the order of the file; `findings` tell what of the file was not honoured as it is.

    base        pose of the root in the frame of the file
    is_free     whether the file lets the root move
    apart       pairs of links that do not touch, beside those that share a joint
    closures    what closes loops
    keyframes   postures by name
    loops       joints beside the tree, by name
    planes      points [m] and normals of half-spaces in the frame of the file
    upright     pose of the frame of the file where z is up
    """

    name: str
    file: Path
    links: dict[str, Link] = field(default_factory=dict)
    joints: dict[str, Joint] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    base: Array = field(default_factory=lambda: np.eye(4))
    is_free: bool = False
    apart: set[frozenset[str]] = field(default_factory=set)
    closures: list[Closure] = field(default_factory=list)
    keyframes: dict[str, Keyframe] = field(default_factory=dict)
    loops: dict[str, Joint] = field(default_factory=dict)
    planes: list[tuple[Array, Array]] = field(default_factory=list)
    upright: Array = field(default_factory=lambda: np.eye(4))

    @property
    def root(self) -> str:
        """The link that hangs on no joint."""
        children = {joint.child for joint in self.joints.values()}
        return next(name for name in self.links if name not in children)

    def downwards(self) -> Iterator[Joint]:
        """Joints from the root on: a joint after the one that carries its parent."""
        below: dict[str, list[Joint]] = {}
        for joint in self.joints.values():
            below.setdefault(joint.parent, []).append(joint)
        todo = [self.root]
        for link in todo:
            joints = below.get(link, [])
            yield from joints
            todo += [joint.child for joint in joints]

    def check_tree(self) -> None:
        """Refuse a robot whose links and joints form no tree: each link but one hangs on one joint, none on itself."""
        who = f"reading '{self.file}'"
        if not self.links:
            raise SceneError(f"{who}: robot '{self.name}' has no links; there is nothing to simulate.")
        carried: dict[str, Joint] = {}
        for joint in self.joints.values():
            for what, link in (("parent", joint.parent), ("child", joint.child)):
                if link not in self.links:
                    raise SceneError(
                        f"{who}, {joint.where}: joint '{joint.name}' has the {what} '{link}'; there is no such link."
                    )
            if joint.child in carried:
                raise SceneError(
                    f"{who}, {joint.where}: link '{joint.child}' is the child of joint '{carried[joint.child].name}' "
                    f"and of joint '{joint.name}'; a link hangs on one joint. Close loops with joints of the Sim."
                )
            carried[joint.child] = joint
        roots = [name for name in self.links if name not in carried]
        if len(roots) != 1:
            found = ", ".join(f"'{name}'" for name in roots[:5]) or "none, since joints go round in a circle"
            raise SceneError(f"{who}: a robot has one link that hangs on no joint, this one {len(roots)}: {found}.")
        if sum(1 for _ in self.downwards()) != len(self.joints):
            reached = {self.root, *(joint.child for joint in self.downwards())}
            lost = next(name for name in self.links if name not in reached)
            raise SceneError(f"{who}: link '{lost}' hangs on itself by a circle of joints, and not on '{self.root}'.")
        for joint in self.joints.values():
            self._check_mimic(who, joint)

    def _check_mimic(self, who: str, joint: Joint) -> None:
        seen = [joint.name]
        while joint.mimic is not None:
            leader = self.joints.get(joint.mimic.leader)
            if leader is None or not leader.is_scalar:
                what = "there is no such joint" if leader is None else f"that one is {leader.kind}"
                raise SceneError(
                    f"{who}, {joint.where}: joint '{joint.name}' mimics '{joint.mimic.leader}', and {what}."
                )
            if leader.name in seen:
                raise SceneError(f"{who}, {joint.where}: joint '{seen[0]}' mimics itself, by {' → '.join(seen)}.")
            seen.append(leader.name)
            joint = leader

    def leader(self, joint: Joint) -> tuple[Joint, float, float]:
        """Whom a joint follows in the end, itself if no other, with ratio and offset."""
        ratio, offset = 1.0, 0.0
        while joint.mimic is not None:
            offset += ratio * joint.mimic.offset
            ratio *= joint.mimic.ratio
            joint = self.joints[joint.mimic.leader]
        return joint, ratio, offset

    def carried(self, link: str) -> str:
        """The link of the file that a link between its joints carries, or the link itself."""
        return self.links[link].carries or link

    def bearers(self) -> dict[str, str]:
        """Of each link the link of the file that bears it, where it is between joints, or the link itself."""
        found = {link: link for link in self.links}
        for joint in self.downwards():
            if self.links[joint.child].carries:
                found[joint.child] = found[joint.parent]
        return found

    def values(self, q: dict[str, Any]) -> dict[str, Any]:
        """The coordinate of every joint for those of leaders; 0 where none is given."""
        found: dict[str, Any] = {}
        for joint in self.joints.values():
            leader, ratio, offset = self.leader(joint)
            given = q.get(leader.name, 0.0)
            found[joint.name] = given if leader is joint else ratio * float(given) + offset
        return found

    def poses(self, q: dict[str, Any], base: Array | None = None) -> dict[str, Array]:
        """The frame of every link, with the root's at `base`, for coordinates of leaders."""
        values, found = self.values(q), {self.root: np.eye(4) if base is None else base}
        for joint in self.downwards():
            found[joint.child] = found[joint.parent] @ joint.placed(values[joint.name])
        return found
