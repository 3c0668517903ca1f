"""Drives of a `Sim`: what pulls a hinge or a slider to a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail.constitution import AffineBodyDrivingPrismaticJoint, AffineBodyDrivingRevoluteJoint
from dovetail.errors import SceneError
from dovetail.sim.given import positive

if TYPE_CHECKING:
    from dovetail.geometry import AttributeCollection
    from dovetail.sim.joint import AxisJoint

__all__ = ["Drive"]


class Drive:
    """The servo of a joint, which pulls its coordinate to `aim` with the stiffness K_d/h², K_d = strength·(m_i + m_j).

    | property | unit | |
    |---|---|---|
    | `aim` | rad or m | target; setting it switches the drive on |
    | `on` | | whether it acts |
    | `holding` | | True: keeps the value that the joint has, whatever `aim` says |
    | `strength` | | γ_d in K_d |
    | `effort` | N·m or N | what it exerted in the last step, positive where it increases the coordinate |
    """

    def __init__(self, joint: AxisJoint) -> None:
        self._joint = joint

    @property
    def _aim(self) -> str:
        return f"aim_{self._joint.coordinate}"

    def _writable(self) -> AttributeCollection:
        """The joint's attributes, with a drive among them: one is added while that is possible."""
        joint = self._joint
        if not self._present:
            if joint.sim.started:
                raise SceneError(
                    f"{joint.who}: it has no drive, and the simulation has started; give drive=True when you make it."
                )
            kinds = {"angle": AffineBodyDrivingRevoluteJoint, "distance": AffineBodyDrivingPrismaticJoint}
            kinds[joint.coordinate]().apply_to(joint.slot.geometry)
        return joint.attributes

    @property
    def _present(self) -> bool:
        return self._aim in self._joint.attributes

    def _read(self, name: str, absent: float) -> float:
        return float(self._joint.attributes.slot(name).values[0]) if self._present else absent

    @property
    def aim(self) -> float:
        return self._read(self._aim, 0.0)

    @aim.setter
    def aim(self, value: float) -> None:
        number = self._joint.number("drive.aim", value)
        edges = self._writable()
        edges[self._aim] = number
        edges["driving/is_constrained"] = 1

    @property
    def on(self) -> bool:
        return bool(self._read("driving/is_constrained", 0))

    @on.setter
    def on(self, value: bool) -> None:
        self._writable()["driving/is_constrained"] = int(bool(value))

    @property
    def holding(self) -> bool:
        return bool(self._read("is_passive", 0))

    @holding.setter
    def holding(self, value: bool) -> None:
        edges = self._writable()
        edges["is_passive"] = int(bool(value))
        if value:
            edges["driving/is_constrained"] = 1

    @property
    def strength(self) -> float:
        return self._read("driving/strength_ratio", 100.0)

    @strength.setter
    def strength(self, value: float) -> None:
        number = positive(self._joint.who, "drive.strength", value)
        self._writable()["driving/strength_ratio"] = number

    @property
    def effort(self) -> float:
        self._joint.sim.sync()
        return self._read("driving/effort", 0.0)

    def __repr__(self) -> str:
        unit = self._joint.unit
        if not self.on:
            return f"<drive of {self._joint.who}: off>"
        target = "holding" if self.holding else f"aim {self.aim:.4g} {unit}"
        return f"<drive of {self._joint.who}: {target}, strength {self.strength:g}>"
