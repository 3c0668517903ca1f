"""Joints of robots with several free axes, rods, motors that are on from the start, and planes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.doctor.finding import warning
from dovetail.robot.description import Joint, Motor, RobotDescription
from dovetail.sim.body import Body
from dovetail.sim.coordinate import Coordinate
from dovetail.sim.joint import SimJoint
from dovetail.sim.spherical_joint import SphericalJoint
from dovetail.typing import Array

if TYPE_CHECKING:
    from dovetail.sim.sim import Sim

__all__ = ["join_d6", "join_rod", "measure_ball", "put_planes", "resist_ball", "start_motor"]


def join_d6(sim: Sim, joint: Joint, left: Body, right: Body, poses: dict[str, Array], name: str) -> SimJoint:
    """A joint of six axes with limits and motors on those that are free.

    It is made where the right body has its anchor, along the axes of the left one; `init_…` say how far that is from 0.
    """
    on_child = np.eye(4)
    on_child[:3, :3], on_child[:3, 3] = joint.frame, joint.anchor
    frames = [poses[joint.parent] @ joint.on_parent, poses[joint.child] @ on_child]
    ends = [left, right]
    if joint.flipped:
        frames.reverse()
        ends.reverse()
    free: dict[str, Any] = dict.fromkeys(joint.axes, "free")
    made = sim.d6(ends[0], ends[1], frames[1][:3, 3], frames[0][:3, :3], name=name, **free)
    for axis, setting in joint.axes.items():
        coordinate = made.coordinates[axis]
        made.attributes[coordinate.word.offset] = setting.start
        if setting.limit is not None:
            coordinate.limit = setting.limit
        if setting.motor is not None:
            start_motor(coordinate, setting.motor)
    return made


def measure_ball(made: SphericalJoint, joint: Joint, carrier: Array) -> None:
    """Have the rotation vector of a ball measured as the file has it; `carrier`: pose of the parent in its body."""
    on_parent, on_child = carrier[:3, :3] @ joint.pose[:3, :3] @ joint.frame, joint.frame
    made.measure((on_child, on_parent) if joint.flipped else (on_parent, on_child))


def resist_ball(made: SphericalJoint, joint: Joint) -> None:
    """Damping, rotor and range of a ball as a whole; a range of half a turn is none."""
    if joint.damping > 0.0:
        made.damping = joint.damping
    if joint.armature > 0.0:
        made.armature = joint.armature
    if joint.limit is not None and joint.limit[1] < math.pi:
        made.max_angle = joint.limit[1]


def start_motor(coordinate: Coordinate, motor: Motor) -> None:
    """Let a motor of the file act; one without gains is there, and off."""
    scale = coordinate.inertia if motor.is_acceleration else 1.0
    drive = coordinate.drive
    drive.target = motor.target
    drive.stiffness, drive.damping = scale * motor.stiffness, scale * motor.damping
    coordinate.set("drive/target_velocity", motor.target_velocity)
    drive.max_effort = scale * motor.effort if np.isfinite(motor.effort) else None


def join_rod(sim: Sim, joint: Joint, left: Body, right: Body, poses: dict[str, Array], name: str) -> SimJoint:
    """A rod from a point of the parent to one of the child, as long as they are apart."""
    start = (poses[joint.parent] @ joint.on_parent)[:3, 3]
    pose = poses[joint.child]
    return sim.distance(left, right, start, pose[:3, :3] @ joint.anchor + pose[:3, 3], name=name)


def put_planes(sim: Sim, robot: RobotDescription, frame: Array, bodies: dict[str, Body]) -> None:
    """The half-spaces of the file, but for those that bodies begin in."""
    for point, normal in robot.planes if bodies else ():
        up = frame[:3, :3] @ normal
        height = float((frame[:3, :3] @ point + frame[:3, 3]) @ up)
        below = [name for name, body in bodies.items() if not body.fixed and (body.vertices @ up).min() <= height]
        if below:
            named = ", ".join(f"'{name}'" for name in below[:4])
            robot.findings.append(
                warning(f"the plane at {point.tolist()} m is left out: {named} begin below it", "move them above it.")
            )
        else:
            sim.ground(height, normal=up)
