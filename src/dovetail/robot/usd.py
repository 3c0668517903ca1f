"""USD files: the rigid bodies, shapes and joints of UsdPhysics on a stage, as a robot; what is not honoured is told.

Poses are those of the default time. Lengths are scaled by metersPerUnit, masses by kilogramsPerUnit, and a stage whose
y is up is turned about x. usd_stage.py opens stages, usd_shapes.py has shapes and masses, usd_joints.py joints.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.doctor.finding import remark, warning
from dovetail.errors import SceneError
from dovetail.robot.description import Joint, Link, RobotDescription
from dovetail.robot.usd_joints import read_joint, settle, span
from dovetail.robot.usd_looks import Looks
from dovetail.robot.usd_shapes import Shapes
from dovetail.robot.usd_stage import Stage, cut, named
from dovetail.typing import Array

__all__ = ["WORLD", "read_usd"]

WORLD = "world"
"""The link of what is fixed: static shapes, and the ends of joints that are no bodies."""

_GRAVITY = 9.81
_OPEN = 1e-4  # m or rad by which bodies may lie off a joint, and that closing it is not told of


def read_usd(file: Path, folders: Sequence[str | PathLike[str]] = ()) -> RobotDescription:
    """The robot on a stage. Where its bodies hang together by joints, and not on the world, one of them is the root."""
    stage = Stage(file, folders)
    from pxr import Tf

    try:
        return _read(stage, file)
    except Tf.ErrorException as error:  # whatever else USD finds wrong with it
        raise SceneError(f"reading '{file}': {cut(str(error))}") from None
    except UnicodeDecodeError as error:
        raise SceneError(f"reading '{file}': the file is damaged: a name in it is no text ({error}).") from None


def _read(stage: Stage, file: Path) -> RobotDescription:
    robot = RobotDescription(stage.name, file, findings=stage.findings)
    bodies = {str(desc.primPath): desc for desc in stage.found("RigidBody") if desc.rigidBodyEnabled}
    names = _names(bodies)
    shapes = Shapes(stage, names)
    looks = Looks(stage, {path: stage.pose(bodies[path]) for path in names})
    links = {name: Link(name, path) for path, name in names.items()}
    world = Link(WORLD, "/")
    for path, name in names.items():
        links[name].collisions, links[name].visuals = shapes.of(path), looks.of(path)
        links[name].inertia = shapes.inertia(path)
        links[name].friction, links[name].restitution = shapes.surface(path)
        _tell_of_motion(robot, bodies[path])
    for desc in stage.found("RigidBody"):
        if not desc.rigidBodyEnabled:
            robot.findings.append(remark(f"{desc.primPath} is a rigid body that is not enabled; it does not move"))
    world.collisions, world.visuals = shapes.of(""), looks.of("")
    robot.planes, robot.upright = shapes.planes, stage.upright
    poses = {WORLD: np.eye(4)} | {name: stage.pose(bodies[path]) for path, name in names.items()}
    joints = _joints(stage, names)
    held = [path for path, desc in bodies.items() if desc.kinematicBody]
    for path in held:
        robot.findings.append(warning(f"{path} is kinematic", "it is held where it is; move it with your program."))
        name = names[path]
        joints.append(Joint(f"{name} is held", "fixed", WORLD, name, path, poses[name], np.eye(3)[0]))
    if not links:
        raise SceneError(f"reading '{file}': there is no enabled rigid body on the stage; there is nothing to move.")
    _hang(robot, joints, links, world, poses, _roots(stage, names))
    if robot.is_free and world.visuals:
        robot.findings.append(remark("what is on the stage beside the robot is not shown, since its base is free"))
    robot.base = stage.upright @ poses[robot.root]
    _tell_of_doubles(robot)
    _part(robot, stage, shapes)
    _tell_of_gravity(robot, stage)
    stage.tell_unread()
    robot.check_tree()
    return robot


def _names(bodies: Iterable[str]) -> dict[str, str]:
    """Names of links by their paths: that of the prim, or where several have it the whole path."""
    short = [path.rpartition("/")[2] for path in bodies]
    return {
        path: name if short.count(name) == 1 and name != WORLD else path.strip("/")
        for path, name in zip(bodies, short, strict=True)
    }


def _joints(stage: Stage, names: dict[str, str]) -> list[Joint]:
    found: list[Joint] = []
    for kind in ("Fixed", "Revolute", "Prismatic", "Spherical", "D6", "Distance"):
        for desc in stage.found(f"{kind}Joint"):
            joint = read_joint(stage, kind, desc, names, WORLD)
            if joint is not None:
                found.append(joint)
    for desc in stage.found("CustomJoint"):
        stage.warn(f"{desc.primPath} is a joint of a kind of its own ({stage.type_of(desc)}); it is left out")
    order = {path: k for k, path in enumerate(stage.paths)}
    found.sort(key=lambda joint: order.get(joint.where, 0))
    names_taken = [joint.where.rpartition("/")[2] for joint in found]
    for joint, name in zip(found, names_taken, strict=True):
        joint.name = name if names_taken.count(name) == 1 else joint.where.strip("/")
    return found


def _roots(stage: Stage, names: dict[str, str]) -> list[str]:
    """Bodies that the file names as the roots of articulations."""
    paths = [str(path) for desc in stage.found("Articulation") for path in (*desc.rootPrims, desc.primPath)]
    return [names[path] for path in paths if path in names]


def _hang(
    robot: RobotDescription,
    joints: list[Joint],
    links: dict[str, Link],
    world: Link,
    poses: dict[str, Array],
    roots: list[str],
) -> None:
    """Make a tree of links and joints; joints that are left over close loops."""
    free = span(joints, list(links), WORLD, roots)
    alone = len(free) == 1 and not world.collisions and not any(WORLD in (j.parent, j.child) for j in joints)
    if alone:
        robot.is_free = True
        robot.links = {free[0]: links[free[0]], **links}
    else:
        robot.links = {WORLD: world, **links}
        for name in free:
            link = links[name]
            joints.append(Joint(f"{name} is free", "floating", WORLD, name, link.where, poses[name], np.eye(3)[0]))
    for joint in joints:
        known = robot.loops if joint.closes else robot.joints
        if joint.name in robot.joints or joint.name in robot.loops:
            raise SceneError(f"reading '{robot.file}': {joint.where} has the name of another joint; rename it.")
        known[joint.name] = joint
        gap, turn = settle(joint, poses[joint.parent], poses[joint.child])
        for name, axis in joint.axes.items():
            if axis.limit is not None and not axis.limit[0] <= axis.start <= axis.limit[1]:
                raise SceneError(
                    f"reading '{robot.file}', {joint.where}: it limits {name} to {axis.limit} and starts at "
                    f"{axis.start:.4g} [rad or m]; begin inside, or shift its frames."
                )
        if max(gap, turn) > _OPEN:
            text = f"joint {joint.where} is open by {1e3 * gap:.2g} mm and {turn:.2g} rad as the bodies lie"
            what = "it holds them as they are" if joint.closes else "a body is moved to close it"
            robot.findings.append(warning(text, f"{what}; correct the bodies' poses or its frames."))


def _tell_of_doubles(robot: RobotDescription) -> None:
    """Note several joints between two bodies, which some programs write for the axes of one."""
    ties: dict[frozenset[str], list[str]] = {}
    for joint in (*robot.joints.values(), *robot.loops.values()):
        ties.setdefault(frozenset((joint.parent, joint.child)), []).append(joint.where)
    for wheres in ties.values():
        if len(wheres) > 1:
            text = f"several joints are between the same two bodies, {named(wheres)}"
            robot.findings.append(warning(text, "all of them hold at once; axes of one joint belong into a D6 joint."))


def _part(robot: RobotDescription, stage: Stage, shapes: Shapes) -> None:
    """Note which links do not touch: filtered pairs and collision groups."""
    for one, other in shapes.filtered():
        if one in robot.links and other in robot.links and one != other:
            robot.apart.add(frozenset((one, other)))
    for joint in (*robot.joints.values(), *robot.loops.values()):
        if joint.touches:
            stage.warn(f"joint {joint.where} lets its bodies touch (collisionEnabled); those of a joint never do here")


def _tell_of_motion(robot: RobotDescription, desc: Any) -> None:
    if any(desc.linearVelocity) or any(desc.angularVelocity):
        text = f"{desc.primPath} begins with a velocity, which is not taken over"
        robot.findings.append(warning(text, "set `body.velocity` and `body.spin`."))


def _tell_of_gravity(robot: RobotDescription, stage: Stage) -> None:
    for desc in stage.found("Scene"):
        given = np.array(desc.gravityDirection, float)
        down = stage.upright[:3, :3] @ given if given.any() else np.array([0.0, 0.0, -1.0])
        size = float(desc.gravityMagnitude) * stage.metres
        size = _GRAVITY if not np.isfinite(size) or size < 0.0 else size
        if abs(size - _GRAVITY) > 0.02 or down[2] > -0.999:
            g = ", ".join(f"{x:.4g}" for x in size * down / (np.linalg.norm(down) or 1.0))
            robot.findings.append(remark(f"{desc.primPath} has the gravity ({g}) m/s²; that of the Sim is what acts"))
