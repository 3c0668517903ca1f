"""Further joints of a `Sim`, most of them with several coordinates: shafts, screws, crosses, pucks, beads and rods."""

from __future__ import annotations

from dovetail.sim.given import positive
from dovetail.sim.joint import MovingJoint
from dovetail.sim.table import spell

__all__ = ["CylindricalJoint", "DistanceJoint", "PlanarJoint", "PointOnLineJoint", "ScrewJoint", "UniversalJoint"]


def _coordinate(name: str) -> property:
    """The value of a coordinate, which may be set."""

    def get(joint: MovingJoint) -> float:
        return joint.coordinates[name].value

    def put(joint: MovingJoint, value: float) -> None:
        joint.coordinates[name].value = value

    return property(get, put)


class CylindricalJoint(MovingJoint):
    """A shaft in a sleeve: `distance` [m] along the axis and `angle` [rad] about it are free."""

    kind = "cylindrical joint"

    distance = _coordinate("distance")
    angle = _coordinate("angle")


class ScrewJoint(MovingJoint):
    """A nut on a thread: with each turn of `angle` [rad] it goes ahead by the pitch in `distance` [m]."""

    kind = "screw joint"

    angle = _coordinate("angle")
    distance = _coordinate("distance")


class UniversalJoint(MovingJoint):
    """A cross between two yokes: `angle` [rad] about the pin of the left body, `bend` about that of the right."""

    kind = "universal joint"

    angle = _coordinate("angle")
    bend = _coordinate("bend")


class PlanarJoint(MovingJoint):
    """A puck on a table: slides in the plane across the axis (`x`, `y` [m]) and turns about it (`angle` [rad])."""

    kind = "planar joint"

    x = _coordinate("distance_n")
    y = _coordinate("distance_b")
    angle = _coordinate("angle")


class PointOnLineJoint(MovingJoint):
    """A bead on a wire: a point of the right body stays on a line of the left; `distance` [m] along it is free."""

    kind = "point-on-line joint"

    distance = _coordinate("distance")


class DistanceJoint(MovingJoint):
    """A rod with a ball at either end keeps two points `length` [m] apart; a winch changes the length while it runs."""

    kind = "distance joint"

    @property
    def distance(self) -> float:
        return self._first.value

    @property
    def length(self) -> float:
        return float(self.attributes.slot("length").first)

    @length.setter
    def length(self, value: float) -> None:
        self.attributes["length"] = positive(self.who, "length", value, "m")

    @property
    def _beginning(self) -> float:
        return self.length

    def _rows(self) -> list[tuple[str, str]]:
        return [("length", f"{spell(self.length)} m"), *super()._rows()]
