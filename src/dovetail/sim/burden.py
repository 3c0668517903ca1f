"""What each coordinate of a `Sim` has to move and to carry, by its joint and by couplings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from dovetail.sim.outboard import outboard

if TYPE_CHECKING:
    from dovetail.sim.coordinate import Coordinate
    from dovetail.sim.coupling import Coupling
    from dovetail.sim.joint import SimJoint

__all__ = ["Burden", "burdens"]


class Burden(NamedTuple):
    """Inertia [kg or kg·m²] and the load that gravity is at most [N or N·m], bodies stretched away from the joint."""

    inertia: float
    load: float


def burdens(joints: Iterable[SimJoint], couplings: Iterable[Coupling], gravity: float) -> dict[tuple[str, str], Burden]:
    """Of all coordinates, by the names of joint and coordinate."""
    own: dict[tuple[str, str], Burden] = {}
    beyond = outboard(joints)
    for joint in joints:
        for coordinate in joint.coordinates.values():
            moments, unit = beyond[joint.name], coordinate.unit
            own[_key(coordinate)] = Burden(moments.inertia(unit) + coordinate.rotor, gravity * moments.weight(unit))
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
        )
    return found


def _key(coordinate: Coordinate) -> tuple[str, str]:
    return coordinate.joint.name, coordinate.name
