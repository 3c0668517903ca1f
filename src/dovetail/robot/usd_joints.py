"""Joints of USD stages: frames, limits and drives of UsdPhysics in m and rad, and the tree that joints make of bodies.

A D6 joint that is another one by its locked axes becomes that: a weld, a hinge, a slider, a ball. Others keep their
frame, x, y, z in the order of Cardan angles.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail.geometry import AngleAxis
from dovetail.robot.description import Axis, Joint, Motor
from dovetail.robot.usd_stage import Stage
from dovetail.typing import Array

__all__ = ["read_joint", "settle", "span"]

_AXES = {"TransX": "x", "TransY": "y", "TransZ": "z", "RotX": "rx", "RotY": "ry", "RotZ": "rz"}
_WIDEST = 1e6  # rad or m; limits farther apart are none


def read_joint(stage: Stage, kind: str, desc: Any, names: dict[str, str], world: str) -> Joint | None:
    """A joint as the file has it, from body 0 to body 1; None where it holds nothing together."""
    path = str(desc.primPath)
    ends = [names.get(str(body), world) for body in (desc.body0, desc.body1)]
    if not desc.jointEnabled:
        stage.warn(f"joint {path} is not enabled; it is left out")
        return None
    if ends[0] == ends[1]:
        raise stage.refusal(path, f"joins {ends[0]} with itself; give it two bodies")
    if any(stage.number(path, what, getattr(desc, what)) < math.inf for what in ("breakForce", "breakTorque")):
        stage.warn(f"joint {path} may break; here it does not")
    frames = [
        stage.placed(path, getattr(desc, f"localPose{k}Position"), getattr(desc, f"localPose{k}Orientation"))
        for k in (0, 1)
    ]
    for k, body in enumerate((desc.body0, desc.body1)):
        if ends[k] == world and str(body) not in ("", "/"):
            still = stage.bodies.get(str(body))  # one that is not enabled
            frames[k] = (np.eye(4) if still is None else stage.pose(still)) @ frames[k]
    joint = Joint(path, "fixed", ends[0], ends[1], path, np.eye(4), np.array([1.0, 0.0, 0.0]))
    joint.closes, joint.touches = bool(desc.excludeFromArticulation), bool(desc.collisionEnabled)
    made = _Reader(stage, path)
    if kind == "D6":
        frames = made.six_axes(joint, desc, frames)
    elif kind in ("Revolute", "Prismatic"):
        e = "XYZ".index(str(desc.axis))
        unit = "r" + "xyz"[e] if kind == "Revolute" else "xyz"[e]
        made.single(joint, unit, made.axis(unit, desc.limit, desc.drive))
    elif kind == "Spherical":
        frames = made.ball(joint, desc, frames)
    elif kind == "Distance":
        joint.kind, joint.closes = "distance", True
        if not made.is_rod(desc):
            return None
    _set_frames(joint, *frames)
    return joint


class _Reader:
    """Reads what is on a joint, in its units."""

    def __init__(self, stage: Stage, path: str) -> None:
        self._stage, self._path = stage, path

    def six_axes(self, joint: Joint, desc: Any, frames: list[Array]) -> list[Array]:
        """A D6 joint: which axes are free, with limits and drives. The frames that it has."""
        axes = {name: Axis() for name in _AXES.values()}
        drives = {str(pair.first): pair.second for pair in desc.jointDrives}
        for pair in desc.jointLimits:
            name = _AXES.get(str(pair.first))
            if name is None:
                self._stage.warn(f"joint {self._path} has a limit on {pair.first}, which is not read")
            elif (found := self.axis(name, pair.second, drives.pop(str(pair.first), None))) is None:
                del axes[name]
            else:
                axes[name] = found
        for dof, drive in drives.items():
            if dof not in _AXES:
                self._stage.warn(f"joint {self._path} has a drive on {dof}, which is not read")
            elif _AXES[dof] in axes:
                axes[_AXES[dof]].motor = self._motor(_AXES[dof], drive)
            elif drive.enabled:
                self._stage.warn(f"joint {self._path} drives {dof}, which is locked; that does nothing")
        self._tell_of_schemas()
        if len(axes) == 1:
            self.single(joint, *next(iter(axes.items())))
        elif set(axes) == {"rx", "ry", "rz"} and not any(axis.limit or axis.motor for axis in axes.values()):
            joint.kind = "ball"
        elif axes:
            joint.kind, joint.axes = "d6", axes
            self._check_tilt(axes)
        return frames

    def _tell_of_schemas(self) -> None:
        """Note limits and drives that stand there without the schema that makes them act."""
        prim = self._stage.prim(self._path)
        applied = {str(schema).partition(":")[2] for schema in prim.GetPrimTypeInfo().GetAppliedAPISchemas()}
        names = [str(name).split(":") for name in prim.GetAuthoredPropertyNames()]
        missing = sorted({name[1] for name in names if name[0] in ("limit", "drive") and len(name) > 2} - applied)
        if missing:
            text = f"joint {self._path} has limits or drives of {', '.join(missing)} without their schema"
            self._stage.warn(text, "they do nothing.")

    def _check_tilt(self, axes: dict[str, Axis]) -> None:
        tilt = axes.get("ry", Axis()).limit
        if {"rx", "ry", "rz"} <= axes.keys() and tilt is not None and max(-tilt[0], tilt[1]) > 0.49 * math.pi:
            self._stage.warn(
                f"joint {self._path} lets RotY go to {tilt} rad with RotX and RotZ free: Cardan angles end at ±π/2",
                "it is not limited about y; name another axis y.",
            )
            axes["ry"].limit = None

    def single(self, joint: Joint, name: str, axis: Axis | None) -> None:
        """One free axis: a hinge or a slider; a weld where it is locked."""
        joint.axis = np.eye(3)["xyz".index(name[-1])]
        if axis is not None:
            joint.kind = "revolute" if name[0] == "r" else "prismatic"
            joint.limit, joint.motor = axis.limit, axis.motor

    def axis(self, name: str, limit: Any, drive: Any) -> Axis | None:
        """Limit and drive of an axis; None where it is locked: by limits that are upside down, or both 0."""
        scale = math.pi / 180.0 if name[0] == "r" else self._stage.metres
        bounds = limit.lower, limit.upper
        low, high = (scale * self._stage.number(self._path, f"a limit of {name}", x) for x in bounds)
        if limit.enabled and (low > high or low == high == 0.0):
            return None
        found = Axis(motor=None if drive is None else self._motor(name, drive))
        if limit.enabled and high - low < _WIDEST:
            found.limit = (low, high)
        elif limit.enabled and (math.isfinite(low) or math.isfinite(high)):
            found.limit = (max(low, -_WIDEST), min(high, _WIDEST))
        return found

    def _motor(self, name: str, drive: Any) -> Motor | None:
        """A drive: gains of angles are per degree."""
        if not drive.enabled:
            return None
        stage, turns = self._stage, name[0] == "r"
        angle = math.pi / 180.0 if turns else stage.metres
        force = stage.kilograms * stage.metres * (stage.metres if turns else 1.0)  # N·m or N
        gain = force / angle if turns else stage.kilograms
        if drive.acceleration:
            gain, force = (1.0 / angle if turns else 1.0), (1.0 if turns else stage.metres)
        k, c = (gain * stage.number(self._path, f"a gain of {name}", x, 0.0) for x in (drive.stiffness, drive.damping))
        targets = drive.targetPosition, drive.targetVelocity
        aims = [angle * stage.number(self._path, f"a target of {name}", x) for x in targets]
        if not all(map(math.isfinite, (k, c, *aims))):
            raise stage.refusal(self._path, f"has a drive on {name} whose gains or targets are not finite")
        most = force * stage.number(self._path, f"maxForce of {name}", drive.forceLimit, 0.0)
        return Motor(k, c, aims[0], aims[1], most, bool(drive.acceleration))

    def ball(self, joint: Joint, desc: Any, frames: list[Array]) -> list[Array]:
        """A spherical joint. With a cone its first axis is x, and body 0 is the right one: the cone is body 0's.

        R = R_x R_y R_z of body 0 in body 1 is R_z R_y R_x of body 1 in body 0: ry and rz say where x points, whatever
        rx is.
        """
        limit, joint.kind = desc.limit, "ball"
        angles = [self._stage.number(self._path, "a cone angle", x) for x in (limit.lower, limit.upper)]
        if not limit.enabled or all(a < 0.0 or a >= 180.0 for a in angles):
            return frames
        e = "XYZ".index(str(desc.axis))
        turn = np.eye(4)
        turn[:3, :3] = np.eye(3)[:, [e, (e + 1) % 3, (e + 2) % 3]]
        joint.kind, joint.flipped = "d6", True
        joint.axes = {"rx": Axis(), "ry": Axis(), "rz": Axis()}
        # towards the next axis x turns about the one after that
        for name, angle in zip(("rz", "ry"), angles, strict=True):
            if 0.0 <= angle < 180.0:
                rad = max(math.pi / 180.0 * angle, 1e-3)
                joint.axes[name].limit = (-rad, rad)
        text = f"the cone of joint {self._path} is kept as bounds of its two angles, {angles[0]:g}° and {angles[1]:g}°"
        self._stage.warn(text, "between its axes it is wider than an ellipse.")
        self._check_tilt(joint.axes)
        return [frame @ turn for frame in frames]

    def is_rod(self, desc: Any) -> bool:
        """Whether a distance joint keeps one distance; a range of them is told."""
        low = self._stage.number(self._path, "minDistance", desc.limit.lower) if desc.minEnabled else 0.0
        high = self._stage.number(self._path, "maxDistance", desc.limit.upper) if desc.maxEnabled else math.inf
        if low > high:
            raise self._stage.refusal(self._path, f"has the distances {low:g} to {high:g}; swap them")
        if not high - low <= 1e-6 * high:
            text = f"joint {self._path} keeps a distance from {low:g} to {high:g}"
            self._stage.warn(text, "it is left out: rods have one length.")
            return False
        return True


# --- frames -------------------------------------------------------------------------------------------------


def _set_frames(joint: Joint, on_parent: Array, on_child: Array) -> None:
    """Give a joint the frames that both links have of it; `axis` is still that of the joint's frame."""
    joint.on_parent, joint.anchor, joint.frame = on_parent, on_child[:3, 3], on_child[:3, :3]
    joint.axis = joint.frame @ joint.axis
    joint.pose = on_parent @ np.linalg.inv(on_child)


def _turn_round(joint: Joint) -> None:
    """Let the child carry the parent; coordinates stay what they are."""
    on_child = np.eye(4)
    on_child[:3, :3], on_child[:3, 3] = joint.frame, joint.anchor
    joint.axis, joint.parent, joint.child = -joint.frame.T @ joint.axis, joint.child, joint.parent
    joint.flipped = not joint.flipped
    _set_frames(joint, on_child, joint.on_parent)


def settle(joint: Joint, parent: Array, child: Array) -> tuple[float, float]:
    """Let a joint begin where its links are; how far they are off it then [m, rad]."""
    here = np.linalg.inv(parent @ joint.pose) @ child  # the motion of the child's frame from where it is at 0
    R, shift = here[:3, :3], here[:3, 3] + here[:3, :3] @ joint.anchor - joint.anchor
    if joint.kind == "revolute":
        across = np.cross(joint.axis, np.eye(3)[np.abs(joint.axis).argmin()])
        across /= np.linalg.norm(across)
        joint.reference = math.atan2(float(np.cross(across, R @ across) @ joint.axis), float(across @ R @ across))
        turn = AngleAxis(joint.reference, joint.axis).matrix()
        joint.pose = joint.pose @ _motion(turn, joint.anchor - turn @ joint.anchor)
        R = turn.T @ R
    elif joint.kind == "prismatic":
        joint.reference = float(shift @ joint.axis)
        joint.pose = joint.pose @ _motion(np.eye(3), joint.reference * joint.axis)
        shift = shift - joint.reference * joint.axis
    elif joint.kind == "ball":
        joint.pose = joint.pose @ _motion(R, joint.anchor - R @ joint.anchor)
        R = np.eye(3)
    elif joint.kind == "d6":
        return _settle_axes(joint, parent, child)
    elif joint.kind in ("floating", "distance"):
        return 0.0, 0.0
    return float(np.linalg.norm(shift)), _angle(R)


def _settle_axes(joint: Joint, parent: Array, child: Array) -> tuple[float, float]:
    """The same of a joint of six axes: free translations, and a single free rotation, start where the links are."""
    on_child = _motion(joint.frame, joint.anchor)
    there: Array = np.linalg.inv(parent @ joint.on_parent) @ child @ on_child  # of the right frame in the left
    if joint.flipped:
        there = np.asarray(np.linalg.inv(there))
    begun: Array = np.eye(4)
    for k, name in enumerate("xyz"):
        if name in joint.axes:
            begun[k, 3] = joint.axes[name].start = _within(joint.axes[name], float(there[k, 3]))
    turning = [name for name in joint.axes if name[0] == "r"]
    if len(turning) == 1:
        k = "xyz".index(turning[0][1])
        n, b = (k + 1) % 3, (k + 2) % 3
        angle = math.atan2(there[b, n] - there[n, b], there[n, n] + there[b, b])
        angle = joint.axes[turning[0]].start = _within(joint.axes[turning[0]], angle)
        begun[:3, :3] = AngleAxis(angle, np.eye(3)[k]).matrix()
    off = np.linalg.inv(begun) @ there
    if joint.flipped:
        begun = np.asarray(np.linalg.inv(begun))
    joint.pose = joint.on_parent @ begun @ np.linalg.inv(on_child)
    return float(np.linalg.norm(off[:3, 3])), _angle(off[:3, :3])


def _within(axis: Axis, value: float) -> float:
    """The value, or where it is beyond the limits a little inside of these."""
    low, high = axis.limit or (-math.inf, math.inf)
    if low <= value <= high:
        return value
    near = 0.01 * (high - low)
    return low + near if value < low else high - near


def _angle(R: Array) -> float:
    """By how much a rotation turns."""
    sine = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2.0
    return math.atan2(float(np.linalg.norm(sine)), (float(np.trace(R)) - 1.0) / 2.0)


def _motion(turn: Array, shift: Array) -> Array:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = turn, shift
    return T


# --- trees --------------------------------------------------------------------------------------------------


def span(joints: list[Joint], links: list[str], world: str, roots: list[str]) -> list[str]:
    """Turn joints so that parents are nearer to the world; those that are not needed for a tree close loops.

    Returns a root of each part that does not hang on the world: one of `roots`, or what no joint has as its child.
    """
    at: dict[str, list[Joint]] = {}
    for joint in joints:
        if not joint.closes:
            at.setdefault(joint.parent, []).append(joint)
            at.setdefault(joint.child, []).append(joint)
    children = {joint.child for joint in joints if not joint.closes}
    order = [*roots, *(link for link in links if link not in children), *links]
    reached: set[str] = set()
    used: set[int] = set()
    free: list[str] = []
    for root in (world, *order):
        if root in reached:
            continue
        if root != world:
            free.append(root)
        todo = [root]
        reached.add(root)
        while todo:
            parent = todo.pop(0)
            for joint in at.get(parent, ()):
                child = joint.child if joint.parent == parent else joint.parent
                if id(joint) not in used and child not in reached:
                    used.add(id(joint))
                    reached.add(child)
                    todo.append(child)
                    if joint.parent != parent:
                        _turn_round(joint)
    for joint in joints:
        joint.closes = id(joint) not in used
    return free
