"""What each coordinate of a `Sim` has to move and to carry, by its joint and by couplings."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dovetail.sim.outboard import outboard
from dovetail.typing import Array

if TYPE_CHECKING:
    from dovetail.sim.coordinate import Coordinate
    from dovetail.sim.coupling import Coupling
    from dovetail.sim.joint import SimJoint

__all__ = ["Burden", "burdens"]


class Burden(NamedTuple):
    """Inertia [kg or kg·m²] and the load that gravity is at most [N or N·m], bodies stretched away from the joint.

    load       with the coordinate along or across gravity, as it is worst
    carried    as it lies: without what the other motions of the joint take, which the ground or a fixed body holds
    """

    inertia: float
    load: float
    carried: float


def burdens(
    joints: Iterable[SimJoint], couplings: Iterable[Coupling], gravity: Array, least: float
) -> dict[tuple[str, str], Burden]:
    """Of all coordinates, by the names of joint and coordinate; loads are of a gravity of `least` m/s² or more."""
    pull = max(float(np.linalg.norm(gravity)), least)
    own: dict[tuple[str, str], Burden] = {}
    beyond = outboard(joints)
    for joint in joints:
        for coordinate in joint.coordinates.values():
            moments, unit = beyond[joint.name], coordinate.unit
            inertia, weight = moments.inertia(unit) + coordinate.rotor, moments.weight(unit)
            own[_key(coordinate)] = Burden(inertia, pull * weight, _felt(coordinate, gravity) * weight)
    ties: dict[tuple[str, str], list[tuple[tuple[str, str], float]]] = {}
    for coupling in couplings:
        follower, leader = _key(coupling.follower), _key(coupling.leader)
        ties.setdefault(leader, []).append((follower, coupling.ratio))
        if coupling.ratio != 0.0:
            ties.setdefault(follower, []).append((leader, 1.0 / coupling.ratio))
    found = dict(own)
    for key in ties:
        rates, queue = {key: 1.0}, [key]  # how fast the others move when this one moves with 1
        for at in queue:
            for other, ratio in ties.get(at, ()):
                if other not in rates:
                    rates[other] = rates[at] * ratio
                    queue.append(other)
        found[key] = Burden(
            sum(rate * rate * own[other].inertia for other, rate in rates.items()),
            sum(abs(rate) * own[other].load for other, rate in rates.items()),
            sum(abs(rate) * own[other].carried for other, rate in rates.items()),
        )
    return found


def _felt(coordinate: Coordinate, gravity: Array) -> float:
    """How much of gravity acts on a coordinate: on a slider that along its axis, on a hinge that across it.

    All of it where the axis may turn, or where there are several.
    """
    joint, whole = coordinate.joint, float(np.linalg.norm(gravity))
    still = any(body is None or body.fixed for body in (joint.left, joint.right))
    axis = getattr(joint, "axis", None)
    if not still or axis is None or len(joint.coordinates) > 1:
        return whole
    with np.errstate(invalid="ignore", over="ignore"):  # gravity that is not finite is refused by the step
        along = abs(float(axis @ gravity))
    return along if coordinate.unit == "m" else math.sqrt(max(whole * whole - along * along, 0.0))


def _key(coordinate: Coordinate) -> tuple[str, str]:
    return coordinate.joint.name, coordinate.name
