"""Joints of a `Sim`: handles with plain properties."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from dovetail.constitution import (
    AffineBodyPrismaticJointExternalForce,
    AffineBodyPrismaticJointLimit,
    AffineBodyRevoluteJointExternalForce,
    AffineBodyRevoluteJointLimit,
    Joint,
)
from dovetail.constitution.base import class_of, uid_of
from dovetail.errors import SceneError
from dovetail.geometry import AttributeCollection, SimplicialComplex, SimplicialComplexSlot
from dovetail.sim.drive import Drive
from dovetail.sim.table import html_table, spell
from dovetail.typing import Array

if TYPE_CHECKING:
    from dovetail.sim.body import Body
    from dovetail.sim.sim import Sim

__all__ = ["AxisJoint", "FixedJoint", "PrismaticJoint", "Reaction", "RevoluteJoint", "SimJoint", "SphericalJoint"]


class Reaction(NamedTuple):
    """What a joint exerts on its right body, in world axes: force [N], and torque [N·m] about the anchor."""

    force: Array
    torque: Array


class SimJoint:
    """A joint between a left body (or the world, None) and a right one.

    | property | unit | |
    |---|---|---|
    | `reaction` | N, N·m | `.force` and `.torque` on the right body in the last step |
    | `gap` | m | how far the anchors have come apart |
    | `misalignment` | rad | how far directions that should agree have turned apart |
    | `anchor` | m | where the right body carries the joint's point |
    """

    kind: ClassVar[str] = "joint"

    def __init__(self, sim: Sim, slot: SimplicialComplexSlot, left: Body | None, right: Body) -> None:
        self.sim = sim
        self._slot = slot
        self.left = left
        self.right = right
        self._anchor = right.local(self._point())

    def _point(self) -> Array:
        """The joint's point in the world when it is made."""
        return np.array(self._slot.geometry.positions.values[0]).reshape(3)

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

    @property
    def attributes(self) -> AttributeCollection:
        """The attributes of the edge or vertex that the joint is."""
        kind = class_of(uid_of(self._slot.geometry))
        assert issubclass(kind, Joint)
        return kind.elements(self._slot.geometry)

    def _read(self, name: str) -> Any:
        self.sim.sync()
        return self.attributes.slot(name).values[0]

    @property
    def reaction(self) -> Reaction:
        force, torque = (np.array(self._read(f"reaction/{what}")).reshape(3) for what in ("force", "torque"))
        return Reaction(force, torque)

    @property
    def gap(self) -> float:
        return float(self._read("gap"))

    @property
    def misalignment(self) -> float:
        return float(self._read("misalignment"))

    @property
    def anchor(self) -> Array:
        return self.right.point(self._anchor)

    def number(self, what: str, value: Any) -> float:
        """A finite number that a user gave."""
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise SceneError(f"{self.who}: {what} = {value!r}; give a finite number.")
        return number

    def _rows(self) -> list[tuple[str, str]]:
        reaction = self.reaction
        return [
            ("gap", f"{self.gap:.2g} m"),
            ("reaction", f"{spell(reaction.force)} N, {spell(reaction.torque)} N·m"),
        ]

    def __repr__(self) -> str:
        left = "the world" if self.left is None else f"'{self.left.name}'"
        rows = ", ".join(f"{name} {value}" for name, value in self._rows())
        return f"<{self.who} between {left} and '{self.right.name}': {rows}>"

    def _repr_html_(self) -> str:
        left = "the world" if self.left is None else self.left.name
        return html_table(f"{self.who} between {left} and {self.right.name}", self._rows())


class SphericalJoint(SimJoint):
    """A ball in a socket: one point of both bodies stays together, rotations are free."""

    kind = "spherical joint"


class FixedJoint(SimJoint):
    """A weld: no relative motion is left."""

    kind = "fixed joint"


class AxisJoint(SimJoint):
    """A joint with an axis and one coordinate: that of hinges and sliders.

    | property | unit | |
    |---|---|---|
    | `velocity` | rad/s or m/s | rate of the coordinate |
    | `limit` | rad or m | (lower, upper); None if there is none |
    | `violation` | rad or m | how far outside its limits it is |
    | `drive` | | `drive.aim = …` pulls the coordinate to a target, see `Drive` |
    """

    coordinate: ClassVar[str]
    unit: ClassVar[str]
    _limit_kind: ClassVar[type[AffineBodyRevoluteJointLimit] | type[AffineBodyPrismaticJointLimit]]

    def __init__(self, sim: Sim, slot: SimplicialComplexSlot, left: Body | None, right: Body) -> None:
        super().__init__(sim, slot, left, right)
        ends = self._slot.geometry.positions.values.reshape(2, 3)
        self._tip = right.local(ends[1])
        self.drive = Drive(self)

    @staticmethod
    def load(geometry: SimplicialComplex) -> None:
        """Prepare a joint geometry for a force or torque along its axis."""
        raise NotImplementedError

    @property
    def axis(self) -> Array:
        """Unit vector along the axis, world."""
        along = self.right.point(self._tip) - self.anchor
        return np.asarray(along / np.linalg.norm(along))

    @property
    def velocity(self) -> float:
        return float(self._read("velocity"))

    @property
    def violation(self) -> float:
        return float(self._read("limit/violation")) if "limit/violation" in self.attributes else 0.0

    @property
    def limit(self) -> tuple[float, float] | None:
        edges = self.attributes
        if "limit/lower" not in edges:
            return None
        return float(edges.slot("limit/lower").values[0]), float(edges.slot("limit/upper").values[0])

    @limit.setter
    def limit(self, bounds: tuple[float, float]) -> None:
        try:
            lower, upper = bounds
        except (TypeError, ValueError):
            raise SceneError(f"{self.who}: limit = {bounds!r}; give (lower, upper) [{self.unit}].") from None
        low, high = self.number("the lower limit", lower), self.number("the upper limit", upper)
        if low > high:
            raise SceneError(f"{self.who}: limit = ({low:g}, {high:g}) [{self.unit}] is upside down; swap them.")
        edges = self.attributes
        if "limit/lower" not in edges:
            if self.sim.started:
                raise SceneError(
                    f"{self.who}: it has no limits, and the simulation has started; give limit=(lower, upper) when "
                    "you make it."
                )
            self._limit_kind().apply_to(self._slot.geometry, low, high)
        edges["limit/lower"], edges["limit/upper"] = low, high
        edges["limit/strength"] = self._limit_strength(high - low or 1.0)

    def _limit_strength(self, width: float) -> float:
        """s at which ten times the weight of the right body pushes a joint past its stop by a thousandth of `_slack`.

        A load f rests beyond the stop by e = w√(f h² w/(3s)).
        """
        load, slack = self._heavy_load()
        return load * self.sim.dt**2 * width**3 / (3.0 * slack**2)

    def _heavy_load(self) -> tuple[float, float]:
        """A large load along the coordinate, and how far a stop may yield to it."""
        raise NotImplementedError

    def _coordinate_rows(self, value: float) -> list[tuple[str, str]]:
        rows = [(self.coordinate, f"{spell(value)} {self.unit}"), ("velocity", f"{spell(self.velocity)} {self.unit}/s")]
        if self.limit is not None:
            rows.append(("limit", f"{spell(self.limit)} {self.unit}"))
        return [*rows, *super()._rows()]


_GRAVITY = 9.81


class RevoluteJoint(AxisJoint):
    """A hinge. `angle` [rad] is 0 at the start and grows when the right body turns right-handed about the axis.

    It counts full turns. `torque` [N·m] turns the right body along the axis and the left one against it.
    """

    kind = "revolute joint"
    coordinate, unit = "angle", "rad"
    _limit_kind = AffineBodyRevoluteJointLimit

    @staticmethod
    def load(geometry: SimplicialComplex) -> None:
        AffineBodyRevoluteJointExternalForce().apply_to(geometry)
        geometry.edges["external_torque/is_constrained"] = 1

    @property
    def angle(self) -> float:
        return float(self._read("angle/multi_turn"))

    @property
    def torque(self) -> float:
        return float(self.attributes.slot("external_torque").values[0])

    @torque.setter
    def torque(self, value: float) -> None:
        self.attributes["external_torque"] = self.number("torque", value)

    def _heavy_load(self) -> tuple[float, float]:
        lever = float(np.linalg.norm(self.right.vertices - self.anchor, axis=1).max())
        return 10.0 * self.right.mass * _GRAVITY * lever, 1e-3

    def _rows(self) -> list[tuple[str, str]]:
        return self._coordinate_rows(self.angle)


class PrismaticJoint(AxisJoint):
    """A slider. `distance` [m] is 0 at the start and grows when the right body moves along the axis.

    `force` [N] pushes the right body along the axis and the left one against it.
    """

    kind = "prismatic joint"
    coordinate, unit = "distance", "m"
    _limit_kind = AffineBodyPrismaticJointLimit

    @staticmethod
    def load(geometry: SimplicialComplex) -> None:
        AffineBodyPrismaticJointExternalForce().apply_to(geometry)
        geometry.edges["external_force/is_constrained"] = 1

    @property
    def distance(self) -> float:
        return float(self._read("distance"))

    @property
    def force(self) -> float:
        return float(self.attributes.slot("external_force").values[0])

    @force.setter
    def force(self, value: float) -> None:
        self.attributes["external_force"] = self.number("force", value)

    def _heavy_load(self) -> tuple[float, float]:
        size = float(np.ptp(self.right.vertices, axis=0).max())
        return 10.0 * self.right.mass * _GRAVITY, 1e-3 * size

    def _rows(self) -> list[tuple[str, str]]:
        return self._coordinate_rows(self.distance)
