"""Motors: soft transforms whose aim keeps running ahead of the body."""

from __future__ import annotations

import numpy as np

from dovetail.checked import checked
from dovetail.constitution.base import fill
from dovetail.constitution.place import Place
from dovetail.constitution.soft_transform import SoftTransform
from dovetail.errors import ArgumentType
from dovetail.geometry import SimplicialComplex
from dovetail.geometry.rotation import AngleAxis
from dovetail.typing import ArrayLike

__all__ = ["LinearMotor", "RotatingMotor"]


class _Motor(SoftTransform):
    """What both motors check: an axis that points somewhere, and finite speeds."""

    def _drive(
        self,
        sc: SimplicialComplex,
        strength: ArrayLike,
        axis: ArrayLike,
        speed: float,
        suffix: str,
        unit: str,
    ) -> None:
        place = Place(type(self).__name__, "instance", sc.instances.size())
        direction = place.vector("motor_axis", axis, 3)
        length = np.linalg.norm(direction)
        if length == 0:
            raise place.error(f"motor_axis = {direction.tolist()} points nowhere; give a direction.")
        rate = place.vector(f"motor{suffix}_vel", speed, 1, unit=unit)
        self._pull(sc, strength)
        fill(sc.instances, f"motor{suffix}_axis", direction / length)
        fill(sc.instances, f"motor{suffix}_vel", float(rate[0]))


class RotatingMotor(_Motor):
    """Turns bodies about a world direction, with the strength (0, s): their position is left free.

    Instances get `motor_rot_axis` (Vector3, unit length) and `motor_rot_vel` [rad/s] besides the attributes
    of the soft transform. Call `animate` from an animator each frame; it needs the retrieved transforms.
    """

    @checked(ArgumentType)
    def apply_to(
        self,
        sc: SimplicialComplex,
        strength: float = 100.0,
        motor_axis: ArrayLike = (1.0, 0.0, 0.0),
        motor_rot_vel: float = 2 * np.pi,
    ) -> None:
        """Attach the motor to all instances; set `is_constrained` to 1 to switch it on."""
        self._drive(sc, (0.0, strength), motor_axis, motor_rot_vel, "_rot", "rad/s")

    @staticmethod
    @checked(ArgumentType)
    def animate(sc: SimplicialComplex, dt: float) -> None:
        """Aim each constrained instance at R(ω dt)·T, its pose turned about the world's origin."""
        axes, speeds = (sc.instances.slot(name).values for name in ("motor_rot_axis", "motor_rot_vel"))
        aims, transforms = sc.instances["aim_transform"], sc.transforms.values
        for i in np.flatnonzero(sc.instances.slot("is_constrained").values == 1):
            aims[i] = transforms[i]
            aims[i, :3] = AngleAxis(speeds[i] * dt, axes[i]).matrix() @ transforms[i, :3]


class LinearMotor(_Motor):
    """Pushes bodies along a world direction, with the strength (s, 0): their orientation is left free.

    Instances get `motor_axis` (Vector3, unit length) and `motor_vel` [m/s] besides the attributes of the soft
    transform. Call `animate` from an animator each frame; it needs the retrieved transforms.
    """

    @checked(ArgumentType)
    def apply_to(
        self,
        sc: SimplicialComplex,
        strength: float = 100.0,
        motor_axis: ArrayLike = (0.0, 0.0, -1.0),
        motor_vel: float = 1.0,
    ) -> None:
        """Attach the motor to all instances; set `is_constrained` to 1 to switch it on."""
        self._drive(sc, (strength, 0.0), motor_axis, motor_vel, "", "m/s")

    @staticmethod
    @checked(ArgumentType)
    def animate(sc: SimplicialComplex, dt: float) -> None:
        """Aim each constrained instance at its pose moved by v·dt along the axis."""
        axes, speeds = (sc.instances.slot(name).values for name in ("motor_axis", "motor_vel"))
        aims, transforms = sc.instances["aim_transform"], sc.transforms.values
        for i in np.flatnonzero(sc.instances.slot("is_constrained").values == 1):
            aims[i] = transforms[i]
            aims[i, :3, 3] += speeds[i] * dt * axes[i]
