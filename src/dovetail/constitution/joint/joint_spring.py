"""Joint spring (10107): pulls any joint coordinate back to where it is at rest, beside a drive."""

from __future__ import annotations

from dovetail.checked import checked
from dovetail.constitution.base import Constraint, fill, write
from dovetail.constitution.joint.coordinate_extra import CoordinateExtra, Target
from dovetail.constitution.laws import Elastic
from dovetail.errors import ArgumentType
from dovetail.geometry import SimplicialComplex
from dovetail.typing import ArrayLike

__all__ = ["AffineBodyJointSpring"]


class AffineBodyJointSpring(CoordinateExtra, Constraint, uid=10107):
    """Pulls a coordinate x back to x̃ with the effort −k (x − x̃).

    | where | attribute | unit | meaning |
    |---|---|---|---|
    | joints | `spring/stiffness` | N/m or N·m/rad | k |
    | joints | `spring/rest` | m or rad | x̃, in the frame of the reported value; default 0 |
    | joints | `spring/effort` | N or N·m | what it exerts along the coordinate, written by the world |

    Of a further coordinate the names begin with it: `angle/spring/stiffness`.
    """

    law = Elastic
    main = "spring/stiffness"

    @checked(ArgumentType)
    def apply_to(
        self, sc: SimplicialComplex, stiffness: ArrayLike, rest: ArrayLike = 0.0, coordinate: str = ""
    ) -> None:
        """Put a spring on a coordinate of every joint, the first one if none is named; numbers, or one per joint."""
        target = self._target(sc, coordinate)
        own = f"{target.coordinate.prefix}spring/"
        k, x = target.place.at_least_zero("stiffness", stiffness), target.place.numbers("rest", rest)
        self._mark(sc)
        write(target.elements, f"{own}stiffness", 0.0, k)
        write(target.elements, f"{own}rest", 0.0, x)
        fill(target.elements, f"{own}effort", 0.0)

    def _check(self, target: Target) -> None:
        own = f"{target.coordinate.prefix}spring/"
        target.place.at_least_zero(f"{own}stiffness", target.elements.slot(f"{own}stiffness").values)
        target.place.numbers(f"{own}rest", target.elements.slot(f"{own}rest").values)
