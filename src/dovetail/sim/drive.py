"""Drives of a `Sim`: motors that move a joint's coordinate to a target or at a speed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dovetail.checked import checked
from dovetail.constitution import AffineBodyJointDrive
from dovetail.errors import SceneError
from dovetail.sim.handle import Handle

if TYPE_CHECKING:
    from dovetail.sim.coordinate import Coordinate

__all__ = ["Drive"]

_FIRM_POSITION, _FIRM_SPEED = 1e4, 1e2
"""By how much a drive without gains of its own outweighs the inertia of what it moves, in a step.

A speed is known to Newton's tolerance only, some 1e-3 m/s, and a gain turns that into an effort: it is less firm.
"""
_FIRM_BRAKE = 4.0
"""Times its gains c + dt·k, with which a drive brakes beyond its largest velocity; twice is the least."""
_FARTHEST = 1e6
"""Times the inertia of the body next to it, up to which all that hangs on that counts: the linear system still solves a
gain of 1e10 times its inertia to six digits.
"""
_LEAST = 0.2
"""Of its cap, with which a drive speeds up at least: gravity does not take the most that it can in all poses."""
_LIVELY = 10.0
"""Times its weight, with which a drive without gains of its own moves what hangs on it, stretched out."""


class Drive(Handle):
    """A motor on a coordinate x, with the effort k(x̃ − x) + c(ṽ − ẋ), within ±max_effort and ±max_velocity.

    | property | unit | |
    |---|---|---|
    | `target` | rad or m | x̃; setting it makes the motor hold a position |
    | `target_velocity` | rad/s or m/s | ṽ; setting it makes the motor run at a speed |
    | `on` | | False: it does nothing, until it is set to True again |
    | `stiffness` | N·m/rad or N/m | k; by default as firm as a rigid mount |
    | `damping` | N·m·s/rad or N·s/m | c; by default 0 for a position, and firm for a speed |
    | `max_effort` | N·m or N | the strongest that it can be; default inf, or None: of any strength |
    | `max_velocity` | rad/s or m/s | the fastest that it drives: beyond that it brakes; default inf |
    | `effort` | N·m or N | what it exerted in the last step, positive where it increases x |

    The effort is the mean over a step, of a controller at its end or both ends, so that any gain is stable at any dt.
    It is a constant force where it is at its strongest, and never more.

    Without gains of its own a drive goes to a target that jumps with the acceleration that ten times the weight of all
    that it moves would give it, stretched out away from the joint: bodies beyond it, and what is coupled to it.
    Where `max_effort` allows less, it is all that this leaves beside the weight along the coordinate. It brakes in time
    to stop there, with nine tenths of that acceleration. While it moves away from its target, it never pushes it on. A
    target that moves slower than what it can stop in a step is followed without lag, a faster one at the distance that
    it takes to stop. It stays within the limits of its joint, whatever the target. With gains of its own it is what
    these make of it.
    """

    def __init__(self, coordinate: Coordinate) -> None:
        self._coordinate, self._lock = coordinate, coordinate._lock
        self._resting: tuple[float, float] = (0.0, 0.0)
        self._firm = True  # it has no gains of its own

    def add(self) -> None:
        """Put the motor on the joint, switched off."""
        joint, word = self._coordinate.joint, self._coordinate.word
        joint.sim.reopen()
        AffineBodyJointDrive().apply_to(joint.slot.geometry, coordinate=word.attribute)

    @property
    def _who(self) -> str:
        return self._coordinate.who

    @property
    def present(self) -> bool:
        """Whether the joint has a motor, on or off."""
        return self._coordinate.has("drive/stiffness")

    def _get(self, name: str, absent: float = 0.0) -> float:
        return self._coordinate.get(f"drive/{name}") if self.present else absent

    def _set(self, **values: float) -> None:
        if not self.present:
            self.add()
        for name, value in values.items():
            self._coordinate.set(f"drive/{name}", value)

    def tune(self) -> None:
        """Choose gains, where it has none of its own, and how fast it goes to its target; the scene is complete."""
        burden, cap = self._coordinate.burden, self.max_effort
        if self._firm and self.on:
            own = self._coordinate.inertia
            inertia, holds = min(max(burden.inertia, own), _FARTHEST * own), self.stiffness > 0.0
            self._set(stiffness=self._stiff(inertia) * holds, damping=self._viscous(inertia) * (not holds))
        spare = max(cap - burden.carried, _LEAST * cap)
        effort = min(_LIVELY * burden.load, spare) if self._firm else math.inf
        self._set(acceleration=effort / burden.inertia or math.inf)
        self._firm_brake(max(burden.inertia, self._coordinate.inertia))

    def _firm_brake(self, inertia: float) -> None:
        """Have what brakes it beyond its largest velocity outweigh an inertia, and its own gains.

        These would else take its place, and a stiffness does not know a speed: a step of ctr begins at rest with it.
        """
        if math.isfinite(self.max_velocity):
            own = self.damping + self._coordinate.joint.sim.dt * self.stiffness
            self._set(brake=max(self._viscous(inertia), _FIRM_BRAKE * own))

    def _stiff(self, inertia: float) -> float:
        """The stiffness of a position drive that was given none."""
        return _FIRM_POSITION * inertia / self._coordinate.joint.sim.dt**2

    def _viscous(self, inertia: float) -> float:
        """The damping of a drive that runs at a speed and was given none."""
        return _FIRM_SPEED * inertia / self._coordinate.joint.sim.dt

    @property
    def target(self) -> float:
        return self._get("target")

    @target.setter
    def target(self, value: float) -> None:
        target = self._coordinate.number("drive.target", value)
        if self.stiffness > 0.0:
            self._set(target=target, target_velocity=0.0)
            return
        # it was off, or ran at a speed, whose damping would hold it back
        k, c = self._resting if self._resting[0] > 0 else (self._stiff(self._coordinate.inertia), 0.0)
        self._set(stiffness=k, damping=c, target=target, target_velocity=0.0)
        self._retune()

    @property
    def target_velocity(self) -> float:
        return self._get("target_velocity")

    @target_velocity.setter
    def target_velocity(self, value: float) -> None:
        target = self._coordinate.number("drive.target_velocity", value)
        c, begins = self.damping, self.damping == 0.0
        self._set(stiffness=0.0, damping=c or self._viscous(self._coordinate.inertia), target_velocity=target)
        if begins:
            self._retune()

    def hold(self) -> None:
        """Stay where the joint is now."""
        self.target = self._coordinate.value

    @property
    def on(self) -> bool:
        return self.stiffness > 0.0 or self.damping > 0.0

    @on.setter
    @checked(SceneError)
    def on(self, value: bool) -> None:
        if bool(value) == self.on:
            if not self.present:
                self.add()
            return
        if not value:
            self._resting = (self.stiffness, self.damping)
            self._set(stiffness=0.0, damping=0.0)
        elif self._resting == (0.0, 0.0):
            self.target = self.target
        else:
            self._set(stiffness=self._resting[0], damping=self._resting[1])

    @property
    def stiffness(self) -> float:
        return self._get("stiffness")

    @stiffness.setter
    def stiffness(self, value: float) -> None:
        self._set(stiffness=self._own("stiffness", value))
        self._firm_brake(self._coordinate.inertia)

    @property
    def damping(self) -> float:
        return self._get("damping")

    @damping.setter
    def damping(self, value: float) -> None:
        self._set(damping=self._own("damping", value))
        self._firm_brake(self._coordinate.inertia)

    def _own(self, name: str, value: float) -> float:
        """A gain that the user gives: from now on it is a plain controller."""
        number = self._gain(name, value)
        if self._firm:
            self._firm = False
            self._retune()
        return number

    def _retune(self) -> None:
        """Choose it again where the simulation runs; before that it is yet to be chosen."""
        if self._coordinate.joint.sim.runs(self._coordinate.joint.slot):
            self.tune()

    @property
    def max_effort(self) -> float:
        return self._get("max_effort", math.inf)

    @max_effort.setter
    @checked(SceneError)
    def max_effort(self, value: float | None) -> None:
        self._set(max_effort=math.inf if value is None or value == math.inf else self._gain("max_effort", value))
        self._retune()

    @property
    def max_velocity(self) -> float:
        return self._get("max_velocity", math.inf)

    @max_velocity.setter
    @checked(SceneError)
    def max_velocity(self, value: float) -> None:
        number = math.inf if value == math.inf else self._gain("max_velocity", value)
        self._set(max_velocity=number)
        self._firm_brake(self._coordinate.inertia)
        self._retune()

    def _gain(self, name: str, value: float) -> float:
        number = self._coordinate.number(f"drive.{name}", value)
        if number < 0.0:
            raise SceneError(f"{self._who}: drive.{name} = {number:g}; give a number ≥ 0.")
        return number

    @property
    def effort(self) -> float:
        self._coordinate.joint.sim.sync()
        return self._get("effort")

    def __repr__(self) -> str:
        unit = self._coordinate.unit
        if not self.on:
            return f"<drive of {self._who}: off>"
        task = (
            f"target {self.target:.4g} {unit}" if self.stiffness > 0 else f"speed {self.target_velocity:.4g} {unit}/s"
        )
        cap = self.max_effort
        limit = "" if np.isinf(cap) else f", at most {cap:.4g} {self._coordinate.effort_unit}"
        return f"<drive of {self._who}: {task}{limit}>"
