"""Spherical joints of a `Sim`: the rotation vector, and a motor that turns it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.checked import LARGEST, number, numbers, shown
from dovetail.constitution import AffineBodyDrivingSphericalJoint, AffineBodySphericalJointResistance
from dovetail.errors import SceneError
from dovetail.geometry import AngleAxis, Quaternion, SimplicialComplexSlot
from dovetail.sim.drive import Drive
from dovetail.sim.given import quaternion_of, vector
from dovetail.sim.handle import Handle
from dovetail.sim.joint import SimJoint
from dovetail.sim.mechanism import Mechanism
from dovetail.typing import Array, ArrayLike

if TYPE_CHECKING:
    from dovetail.sim.body import Body
    from dovetail.sim.sim import Sim

__all__ = ["SphericalDrive", "SphericalJoint"]


class SphericalDrive(Handle):
    """A motor on the rotation vector w of a ball and socket: on each component the effort k(w̃ − w) + c(ṽ − ẇ).

    | property | unit | |
    |---|---|---|
    | `target` | rad | w̃ (3,); setting it makes the motor hold a rotation |
    | `target_velocity` | rad/s | ṽ (3,), a rate of w; setting it makes the motor run at a speed |
    | `stiffness`, `damping`, `max_effort`, `max_velocity` | | one number for all components, see `Drive` |
    | `on` | | False: it does nothing, until it is set to True again |
    | `effort` | N·m | (3,) what it exerted in the last step, dual to the rate of w: for w = 0 the torque |
    """

    def __init__(self, joint: SphericalJoint) -> None:
        self._joint, self._lock = joint, joint._lock

    @property
    def _parts(self) -> list[Drive]:
        """The motors of the components, if there are any yet."""
        return [coordinate.drive for coordinate in self._joint.coordinates.values()]

    def _all(self, name: str, values: Any) -> None:
        self._joint.measure()
        for drive, value in zip(self._parts, values, strict=True):
            setattr(drive, name, value)

    def _three(self, name: str, value: ArrayLike, unit: str) -> None:
        self._all(name, vector(self._joint.who, f"drive.{name}", value, unit))

    def _read(self, name: str) -> Array:
        return np.array([getattr(drive, name) for drive in self._parts] or np.zeros(3))

    def _first(self, name: str, absent: float) -> float:
        return float(getattr(self._parts[0], name)) if self._parts else absent

    @property
    def target(self) -> Array:
        return self._read("target")

    @target.setter
    def target(self, value: ArrayLike) -> None:
        self._three("target", value, "rad")

    @property
    def target_velocity(self) -> Array:
        return self._read("target_velocity")

    @target_velocity.setter
    def target_velocity(self, value: ArrayLike) -> None:
        self._three("target_velocity", value, "rad/s")

    @property
    def stiffness(self) -> float:
        return self._first("stiffness", 0.0)

    @stiffness.setter
    def stiffness(self, value: float) -> None:
        self._all("stiffness", [value] * 3)

    @property
    def damping(self) -> float:
        return self._first("damping", 0.0)

    @damping.setter
    def damping(self, value: float) -> None:
        self._all("damping", [value] * 3)

    @property
    def max_effort(self) -> float:
        return self._first("max_effort", np.inf)

    @max_effort.setter
    def max_effort(self, value: float | None) -> None:
        self._all("max_effort", [value] * 3)

    @property
    def max_velocity(self) -> float:
        return self._first("max_velocity", np.inf)

    @max_velocity.setter
    def max_velocity(self, value: float) -> None:
        self._all("max_velocity", [value] * 3)

    @property
    def on(self) -> bool:
        return any(drive.on for drive in self._parts)

    @on.setter
    def on(self, value: bool) -> None:
        self._all("on", [value] * 3)

    @property
    def effort(self) -> Array:
        return self._read("effort")

    def hold(self) -> None:
        """Stay as the joint is now."""
        self.target = self._joint.rotation

    def __repr__(self) -> str:
        return f"<drive of {self._joint.who}: {', '.join(map(repr, self._parts)) or 'none'}>"


class SphericalJoint(SimJoint):
    """A ball in a socket: one point of both bodies stays together, rotations are free.

    | property | unit | |
    |---|---|---|
    | `rotation` | rad | rotation vector (3,) of the right body in the left, 0 at the start; less than half a turn |
    | `drive` | | `drive.target = …`, see `SphericalDrive` |
    | `damping` | N·m·s/rad | a torque against the spin between the bodies, in proportion to it |
    | `armature` | kg·m² | inertia of that spin: of motors behind their gears |
    | `max_angle` | rad | the largest angle of the rotation, about any axis, by a soft stop; None if there is none |

    Its components are along the axes that the world has where the joint is made, and that the left body carries on.
    Those of robots are along the axes of their files, and 0 where these have them 0.
    """

    kind = "spherical joint"
    drive: SphericalDrive

    def __init__(self, sim: Sim, slot: SimplicialComplexSlot, left: Body | None, right: Body, point: Array) -> None:
        super().__init__(sim, slot, left, right, point)
        self.drive = SphericalDrive(self)
        left_0, right_0 = self._turned()
        self._frames = left_0.T, right_0.T

    def measure(self, frames: tuple[Array, Array] | None = None) -> None:
        """Make the rotation vector three coordinates, each with a motor that is off.

        `frames` (3, 3) are the axes in the left and in the right body, as columns, between which it is measured.
        """
        given = None if frames is None else numbers(frames)
        if frames is not None and (given is None or given.shape != (2, 3, 3) or not np.isfinite(given).all()):
            raise SceneError(
                f"joint '{self.name}': frames = {shown(frames)}; give two matrices (3, 3), the axes in the left and in "
                "the right body as columns."
            )
        if not self.coordinates:
            self.sim.reopen()
            if given is not None:
                self._frames = given[0], given[1]
                for name, frame in zip(("l_frame", "r_frame"), given, strict=True):
                    self.attributes.create(name, np.eye(3)).edit()[...] = frame
            AffineBodyDrivingSphericalJoint().apply_to(self._slot.geometry)
            self._list_coordinates()

    def _turned(self) -> tuple[Array, Array]:
        """How both bodies are turned."""
        left = np.eye(3) if self.left is None else Quaternion(quaternion_of(self.left.transform[:3, :3])).matrix()
        return left, Quaternion(quaternion_of(self.right.transform[:3, :3])).matrix()

    @property
    def rotation(self) -> Array:
        left, right = (R @ frame for R, frame in zip(self._turned(), self._frames, strict=True))
        turn = AngleAxis(Quaternion(quaternion_of(left.T @ right)))
        return np.asarray(turn.angle() * turn.axis()[:, 0])

    @rotation.setter
    def rotation(self, value: ArrayLike) -> None:
        given = vector(self.who, "rotation", value, "rad")
        self.measure()
        Mechanism(self.sim, list(self.coordinates.values())).q = given

    # --- what resists it ------------------------------------------------------------------------------------

    @property
    def damping(self) -> float:
        return self._resistance("damper/damping") or 0.0

    @damping.setter
    def damping(self, value: float) -> None:
        self._resist("damper/damping", damping=self._at_least_zero("damping", value))

    @property
    def armature(self) -> float:
        return self._resistance("armature/inertia") or 0.0

    @armature.setter
    def armature(self, value: float) -> None:
        self._resist("armature/inertia", inertia=self._at_least_zero("armature", value))

    @property
    def max_angle(self) -> float | None:
        return self._resistance("limit/upper")

    @max_angle.setter
    def max_angle(self, value: float) -> None:
        angle = self._at_least_zero("max_angle", value)
        if not 0.0 < angle < math.pi:
            raise SceneError(f"{self.who}: max_angle = {angle:g} [rad]; give a number between 0 and π.")
        self.measure()
        strength = self.coordinates["rotation_x"].stop_strength(2.0 * angle)
        self._resist("limit/upper", max_angle=angle, strength=strength)
        for name, value in (("lower", -angle), ("upper", angle), ("strength", strength)):
            self.attributes[f"ball/limit/{name}"] = value

    def _at_least_zero(self, what: str, value: Any) -> float:
        found = number(value)
        if found is None or not 0.0 <= found <= LARGEST:
            raise SceneError(f"{self.who}: {what} = {shown(value)}; give a number from 0 to {LARGEST:g}.")
        return found

    def _resistance(self, name: str) -> float | None:
        slot = self.attributes.find(f"ball/{name}")
        return None if slot is None else float(slot.first)

    def _resist(self, name: str, **given: float) -> None:
        """Write what it may not have yet."""
        self.measure()
        if self._resistance(name) is None:
            self.sim.reopen()
            AffineBodySphericalJointResistance().apply_to(self._slot.geometry, **given)
        else:
            self.attributes[f"ball/{name}"] = next(iter(given.values()))
