"""Loops of a robot: links that the file ties together beside its tree of joints."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dovetail.doctor.finding import warning
from dovetail.robot.description import Closure, RobotDescription
from dovetail.sim.body import Body
from dovetail.typing import Array

if TYPE_CHECKING:
    from dovetail.sim.sim import Sim

__all__ = ["close_loops"]

_OPEN = 1e-6  # [m, rad] by which links may be apart at the start, and are taken for joined


def close_loops(
    sim: Sim, robot: RobotDescription, poses: dict[str, Array], bodies: dict[str, Body], prefix: str
) -> None:
    """Exact ball joints and welds between links that are together at the start; others are left open, and told."""
    for closure in robot.closures:
        left, right = (bodies[link] for link in closure.links)
        if left is right or (left.fixed and right.fixed):
            continue
        gap, turn, place = _opening(closure, poses)
        if gap > _OPEN or (closure.kind == "weld" and turn > _OPEN):
            text = f"{closure.kind} '{closure.name}' of '{closure.links[0]}' and '{closure.links[1]}' is open at the "
            text += f"start, by {gap:.3g} m and {turn:.3g} rad; it is not made"
            robot.findings.append(warning(text, "start in a posture q that closes it."))
        elif closure.kind == "weld":
            sim.fixed(left, right, place, name=f"{prefix}/{closure.name}")
        else:
            sim.spherical(left, right, place, name=f"{prefix}/{closure.name}")


def _opening(closure: Closure, poses: dict[str, Array]) -> tuple[float, float, Array]:
    """How far apart the points [m] and directions [rad] of two links are, and where the first one has the point."""
    first, second = (poses[link] for link in closure.links)
    place = first[:3, :3] @ closure.points[0] + first[:3, 3]
    gap = float(np.linalg.norm(second[:3, :3] @ closure.points[1] + second[:3, 3] - place))
    left = (first[:3, :3] @ closure.turn).T @ second[:3, :3]
    return gap, math.acos(min(1.0, max(-1.0, (float(np.trace(left)) - 1.0) / 2.0))), place
