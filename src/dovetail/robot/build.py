"""Putting the description of a robot into a `Sim`: bodies in the start posture, joints, drives, what touches."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dovetail.checked import number, shown
from dovetail.doctor.finding import remark, warning
from dovetail.errors import SceneError
from dovetail.geometry import SimplicialComplex
from dovetail.robot.description import Joint, RobotDescription
from dovetail.robot.groups import Group, grouped
from dovetail.robot.inertias import box_of, moments, speck
from dovetail.robot.overlaps import overlapping
from dovetail.robot.robot import Frame, Robot
from dovetail.robot.surfaces import Surfaces
from dovetail.sim.body import Body
from dovetail.sim.joint import MovingJoint, PrismaticJoint, RevoluteJoint, SimJoint
from dovetail.typing import Array

if TYPE_CHECKING:
    from dovetail.sim.sim import Sim

__all__ = ["Wishes", "build"]

MakeBody = Callable[[SimplicialComplex, Array, float, dict[str, Any]], Body]
"""Makes a body of a mesh, its moments M̂, the volume of what resists deformation, and options of bodies."""

_WITHIN = 0.01
"""Of the range of a joint that 0 is outside of: how far from its nearer end it starts."""

_DENSITY = 1000.0
"""Mass over volume [kg/m³] of what resists deformation: a link is as stiff as a solid of water's weight."""


_SETTLING = 0.05
"""Damping over stiffness [s] of drives, to which the file gives no gains: targets are approached as e^(−t/0.05 s).

A drive of limited effort without damping swings about its target, or rings and loses its strength.
"""

_YIELDING = 0.01
"""Their stiffness beside that of a drive without gains: still 100 times the inertia in a step, and quickly solved."""


@dataclass(frozen=True)
class Wishes:
    """What a user asked for beside the file; see `Sim.robot`."""

    pose: Array
    fixed_base: bool
    collision: str | None
    self_collision: bool
    merge_fixed: bool
    q: Mapping[str, float]
    friction: float | None
    name: str


def build(sim: Sim, robot: RobotDescription, wishes: Wishes, make: MakeBody) -> Robot:
    """Make the bodies and joints; `robot.findings` grow by what had to be decided."""
    start = _posture(robot, wishes.q)
    values, poses = robot.values(start), robot.poses(start, wishes.pose)
    groups = grouped(robot, wishes.fixed_base, wishes.merge_fixed)
    surfaces = Surfaces(wishes.collision or "hull", robot.findings)
    shapes: dict[str, SimplicialComplex | None] = dict.fromkeys(groups)
    if wishes.collision is not None:
        shapes = {name: surfaces.of_link(name, group.shapes(robot, "collisions")) for name, group in groups.items()}
    surfaces.tell()
    bodies = {name: _body(make, robot, group, shapes[name], poses[name], wishes) for name, group in groups.items()}
    frames = {
        link: Frame(link, bodies[group.name], local) for group in groups.values() for link, local in group.poses.items()
    }
    joints: dict[str, SimJoint] = {}
    for joint in robot.joints.values():
        left, right = frames[joint.parent].body, frames[joint.child].body
        if left is not right and joint.kind != "floating":
            joints[joint.name] = _join(sim, joint, left, right, poses[joint.child], values[joint.name], wishes.name)
    for joint in robot.joints.values():
        if joint.mimic is not None:
            leader, ratio, offset = robot.leader(joint)
            sim.couple(
                joints[joint.name], joints[leader.name], ratio, offset, name=f"{wishes.name}/{joint.name} follows"
            )
    touching = {name: body for name, body in bodies.items() if shapes[name] is not None}
    _part(sim, robot, touching, joints, wishes)
    return Robot(sim, wishes.name, robot, bodies, joints, frames)


# --- where it starts ----------------------------------------------------------------------------------------


def _posture(robot: RobotDescription, given: Mapping[str, float]) -> dict[str, float]:
    """q of the joints that lead: as given, else 0, or where 0 is beyond their limits a little inside of these."""
    who = f"Sim.robot: robot '{robot.name}'"
    found = {}
    for name, value in given.items():
        joint = robot.joints.get(name)
        if joint is None or joint.kind not in ("revolute", "prismatic") or joint.mimic is not None:
            free = [j.name for j in robot.joints.values() if j.kind in ("revolute", "prismatic") and j.mimic is None]
            raise SceneError(
                f"{who}: q has '{name}', which is no free hinge or slider of it; there are {', '.join(free)}."
            )
        q = number(value)
        low, high = joint.limit or (-math.inf, math.inf)
        if q is None or not math.isfinite(q) or not low <= q <= high:
            raise SceneError(f"{who}: q['{name}'] = {shown(value)}; give a number from {low:g} to {high:g}.")
        found[name] = q
    for joint in robot.joints.values():
        if joint.limit is None or joint.mimic is not None or joint.name in found:
            continue
        low, high = joint.limit
        if not low <= 0.0 <= high:
            near = _WITHIN * (high - low)
            found[joint.name] = low + near if low > 0.0 else high - near
            why = f"since 0 is beyond its limits {low:g} to {high:g}"
            robot.findings.append(remark(f"joint '{joint.name}' starts at {found[joint.name]:.4g}, {why}"))
    return found


# --- bodies -------------------------------------------------------------------------------------------------


def _body(
    make: MakeBody,
    robot: RobotDescription,
    group: Group,
    shape: SimplicialComplex | None,
    pose: Array,
    wishes: Wishes,
) -> Body:
    inertia = group.inertia or speck(1.0)  # of a base that is fixed, where it does not matter
    options: dict[str, Any] = {
        "name": f"{wishes.name}/{group.name}",
        "pos": pose[:3, 3],
        "rot": pose[:3, :3],
        "fixed": group.fixed,
        "contact": shape is not None,
        "color": next((s.color for _, s in group.shapes(robot, "visuals") if s.color is not None), None),
    }
    if wishes.friction is not None:
        options["friction"] = wishes.friction
    mesh = box_of(inertia) if shape is None else shape
    return make(mesh, moments(inertia), inertia.mass / _DENSITY, options)


# --- joints -------------------------------------------------------------------------------------------------


def _join(sim: Sim, joint: Joint, left: Body, right: Body, pose: Array, value: float, prefix: str) -> SimJoint:
    place, axis, name = pose[:3, 3], pose[:3, :3] @ joint.axis, f"{prefix}/{joint.name}"
    if sim.scene.objects.find(name):  # a link has this name
        name += " joint"
    if joint.kind == "fixed":
        return sim.fixed(left, right, place, name=name)
    if joint.kind == "planar":
        return sim.planar(left, right, place, axis, name=name)
    made: RevoluteJoint | PrismaticJoint
    if joint.kind == "revolute":
        made = sim.revolute(left, right, place, axis, name=name)
    else:
        made = sim.prismatic(left, right, axis, place, name=name)
    _equip(made, joint, value)
    return made


def _equip(made: MovingJoint, joint: Joint, value: float) -> None:
    (coordinate,) = made.coordinates.values()
    made.attributes[coordinate.word.offset] = value
    if joint.limit is not None:
        coordinate.limit = joint.limit
    if joint.damping > 0.0:
        coordinate.damping = joint.damping
    if joint.friction > 0.0:
        coordinate.friction = joint.friction
    if joint.mimic is None:
        drive = coordinate.drive
        drive.target = value  # which makes it firm
        drive.stiffness = _YIELDING * drive.stiffness
        drive.damping = _SETTLING * drive.stiffness
        drive.max_effort, drive.max_velocity = joint.effort, joint.velocity
        drive.on = False


# --- what may touch -----------------------------------------------------------------------------------------


def _part(
    sim: Sim, robot: RobotDescription, bodies: dict[str, Body], joints: dict[str, SimJoint], wishes: Wishes
) -> None:
    """Let those pass through each other that overlap at the start, and tell; neighbours do so anyway."""
    if not bodies or not sim.scene.config["contact/enable"]:
        return
    if not wishes.self_collision:
        everyone = list(bodies.values())
        sim.no_contact(everyone, everyone)
        return
    links, shapes = list(bodies), [body.slot.geometry for body in bodies.values()]
    neighbours = {frozenset((joint.left, joint.right)) for joint in joints.values()}
    masked: dict[str, list[str]] = {}
    for a, b in overlapping(shapes, float(sim.scene.config["contact/d_hat"])) if len(links) > 1 else []:
        one, other = bodies[links[a]], bodies[links[b]]
        if frozenset((one, other)) not in neighbours and not (one.fixed and other.fixed):
            masked.setdefault(links[a], []).append(links[b])
    for name, others in masked.items():
        sim.no_contact(bodies[name], [bodies[other] for other in others])
        told = ", ".join(f"'{other}'" for other in others)
        text = f"link '{name}' overlaps {told} at the start"
        robot.findings.append(
            warning(text, "they pass through each other; start in another posture q, or mend the shapes.")
        )
