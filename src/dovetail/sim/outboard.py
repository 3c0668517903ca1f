"""What the drives of a `Sim` have to move: masses and inertias beyond a joint, with all that hangs on it stretched out.

Bodies are taken off the ends of the mechanism one by one, lighter ones first and those that are held by the world or a
fixed body never, and hung on their neighbour. With r from a point to the centre of a body,

    S₀ = Σ m,   S₁ = Σ m r,   S₂ = Σ (m r² + I)

and hung on at a distance l they are S₀, S₁ + l S₀, S₂ + 2l S₁ + l² S₀: the farthest that they can get away. What cannot
be taken off is part of a loop; there a joint has all of it to move, as it lies.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dovetail.typing import Array

if TYPE_CHECKING:
    from dovetail.sim.body import Body
    from dovetail.sim.joint import SimJoint

__all__ = ["Moments", "outboard"]


class Moments(NamedTuple):
    """Moments of bodies about a point: Σ m [kg], Σ m r [kg·m], Σ (m r² + I) [kg·m²]."""

    point: Array
    mass: float
    first: float
    second: float

    def about(self, point: Array) -> Moments:
        """The same about another point, stretched away from it."""
        away = math.dist(self.point, point)
        first = self.first + away * self.mass
        return Moments(point, self.mass, first, self.second + away * (self.first + first))

    def inertia(self, unit: str) -> float:
        """What a slider [kg] or a hinge [kg·m²] has to move."""
        return self.mass if unit == "m" else self.second

    def weight(self, unit: str) -> float:
        """Times the acceleration of gravity, the load on a slider [N], or a hinge [N·m] at the radius of gyration."""
        return self.mass if unit == "m" else math.sqrt(self.mass * self.second)


def outboard(joints: Iterable[SimJoint]) -> dict[str, Moments]:
    """Of each joint, by name, what it has to move, about its anchor; joints between fixed bodies are left out."""
    found: dict[str, Moments] = {}
    parts: dict[str, list[Moments]] = {}
    ties: dict[str, dict[str, SimJoint]] = {}  # of a body, joints to others that move
    grounded: dict[str, list[SimJoint]] = {}
    masses: dict[str, float] = {}
    for joint in joints:
        ends = [body for body in (joint.left, joint.right) if body is not None and not body.fixed]
        for body in ends:
            if body.name not in parts:
                parts[body.name], ties[body.name], masses[body.name] = [_own(body)], {}, body.mass
        if len(ends) == 1:
            grounded.setdefault(ends[0].name, []).append(joint)
        for body in ends if len(ends) == 2 else ():
            ties[body.name][joint.name] = joint
    light = [(masses[name], name) for name in parts if len(ties[name]) == 1 and name not in grounded]
    heapq.heapify(light)
    while light:
        _, name = heapq.heappop(light)
        if len(ties[name]) != 1:
            continue  # the last of its kind: all others hang on it
        ((title, joint),) = ties.pop(name).items()
        neighbour = _other(joint, name)
        found[title] = _sum(parts.pop(name), joint.anchor)
        parts[neighbour].append(found[title])
        del ties[neighbour][title]
        if len(ties[neighbour]) == 1 and neighbour not in grounded:
            heapq.heappush(light, (masses[neighbour], neighbour))
    for group in _groups(ties):
        together = [part for name in group for part in parts[name]]
        around = {title: joint for name in group for title, joint in ties[name].items()}
        around |= {joint.name: joint for name in group for joint in grounded.get(name, ())}
        for title, joint in around.items():
            found[title] = _sum(together, joint.anchor)
    return found


def _own(body: Body) -> Moments:
    # half the trace is the largest moment of a rod and of a plate, and 1.5 times that of a ball
    return Moments(body.center, body.mass, 0.0, 0.5 * float(np.trace(body.inertia)))


def _sum(parts: list[Moments], point: Array) -> Moments:
    moved = [part.about(point) for part in parts]
    return Moments(point, sum(m.mass for m in moved), sum(m.first for m in moved), sum(m.second for m in moved))


def _other(joint: SimJoint, name: str) -> str:
    assert joint.left is not None
    return joint.left.name if joint.right.name == name else joint.right.name


def _groups(ties: dict[str, dict[str, SimJoint]]) -> Iterable[list[str]]:
    """Bodies that are still tied to each other."""
    rest = dict.fromkeys(ties)
    while rest:
        group = [rest.popitem()[0]]
        for name in group:
            for other in [_other(joint, name) for joint in ties[name].values()]:
                if other in rest:
                    del rest[other]
                    group.append(other)
        yield group
