"""Joint armature (10106): inertia of a joint coordinate itself, such as that of a motor's rotor behind its gears."""

from __future__ import annotations

from dovetail.checked import checked
from dovetail.constitution.base import Constraint, write
from dovetail.constitution.joint.coordinate_extra import CoordinateExtra, Target
from dovetail.constitution.laws import Armature
from dovetail.errors import ArgumentType
from dovetail.geometry import SimplicialComplex
from dovetail.typing import ArrayLike

__all__ = ["AffineBodyJointArmature"]


class AffineBodyJointArmature(CoordinateExtra, Constraint, uid=10106):
    """Adds the kinetic energy ½ a ẋ² to a coordinate x; a rotor of inertia J behind a gear of ratio r has a = r²J.

    | where | attribute | unit | meaning |
    |---|---|---|---|
    | joints | `armature/inertia` | kg or kg·m² | a |

    Of a further coordinate the name begins with it: `angle/armature/inertia`.
    """

    law = Armature
    main = "armature/inertia"

    @checked(ArgumentType)
    def apply_to(self, sc: SimplicialComplex, inertia: ArrayLike, coordinate: str = "") -> None:
        """Give a coordinate of every joint inertia, the first one if none is named; one number, or one per joint."""
        target = self._target(sc, coordinate)
        a = target.place.at_least_zero("inertia", inertia)
        self._mark(sc)
        write(target.elements, f"{target.coordinate.prefix}armature/inertia", 0.0, a)

    def _check(self, target: Target) -> None:
        name = f"{target.coordinate.prefix}armature/inertia"
        target.place.at_least_zero(name, target.elements.slot(name).values)
