"""Joint damper (10102): a resistance in proportion to the velocity of any joint coordinate."""

from __future__ import annotations

from dovetail.checked import checked
from dovetail.constitution.base import Constraint, fill, write
from dovetail.constitution.joint.coordinate_extra import CoordinateExtra, Target
from dovetail.constitution.laws import Damper
from dovetail.errors import ArgumentType
from dovetail.geometry import SimplicialComplex
from dovetail.typing import ArrayLike

__all__ = ["AffineBodyJointDamper"]


class AffineBodyJointDamper(CoordinateExtra, Constraint, uid=10102):
    """Resists the motion of a coordinate x with the effort −c ẋ, with ẋ of the end of the step.

    | where | attribute | unit | meaning |
    |---|---|---|---|
    | joints | `damper/damping` | N·s/m or N·m·s/rad | c |
    | joints | `damper/effort` | N or N·m | what it exerts along the coordinate, written by the world |

    Of a further coordinate the names begin with it: `angle/damper/damping`.
    """

    law = Damper
    main = "damper/damping"

    @checked(ArgumentType)
    def apply_to(self, sc: SimplicialComplex, damping: ArrayLike, coordinate: str = "") -> None:
        """Damp a coordinate of every joint, the first one if none is named; one number, or one per joint."""
        target = self._target(sc, coordinate)
        own = f"{target.coordinate.prefix}damper/"
        c = target.place.at_least_zero("damping", damping)
        self._mark(sc)
        write(target.elements, f"{own}damping", 0.0, c)
        fill(target.elements, f"{own}effort", 0.0)

    def _check(self, target: Target) -> None:
        name = f"{target.coordinate.prefix}damper/damping"
        target.place.at_least_zero(name, target.elements.slot(name).values)
