"""Joint drive (10101): a motor with gains and an effort limit on any joint coordinate."""

from __future__ import annotations

import math

from dovetail.checked import checked
from dovetail.constitution.base import Constraint, fill, write
from dovetail.constitution.joint.coordinate_extra import CoordinateExtra, Target
from dovetail.constitution.laws import Servo
from dovetail.errors import ArgumentType
from dovetail.geometry import SimplicialComplex
from dovetail.typing import ArrayLike

__all__ = ["AffineBodyJointDrive"]

_FREE = "a motor of any strength"


class AffineBodyJointDrive(CoordinateExtra, Constraint, uid=10101):
    """Moves a coordinate x with the effort k(x̃ − x) + c(ṽ − ẋ), cut off at ±max_effort.

    k alone is a position drive, c alone a velocity drive, both are a PD controller. The effort is that at the end of
    the step: any gain is stable at any dt.

    | where | attribute | unit | meaning |
    |---|---|---|---|
    | joints | `drive/stiffness` | N/m or N·m/rad | k; default 0 |
    | joints | `drive/damping` | N·s/m or N·m·s/rad | c; default 0 |
    | joints | `drive/target` | m or rad | x̃, in the frame of the reported value; default 0 |
    | joints | `drive/target_velocity` | m/s or rad/s | ṽ; default 0 |
    | joints | `drive/max_effort` | N or N·m | largest effort; default inf |
    | joints | `drive/acceleration` | m/s² or rad/s² | with which x̃ is approached; default inf: at once |
    | joints | `drive/effort` | N or N·m | what it exerts along the coordinate, written by the world |

    Of a further coordinate the names begin with it: `angle/drive/stiffness`.
    """

    law = Servo
    main = "drive/stiffness"

    @checked(ArgumentType)
    def apply_to(
        self,
        sc: SimplicialComplex,
        stiffness: ArrayLike = 0.0,
        damping: ArrayLike = 0.0,
        max_effort: ArrayLike = math.inf,
        coordinate: str = "",
    ) -> None:
        """Drive a coordinate of every joint, the first one if none is named; one number each, or one per joint."""
        target = self._target(sc, coordinate)
        place, own = target.place, f"{target.coordinate.prefix}drive/"
        k = place.at_least_zero("stiffness", stiffness)
        c = place.at_least_zero("damping", damping)
        cap = place.at_least_zero("max_effort", max_effort, target.effort, _FREE)
        self._mark(sc)
        write(target.elements, f"{own}stiffness", 0.0, k)
        write(target.elements, f"{own}damping", 0.0, c)
        write(target.elements, f"{own}max_effort", math.inf, cap)
        fill(target.elements, f"{own}acceleration", math.inf)
        for name in ("target", "target_velocity", "effort"):
            fill(target.elements, f"{own}{name}", 0.0)

    def _check(self, target: Target) -> None:
        own = f"{target.coordinate.prefix}drive/"
        for name in ("stiffness", "damping"):
            target.place.at_least_zero(f"{own}{name}", target.elements.slot(f"{own}{name}").values)
        cap = target.elements.slot(f"{own}max_effort").values
        target.place.at_least_zero(f"{own}max_effort", cap, target.effort, _FREE)
        acceleration = target.elements.slot(f"{own}acceleration").values
        target.place.positive(f"{own}acceleration", acceleration, infinite="one that is there at once")
