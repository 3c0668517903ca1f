"""Where a robot starts: a keyframe, given coordinates, or those of the file, within limits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dovetail.checked import number, shown
from dovetail.doctor.finding import remark
from dovetail.errors import SceneError
from dovetail.robot.description import Joint, RobotDescription
from dovetail.typing import Array

__all__ = ["start_of"]

_HOME = "home"
"""The keyframe that a robot starts in, where the file has one of this name."""

_WITHIN = 0.01
"""Of the range of a joint that starts outside of it: how far from its nearer end it starts."""


def start_of(robot: RobotDescription, given: Mapping[str, Any] | str) -> tuple[dict[str, Any], Array]:
    """q of the joints that lead, and the pose of the base in the frame of the file.

    Coordinates are as given, else those of the keyframe `home`, else those of the file, or where these are beyond their
    limits a little inside of these.
    """
    frame = robot.keyframes.get(_HOME)
    if isinstance(given, str):
        frame = robot.keyframes.get(given)
        if frame is None:
            known = ", ".join(robot.keyframes) or "none"
            raise SceneError(f"Sim.robot: robot '{robot.name}' has no keyframe '{given}'; there are {known}.")
        given = {}
    found: dict[str, Any] = {name: _checked(robot, name, value) for name, value in given.items()}
    for joint in robot.joints.values():
        if joint.mimic is not None or joint.name in found:
            continue
        value = joint.reference if frame is None else frame.q.get(joint.name, 0.0)
        found[joint.name] = _within(robot, joint, float(value)) if joint.is_scalar else value
    _let_followers(robot, robot.values(found))
    return found, robot.base if frame is None else frame.base


def _let_followers(robot: RobotDescription, values: dict[str, Any]) -> None:
    """A joint that follows another goes where that has it: limits that are in the way at the start give way."""
    for joint in robot.joints.values():
        low, high = joint.limit or (-math.inf, math.inf)
        if joint.mimic is not None and not low <= values[joint.name] <= high:
            value = float(values[joint.name])
            joint.limit = (min(low, value), max(high, value))
            why = (
                f"follows '{joint.mimic.leader}' to {value:.4g}, beyond its limits {low:g} to {high:g}, which give way"
            )
            robot.findings.append(remark(f"joint '{joint.name}' {why}"))


def _checked(robot: RobotDescription, name: str, value: Any) -> Any:
    who, joint = f"Sim.robot: robot '{robot.name}'", robot.joints.get(name)
    if joint is None or not (joint.is_scalar or joint.kind == "ball") or joint.mimic is not None:
        free = [j.name for j in robot.joints.values() if (j.is_scalar or j.kind == "ball") and j.mimic is None]
        raise SceneError(f"{who}: q has '{name}', which is no free hinge or slider of it; there are {', '.join(free)}.")
    if joint.kind == "ball":
        most = min(math.pi, joint.limit[1] if joint.limit else math.pi)
        try:
            turn = np.asarray(value, float)
        except (TypeError, ValueError):
            turn = np.zeros(0)
        if turn.shape != (3,) or not np.linalg.norm(turn) <= most:
            raise SceneError(
                f"{who}: q['{name}'] = {shown(value)}; give the rotation vector of a ball, 3 numbers [rad] of a length "
                f"up to {most:.4g}."
            )
        return turn
    q = number(value)
    low, high = joint.limit or (-math.inf, math.inf)
    if q is None or not math.isfinite(q) or not low <= q <= high:
        raise SceneError(f"{who}: q['{name}'] = {shown(value)}; give a number from {low:g} to {high:g}.")
    return q


def _within(robot: RobotDescription, joint: Joint, value: float) -> float:
    low, high = joint.limit or (-math.inf, math.inf)
    if low <= value <= high:
        return value
    near = _WITHIN * (high - low)
    start = low + near if low > value else high - near
    why = f"since {value:.4g} is beyond its limits {low:g} to {high:g}"
    robot.findings.append(remark(f"joint '{joint.name}' starts at {start:.4g}, {why}"))
    return start
