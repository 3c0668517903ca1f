"""Joints of a `Sim`: handles with plain properties."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from dovetail.constitution import (
    AffineBodyPrismaticJointExternalForce,
    AffineBodyRevoluteJointExternalForce,
    Joint,
)
from dovetail.constitution.base import class_on
from dovetail.geometry import AttributeCollection, SimplicialComplexSlot
from dovetail.sim.coordinate import Coordinate
from dovetail.sim.drive import Drive
from dovetail.sim.given import inverse
from dovetail.sim.handle import Handle
from dovetail.sim.table import html_table, spell
from dovetail.typing import Array

if TYPE_CHECKING:
    from dovetail.sim.body import Body
    from dovetail.sim.sim import Sim

__all__ = [
    "FixedJoint",
    "MovingJoint",
    "PrismaticJoint",
    "Reaction",
    "RevoluteJoint",
    "SimJoint",
]


class Reaction(NamedTuple):
    """What acts on the right body at a joint, in world axes: force [N], and torque [N·m] about the anchor."""

    force: Array
    torque: Array


def _of_first(name: str) -> property:
    """What the first coordinate of a joint has, which may be set."""

    def get(joint: MovingJoint) -> Any:
        return getattr(joint._first, name)

    def put(joint: MovingJoint, value: Any) -> None:
        setattr(joint._first, name, value)

    return property(get, put)


class SimJoint(Handle):
    """A joint between a left body (or the world, None) and a right one.

    | property | unit | |
    |---|---|---|
    | `reaction` | N, N·m | `.force` and `.torque` on the right body in the last step, as a force sensor shows them |
    | `bearing` | N, N·m | the part that holds the bodies together: without drives, limits, damping, friction, loads |
    | `gap` | m | how far the anchors have come apart |
    | `misalignment` | rad | how far directions that should agree have turned apart |
    | `anchor` | m | where the right body carries the joint's point |
    | `exact` | | whether it holds to round-off |
    """

    kind: ClassVar[str] = "joint"
    sim: Sim
    left: Body | None
    right: Body
    attributes: AttributeCollection
    """The attributes of the edge or vertex that the joint is."""
    coordinates: dict[str, Coordinate]
    """What the joint leaves free and measures, by name; the first one has the joint's own limit and drive."""

    def __init__(self, sim: Sim, slot: SimplicialComplexSlot, left: Body | None, right: Body, point: Array) -> None:
        self.sim, self._slot, self._lock = sim, slot, sim._lock
        self.left, self.right = left, right
        self._made = right.transform, point  # where it was made
        self._list_coordinates()

    def _list_coordinates(self) -> None:
        constitution = class_on(self._slot.geometry)
        assert issubclass(constitution, Joint)
        self.attributes = constitution.elements(self._slot.geometry)
        self.coordinates = {word.attribute: Coordinate(self, word) for word in constitution.coordinates()}

    @cached_property
    def _place(self) -> tuple[Array, Array]:
        """The joint's point in the right body, and its axis there."""
        T, point = self._made
        start, end = self._slot.geometry.positions.values[[0, -1]]
        A = inverse(self.who, T[:3, :3])
        return np.asarray(A @ (point - T[:3, 3])), np.asarray(A @ (end - start))

    @property
    def name(self) -> str:
        return self._slot.object_name

    @property
    def slot(self) -> SimplicialComplexSlot:
        """The geometry slot, for everything that the scene's own interface can do."""
        return self._slot

    @property
    def who(self) -> str:
        """How messages call it."""
        return f"{self.kind} '{self.name}'"

    def _read(self, name: str) -> Any:
        self.sim.sync()
        return self.attributes.slot(name).first

    @property
    def exact(self) -> bool:
        return bool(np.isinf(self.attributes.slot("strength_ratio").first))

    @property
    def bearing(self) -> Reaction:
        force, torque = (np.array(self._read(f"reaction/{what}")).reshape(3) for what in ("force", "torque"))
        return Reaction(force, torque)

    @property
    def reaction(self) -> Reaction:
        force, torque = self.bearing
        readings = self.sim.readings
        known = readings is not None and any(readings.live.coordinate(self._slot, n) >= 0 for n in self.coordinates)
        if readings is None or not known:  # there is nothing that could exert anything, or it is not in the world
            return Reaction(force, torque)
        added_force, added_torque = readings.exerted(readings.live.joint(self._slot))
        return Reaction(force + added_force + self._load("m"), torque + added_torque + self._load("rad"))

    def _load(self, unit: str) -> Array | float:
        """The force [N] or torque [N·m] on the right body that the joint was given."""
        return 0.0

    @property
    def gap(self) -> float:
        return float(self._read("gap"))

    @property
    def misalignment(self) -> float:
        return float(self._read("misalignment"))

    @property
    def anchor(self) -> Array:
        return self.right.point(self._place[0])

    @property
    def _beginning(self) -> float:
        """What its coordinates are where it is made, but for offsets."""
        return 0.0

    def _rows(self) -> list[tuple[str, str]]:
        rows = []
        for name, coordinate in self.coordinates.items():
            text = f"{spell(coordinate.value)} {coordinate.unit} at {spell(coordinate.velocity)} {coordinate.unit}/s"
            if coordinate.limit is not None:
                text += f" within {spell(coordinate.limit)}"
            rows.append((name, text))
        reaction = self.reaction
        gap = ("gap", f"{self.gap:.2g} m{' (exact)' if self.exact else ''}")
        return [*rows, gap, ("reaction", f"{spell(reaction.force)} N, {spell(reaction.torque)} N·m")]

    def __repr__(self) -> str:
        left = "the world" if self.left is None else f"'{self.left.name}'"
        rows = ", ".join(f"{name} {value}" for name, value in self._rows())
        return f"<{self.who} between {left} and '{self.right.name}': {rows}>"

    def _repr_html_(self) -> str:
        left = "the world" if self.left is None else self.left.name
        return html_table(f"{self.who} between {left} and {self.right.name}", self._rows())


class FixedJoint(SimJoint):
    """A weld: no relative motion is left."""

    kind = "fixed joint"


class MovingJoint(SimJoint):
    """A joint with an axis and at least one coordinate; what follows is that of the first one.

    | property | unit | |
    |---|---|---|
    | `velocity` | rad/s or m/s | |
    | `limit` | rad or m | (lower, upper); None if there is none |
    | `drive` | | `drive.target = …` and `drive.target_velocity = …`, see `Drive` |
    | `spring`, `rest`, `damping`, `friction`, `armature`, `hard`, `violation` | | see `Coordinate` |
    | `axis` | | unit vector along the axis on the right body, world |
    """

    def __init__(self, sim: Sim, slot: SimplicialComplexSlot, left: Body | None, right: Body, point: Array) -> None:
        super().__init__(sim, slot, left, right, point)
        self._first: Coordinate = next(iter(self.coordinates.values()))

    def _load(self, unit: str) -> Array | float:
        load = self._first.load if self._first.unit == unit else None
        return load * self.axis if load and self.sim.frame else 0.0

    @property
    def axis(self) -> Array:
        along = self.right.transform[:3, :3] @ self._place[1]
        with np.errstate(invalid="ignore", divide="ignore"):  # a body without extent has no axes
            return np.asarray(along / np.linalg.norm(along))

    @property
    def velocity(self) -> float:
        return self._first.velocity

    @property
    def drive(self) -> Drive:
        return self._first.drive

    limit = _of_first("limit")
    hard = _of_first("hard")
    spring = _of_first("spring")
    rest = _of_first("rest")
    damping = _of_first("damping")
    friction = _of_first("friction")
    armature = _of_first("armature")

    @property
    def violation(self) -> float:
        return self._first.violation


class RevoluteJoint(MovingJoint):
    """A hinge. `angle` [rad] is 0 at the start and grows when the right body turns right-handed about the axis.

    It counts full turns. `torque` [N·m] turns the right body along the axis and the left one against it.
    """

    kind = "revolute joint"

    @property
    def angle(self) -> float:
        return self._first.value

    @angle.setter
    def angle(self, value: float) -> None:
        self._first.value = value

    @property
    def torque(self) -> float:
        return self._first.load or 0.0

    @torque.setter
    def torque(self, value: float) -> None:
        self._first.load = value

    @staticmethod
    def prepare(geometry: Any) -> None:
        """Make room for a torque, which may come at any time."""
        AffineBodyRevoluteJointExternalForce().apply_to(geometry)
        geometry.edges["external_torque/is_constrained"] = 1


class PrismaticJoint(MovingJoint):
    """A slider. `distance` [m] is 0 at the start and grows when the right body moves along the axis.

    `force` [N] pushes the right body along the axis and the left one against it.
    """

    kind = "prismatic joint"

    @property
    def distance(self) -> float:
        return self._first.value

    @distance.setter
    def distance(self, value: float) -> None:
        self._first.value = value

    @property
    def force(self) -> float:
        return self._first.load or 0.0

    @force.setter
    def force(self, value: float) -> None:
        self._first.load = value

    @staticmethod
    def prepare(geometry: Any) -> None:
        """Make room for a force, which may come at any time."""
        AffineBodyPrismaticJointExternalForce().apply_to(geometry)
        geometry.edges["external_force/is_constrained"] = 1
