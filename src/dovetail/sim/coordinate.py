"""Coordinates of a joint in a `Sim`: how far it has turned or slid, and what acts on that."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.checked import LARGEST, checked, number, shown
from dovetail.constitution import (
    AffineBodyJointArmature,
    AffineBodyJointDamper,
    AffineBodyJointFriction,
    AffineBodyJointLimit,
    AffineBodyJointSpring,
    terms,
)
from dovetail.errors import SceneError
from dovetail.sim.burden import Burden
from dovetail.sim.drive import Drive
from dovetail.sim.handle import Handle
from dovetail.sim.mechanism import Mechanism
from dovetail.sim.table import spell

if TYPE_CHECKING:
    from dovetail.sim.body import Body
    from dovetail.sim.joint import SimJoint
    from dovetail.sim.readings import Readings

__all__ = ["GRAVITY", "Coordinate"]

_NEAR = 1e-9  # rad or m, by which a start may be off by round-off
GRAVITY = 9.81  # m/s²; what stops and drives are made for, also where there is none


class Coordinate(Handle):
    """An angle [rad], counted over turns, or a distance [m] that a joint leaves free.

    | property | unit | |
    |---|---|---|
    | `value`, `velocity` | rad or m, per s | |
    | `limit` | rad or m | (lower, upper); None if there is none |
    | `hard` | | True: limits are never crossed; False: ten times the weight goes 1 mrad or 1 ‰ of its size beyond |
    | `violation` | rad or m | how far outside its limits it is |
    | `drive` | | a motor, see `Drive` |
    | `spring`, `rest` | N·m/rad or N/m, rad or m | a spring beside the drive, and where it is at rest; default 0 |
    | `damping` | N·m·s/rad or N·s/m | a resistance in proportion to the velocity |
    | `friction` | N·m or N | a resistance of constant size |
    | `armature` | kg·m² or kg | inertia of the coordinate itself: a motor's rotor behind its gears |
    """

    joint: SimJoint
    word: terms.Coordinate
    drive: Drive

    def __init__(self, joint: SimJoint, word: terms.Coordinate) -> None:
        self.joint, self._lock = joint, joint._lock
        self.word = word
        self.drive = Drive(self)
        self._ends: tuple[Body | None, Body] = joint.left, joint.right  # what it is made firm for
        self._readings: Readings | None = None  # once the world is there,
        self._row = 0  # with the place among its coordinates

    @property
    def name(self) -> str:
        return self.word.attribute

    @property
    def unit(self) -> str:
        return self.word.unit

    @property
    def effort_unit(self) -> str:
        return "N" if self.unit == "m" else "N·m"

    @property
    def who(self) -> str:
        """How messages call it."""
        return self.joint.who if len(self.joint.coordinates) == 1 else f"{self.name} of {self.joint.who}"

    @property
    def value(self) -> float:
        readings = self._readings or self._find()
        if readings is None:  # where it starts
            return float(self.joint.attributes.slot(self.word.offset).first) + self.joint._beginning
        return readings.value(self._row)

    @value.setter
    def value(self, value: float) -> None:
        """Put the bodies where it has this value; the other joints stay as they are, as far as loops allow."""
        Mechanism(self.joint.sim, [self]).q = np.array([self.number(self.name, value)])

    @property
    def velocity(self) -> float:
        readings = self._readings or self._find()
        return 0.0 if readings is None else readings.rate(self._row)

    def _find(self) -> Readings | None:
        """Where the coordinate is read; None before the world is there."""
        readings = self.joint.sim.readings
        if readings is None or (row := readings.live.coordinate(self.joint.slot, self.name)) < 0:
            return None  # the joint is not yet in the world, or no longer
        self._readings, self._row = readings, row
        return readings

    def let_go(self) -> None:
        """The world is changed: look for the coordinate anew."""
        self._readings = None

    @property
    def inertia(self) -> float:
        """About what has to be moved [kg or kg·m²]: the lighter body that is free, at most about its longest axis."""
        found = []
        for body in self._ends:
            if body is None or body.fixed:
                continue
            arm = body.center - self.joint.anchor
            turning = float(np.linalg.eigvalsh(body.inertia)[-1]) + body.mass * float(arm @ arm)
            found.append(body.mass if self.unit == "m" else turning)
        return min(found) + self.rotor

    def make_firm_for(self, left: Body | None, right: Body) -> None:
        """Have stops and drives as firm as these bodies need it: those of the joint are next to nothing."""
        from dovetail.sim.body import Body

        for body in (left, right):
            if not isinstance(body, Body) and (body is not None or body is right):
                raise SceneError(f"{self.who}: it cannot be made firm for {shown(body)}; give bodies.")
        self._ends = left, right

    @property
    def burden(self) -> Burden:
        """What has to be moved and carried with all that hangs on it, stretched out, and what is coupled to it."""
        self.joint.sim.require_present(self.who, self.joint.slot)
        return self.joint.sim.burdens[self.joint.name, self.name]

    # --- limits ---------------------------------------------------------------------------------------------

    @property
    def limit(self) -> tuple[float, float] | None:
        return (self.get("limit/lower"), self.get("limit/upper")) if self.has("limit/lower") else None

    @limit.setter
    def limit(self, bounds: tuple[float, float]) -> None:
        try:
            lower, upper = bounds
        except (TypeError, ValueError):
            raise SceneError(f"{self.who}: limit = {shown(bounds)}; give (lower, upper) [{self.unit}].") from None
        low, high = self.number("the lower limit", lower), self.number("the upper limit", upper)
        if low > high:
            raise SceneError(f"{self.who}: limit = ({low:g}, {high:g}) [{self.unit}] is upside down; swap them.")
        if not self.has("limit/lower"):
            self.joint.sim.reopen()
            AffineBodyJointLimit().apply_to(self.joint.slot.geometry, low, high, coordinate=self.name)
            self.set("limit/strength", self.stop_strength(high - low))
        elif not self.hard:
            self.set("limit/strength", self.stop_strength(high - low))
        self.set("limit/lower", low)
        self.set("limit/upper", high)

    @checked(SceneError)
    def require_inside(self, value: float) -> None:
        """Refuse a value [rad or m] at the start that is outside of the limits."""
        low, high = self.limit or (-math.inf, math.inf)
        if not low - _NEAR <= value <= high + _NEAR:
            raise SceneError(
                f"{self.who}: it begins at {self.name} = {value:.6g} [{self.unit}], outside of its limit "
                f"({low:g}, {high:g}); limits count from the pose in which a joint is made, so shift them by that, or "
                "begin with the bodies inside."
            )

    @property
    def hard(self) -> bool:
        return self.limit is not None and math.isinf(self.get("limit/strength"))

    @hard.setter
    @checked(SceneError)
    def hard(self, value: bool) -> None:
        if self.limit is None:
            raise SceneError(f"{self.who}: it has no limits to be hard; give limit=(lower, upper) first.")
        if value and not self.hard:
            self.joint.sim.reopen()
        self.set("limit/strength", math.inf if value else self.stop_strength(self.limit[1] - self.limit[0]))

    def stop_strength(self, width: float) -> float:
        """The strength s of a soft limit: a load f rests beyond the bound by e = w√(f h² w/(3s)), w the width."""
        w = self.number("the width of a limit", width) or 1.0
        left, right = self._ends
        body = right if not right.fixed or left is None else left
        reach = np.linalg.norm(body.vertices - self.joint.anchor, axis=1).max()
        load, give = 10.0 * body.mass * GRAVITY, 1e-3 * float(np.ptp(body.vertices, axis=0).max())
        if self.unit == "rad":
            load, give = load * float(reach), 1e-3
        return float(load * self.joint.sim.dt**2 * w**3 / (3.0 * give**2))

    @property
    def violation(self) -> float:
        self.joint.sim.sync()
        return self.get("limit/violation") if self.has("limit/violation") else 0.0

    # --- resistance -----------------------------------------------------------------------------------------

    @property
    def damping(self) -> float:
        return self.get("damper/damping") if self.has("damper/damping") else 0.0

    @damping.setter
    def damping(self, value: float) -> None:
        self._put(AffineBodyJointDamper(), "damper/damping", self._at_least_zero("damping", value))

    @property
    def friction(self) -> float:
        return self.get("friction/max_effort") if self.has("friction/max_effort") else 0.0

    @friction.setter
    def friction(self, value: float) -> None:
        self._put(AffineBodyJointFriction(), "friction/max_effort", self._at_least_zero("friction", value))

    @property
    def armature(self) -> float:
        return self.get("armature/inertia") if self.has("armature/inertia") else 0.0

    @armature.setter
    def armature(self, value: float) -> None:
        self._put(AffineBodyJointArmature(), "armature/inertia", self._at_least_zero("armature", value))

    @property
    def rotor(self) -> float:
        """All inertia that is not of bodies [kg·m² or kg]: the armature, and that of a ball as a whole."""
        whole = self.joint.attributes.find("ball/armature/inertia")
        return self.armature + (0.0 if whole is None else float(whole.first))

    @property
    def spring(self) -> float:
        return self.get("spring/stiffness") if self.has("spring/stiffness") else 0.0

    @spring.setter
    def spring(self, value: float) -> None:
        self._put(AffineBodyJointSpring(), "spring/stiffness", self._at_least_zero("spring", value))

    @property
    def rest(self) -> float:
        return self.get("spring/rest") if self.has("spring/rest") else 0.0

    @rest.setter
    def rest(self, value: float) -> None:
        place = self.number("rest", value)
        if not self.has("spring/rest"):
            self.spring = 0.0
        self.set("spring/rest", place)

    def _put(self, kind: Any, name: str, value: float) -> None:
        """Write the attribute `name` of something that the joint may not have yet."""
        if not self.has(name):
            self.joint.sim.reopen()
            kind.apply_to(self.joint.slot.geometry, value, coordinate=self.name)
        self.set(name, value)

    @property
    def load_name(self) -> str:
        """The attribute of the torque or force on it."""
        return "external_force" if self.unit == "m" else "external_torque"

    @property
    def load(self) -> float | None:
        """The torque [N·m] or force [N] that the joint was given along it; None where it takes none."""
        slot = self.joint.attributes.find(self.load_name)
        return None if slot is None else float(slot.first)

    @load.setter
    def load(self, value: float) -> None:
        self.joint.attributes[self.load_name] = self.number("force" if self.unit == "m" else "torque", value)

    # --- attributes -----------------------------------------------------------------------------------------

    def named(self, name: str) -> str:
        """How an attribute of this coordinate is called among those of the joint."""
        if not isinstance(name, str):
            raise SceneError(f"{self.who}: {shown(name)} is no name of an attribute; give a text.")
        return f"{self.word.prefix}{name}"

    def has(self, name: str) -> bool:
        """Whether the joint has an attribute of this coordinate."""
        return self.named(name) in self.joint.attributes

    def get(self, name: str) -> float:
        """An attribute of this coordinate."""
        return float(self.joint.attributes.slot(self.named(name)).first)

    def set(self, name: str, value: float) -> None:
        """Write an attribute of this coordinate."""
        self.joint.attributes[self.named(name)] = value

    def number(self, what: str, value: Any) -> float:
        """A finite number that a user gave."""
        found = number(value)
        if found is None or not abs(found) <= LARGEST:
            needed = f"a number up to {LARGEST:g}" if found is not None and math.isfinite(found) else "a finite number"
            raise SceneError(f"{self.who}: {what} = {shown(value)}; give {needed}.")
        return found

    def _at_least_zero(self, what: str, value: Any) -> float:
        number = self.number(what, value)
        if number < 0.0:
            raise SceneError(f"{self.who}: {what} = {number:g}; give a number ≥ 0.")
        return number

    def __repr__(self) -> str:
        limit = "" if self.limit is None else f", limit {spell(self.limit)} {self.unit}"
        now = f"{spell(self.value)} {self.unit}, {spell(self.velocity)} {self.unit}/s"
        return f"<{self.name} of {self.joint.who}: {now}{limit}>"
