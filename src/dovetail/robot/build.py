"""Putting the description of a robot into a `Sim`: bodies in the start posture, joints, drives, what touches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.doctor.finding import warning
from dovetail.geometry import SimplicialComplex
from dovetail.robot.closing import close_loops
from dovetail.robot.description import Joint, RobotDescription
from dovetail.robot.free_joints import join_d6, join_rod, measure_ball, put_planes, resist_ball, start_motor
from dovetail.robot.groups import Group, grouped
from dovetail.robot.inertias import box_of, moments, speck
from dovetail.robot.looks import Looks, look_alike, looks_of
from dovetail.robot.overlaps import overlapping
from dovetail.robot.posture import start_of
from dovetail.robot.robot import Frame, Robot
from dovetail.robot.surfaces import Surfaces
from dovetail.sim.body import Body
from dovetail.sim.coordinate import Coordinate
from dovetail.sim.joint import PrismaticJoint, RevoluteJoint, SimJoint
from dovetail.sim.spherical_joint import SphericalJoint
from dovetail.typing import Array

if TYPE_CHECKING:
    from dovetail.sim.sim import Sim

__all__ = ["Wishes", "build"]

MakeBody = Callable[[SimplicialComplex, Array, float, dict[str, Any], list[SimplicialComplex]], Body]
"""Makes a body of a mesh, its moments M̂, the volume of what resists deformation, options of bodies, and its looks."""

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
    fixed_base: bool | None
    collision: str | None
    self_collision: bool
    merge_fixed: bool
    visuals: bool
    q: Mapping[str, Any] | str
    friction: float | None
    name: str


def build(sim: Sim, robot: RobotDescription, wishes: Wishes, make: MakeBody) -> Robot:
    """Make the bodies and joints; `robot.findings` grow by what had to be decided."""
    start, base = start_of(robot, wishes.q)
    values, poses = robot.values(start), robot.poses(start, wishes.pose @ base)
    groups = grouped(robot, not robot.is_free if wishes.fixed_base is None else wishes.fixed_base, wishes.merge_fixed)
    surfaces = Surfaces(wishes.collision or "hull", robot.findings)
    shapes: dict[str, SimplicialComplex | None] = dict.fromkeys(groups)
    if wishes.collision is not None:
        shapes = {name: surfaces.of_link(name, group.shapes(robot, "collisions")) for name, group in groups.items()}
    surfaces.tell()
    bodies = {}
    for name, group in groups.items():
        seen, solid = (group.shapes(robot, what) for what in ("visuals", "collisions"))
        if not wishes.visuals or (shapes[name] is not None and look_alike(seen, solid)):
            seen = []
        worn = looks_of(name, seen, surfaces, robot.findings)
        bodies[name] = _body(make, robot, groups, name, (shapes[name], worn), poses[name], wishes)
    frames = {
        link: Frame(link, bodies[group.name], local) for group in groups.values() for link, local in group.poses.items()
    }
    joints: dict[str, SimJoint] = {}
    bearers = robot.bearers()
    for joint in (*robot.joints.values(), *robot.loops.values()):
        left, right = frames[joint.parent].body, frames[joint.child].body
        if left is not right and joint.kind != "floating" and not (left.fixed and right.fixed):
            made = joints[joint.name] = _join(sim, joint, left, right, poses, wishes.name)
            if isinstance(made, SphericalJoint) and not joint.closes:
                measure_ball(made, joint, frames[joint.parent].local)
            if isinstance(made, RevoluteJoint | PrismaticJoint | SphericalJoint):
                real = (frames[bearers[joint.parent]].body, frames[robot.carried(joint.child)].body)
                _equip(made, joint, values.get(joint.name, joint.reference), *real)
    for joint in robot.joints.values():
        if joint.mimic is not None:
            leader, ratio, offset = robot.leader(joint)
            sim.couple(
                joints[joint.name], joints[leader.name], ratio, offset, name=f"{wishes.name}/{joint.name} follows"
            )
    close_loops(sim, robot, poses, {name: frame.body for name, frame in frames.items()}, wishes.name)
    touching = {name: body for name, body in bodies.items() if shapes[name] is not None}
    put_planes(sim, robot, wishes.pose @ robot.upright, touching)
    _part(sim, robot, touching, joints, wishes, {link: frame.body for link, frame in frames.items()})
    return Robot(sim, wishes.name, robot, bodies, joints, frames)


# --- bodies -------------------------------------------------------------------------------------------------


def _body(
    make: MakeBody,
    robot: RobotDescription,
    groups: dict[str, Group],
    name: str,
    surfaces: tuple[SimplicialComplex | None, Looks],
    pose: Array,
    wishes: Wishes,
) -> Body:
    shape, looks = surfaces
    group, carried = groups[name], groups.get(robot.carried(name))
    inertia = group.inertia or speck(1.0)  # of a base that is fixed, where it does not matter
    borne = inertia if carried is None or carried.inertia is None else carried.inertia
    options: dict[str, Any] = {
        "name": f"{wishes.name}/{group.name}",
        "pos": pose[:3, 3],
        "rot": pose[:3, :3],
        "fixed": group.fixed,
        "contact": shape is not None,
        "color": _color(robot, group, looks),
    }
    friction = robot.links[group.name].friction if wishes.friction is None else wishes.friction
    if friction is not None:
        options["friction"] = friction
    if robot.links[group.name].restitution > 0.0:
        options["restitution"] = robot.links[group.name].restitution
    mesh = box_of(inertia) if shape is None else shape
    return make(mesh, moments(inertia), borne.mass / _DENSITY, options, looks.meshes)


def _color(robot: RobotDescription, group: Group, looks: Looks) -> Array | None:
    """That of its looks, or the first of its shapes."""
    if looks.meshes:
        return looks.color
    shapes = (*group.shapes(robot, "visuals"), *group.shapes(robot, "collisions"))
    return next((shape.color for _, shape in shapes if shape.color is not None), None)


# --- joints -------------------------------------------------------------------------------------------------


def _join(sim: Sim, joint: Joint, left: Body, right: Body, poses: dict[str, Array], prefix: str) -> SimJoint:
    pose = poses[joint.child]
    place, axis, name = pose[:3, :3] @ joint.anchor + pose[:3, 3], pose[:3, :3] @ joint.axis, f"{prefix}/{joint.name}"
    if sim.scene.objects.find(name):  # a link has this name
        name += " joint"
    if joint.kind == "fixed":
        return sim.fixed(left, right, place, name=name)
    if joint.kind == "ball":
        return sim.spherical(*((right, left) if joint.flipped else (left, right)), place, name=name)
    if joint.kind == "d6":
        return join_d6(sim, joint, left, right, poses, name)
    if joint.kind == "distance":
        return join_rod(sim, joint, left, right, poses, name)
    if joint.kind == "planar":
        return sim.planar(left, right, place, axis, name=name)
    if joint.kind == "revolute":
        return sim.revolute(left, right, place, axis, name=name)
    return sim.prismatic(left, right, axis, place, name=name)


def _equip(made: SimJoint, joint: Joint, value: Any, left: Body, right: Body) -> None:
    """Limits, springs and motors of a joint; left and right are what is on its ends, bodies between joints left out."""
    if isinstance(made, SphericalJoint):
        resist_ball(made, joint)
    for coordinate, start in zip(made.coordinates.values(), np.zeros(len(made.coordinates)) + value, strict=True):
        coordinate.make_firm_for(left, right)
        if joint.is_scalar:
            made.attributes[coordinate.word.offset] = start
        _equip_coordinate(coordinate, joint, float(start))


def _equip_coordinate(coordinate: Coordinate, joint: Joint, value: float) -> None:
    if joint.is_scalar and joint.limit is not None:
        coordinate.limit = joint.limit
    if joint.is_scalar and joint.damping > 0.0:
        coordinate.damping = joint.damping
    if joint.is_scalar and joint.armature > 0.0:
        coordinate.armature = joint.armature
    if joint.friction > 0.0:
        coordinate.friction = joint.friction
    if joint.spring > 0.0:
        coordinate.spring, coordinate.rest = joint.spring, joint.rest
    if joint.mimic is None:
        drive = coordinate.drive
        drive.target = value  # which makes it firm
        if joint.gains is None:
            drive.stiffness = _YIELDING * drive.stiffness
            drive.damping = _SETTLING * drive.stiffness
        else:
            drive.stiffness, drive.damping = joint.gains
        drive.max_effort, drive.max_velocity = joint.effort, joint.velocity
        drive.on = False
    if joint.motor is not None:
        start_motor(coordinate, joint.motor)


# --- what may touch -----------------------------------------------------------------------------------------


def _part(
    sim: Sim,
    robot: RobotDescription,
    bodies: dict[str, Body],
    joints: dict[str, SimJoint],
    wishes: Wishes,
    of: dict[str, Body],
) -> None:
    """Let those pass through each other that the file keeps apart, or that overlap at the start, which is told.

    Neighbours do so anyway. `of` are the bodies of links.
    """
    if not bodies or not sim.scene.config["contact/enable"]:
        return
    if not wishes.self_collision:
        everyone = list(bodies.values())
        sim.no_contact(everyone, everyone)
        return
    links, shapes = list(bodies), [body.slot.geometry for body in bodies.values()]
    neighbours = {frozenset((joint.left, joint.right)) for joint in joints.values()}
    title = {body: name for name, body in bodies.items()}
    kept_apart: dict[str, set[str]] = {}
    for pair in robot.apart:
        first, second = sorted(title.get(of[link], "") for link in pair)
        if first and first != second and frozenset((bodies[first], bodies[second])) not in neighbours:
            kept_apart.setdefault(first, set()).add(second)
            neighbours.add(frozenset((bodies[first], bodies[second])))
    for name, excluded in kept_apart.items():
        sim.no_contact(bodies[name], [bodies[other] for other in sorted(excluded)])
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
