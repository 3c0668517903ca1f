"""Links that are one body: fixed joints weld them, each with its inertia and its shapes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dovetail.doctor.finding import warning
from dovetail.errors import SceneError
from dovetail.robot.description import Inertia, Link, RobotDescription, Shape
from dovetail.robot.inertias import made_possible, speck, trace_of
from dovetail.typing import Array

__all__ = ["Group", "grouped"]

_SLIGHT = 1e-4
"""Mass of a link that moves and has none, beside the mean of the others."""


@dataclass
class Group:
    """A body: its first link, whose frame is the body's, and the poses of all of its links in that."""

    name: str
    poses: dict[str, Array] = field(default_factory=dict)
    inertia: Inertia | None = None
    fixed: bool = False

    def shapes(self, robot: RobotDescription, what: str) -> list[tuple[Array, Shape]]:
        """Its `collisions` or `visuals` with the poses of their links."""
        return [(pose, shape) for name, pose in self.poses.items() for shape in getattr(robot.links[name], what)]


def grouped(robot: RobotDescription, fixed_base: bool, merge_fixed: bool) -> dict[str, Group]:
    """The bodies of a robot by their first link; with `merge_fixed` all that fixed joints hold are one.

    Without it, links that have no mass are still part of what carries them.
    """
    groups = {robot.root: Group(robot.root, {robot.root: np.eye(4)}, fixed=fixed_base)}
    of = {robot.root: groups[robot.root]}
    for joint in robot.downwards():
        if joint.kind == "fixed" and (merge_fixed or robot.links[joint.child].inertia is None):
            group = of[joint.parent]
            group.poses[joint.child] = group.poses[joint.parent] @ joint.pose
        else:
            group = groups[joint.child] = Group(joint.child, {joint.child: np.eye(4)})
        of[joint.child] = group
    _weigh(robot, groups)
    return groups


def _weigh(robot: RobotDescription, groups: dict[str, Group]) -> None:
    masses = [link.inertia.mass for link in robot.links.values() if link.inertia is not None]
    for group in groups.values():
        for name, pose in group.poses.items():
            given = robot.links[name].inertia
            if given is not None:
                part = given.moved(pose)
                group.inertia = part if group.inertia is None else group.inertia.plus(part)
        link = robot.links[group.name]
        if group.inertia is not None:
            group.inertia = made_possible(link.name, link.where, group.inertia, robot.findings)
        elif link.carries:
            continue
        elif not group.fixed:
            _invent(robot, link, group, masses)
    for group in groups.values():
        carried = robot.links[group.name].carries
        if carried:
            inertia = groups[carried].inertia
            assert inertia is not None
            group.inertia = trace_of(inertia)


def _invent(robot: RobotDescription, link: Link, group: Group, masses: list[float]) -> None:
    if group.name == robot.root or not masses:
        raise SceneError(
            f"robot '{robot.name}' of '{robot.file}': link '{link.name}' ({link.where}) can move freely and has no "
            "mass; give it an <inertial>, or fixed_base=True."
        )
    group.inertia = speck(_SLIGHT * sum(masses) / len(masses))
    text = f"link '{link.name}' ({link.where}) moves and has no mass; it was given {group.inertia.mass:.2g} kg"
    robot.findings.append(warning(text, "give it an <inertial>, or make its joint a fixed one."))
