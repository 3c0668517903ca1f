"""Joint friction (10103): dry friction of any joint coordinate."""

from __future__ import annotations

from dovetail.checked import checked
from dovetail.constitution.base import Constraint, fill, write
from dovetail.constitution.joint.coordinate_extra import CoordinateExtra, Target
from dovetail.constitution.laws import DryFriction
from dovetail.errors import ArgumentType
from dovetail.geometry import SimplicialComplex
from dovetail.typing import ArrayLike

__all__ = ["AffineBodyJointFriction"]

_EPS_VELOCITY = 1e-3


class AffineBodyJointFriction(CoordinateExtra, Constraint, uid=10103):
    """Resists the motion of a coordinate x with the constant effort f, whatever its velocity.

    Below `eps_velocity` the effort falls in proportion to the velocity, so that a load below f is held while it creeps
    with less than that.

    | where | attribute | unit | meaning |
    |---|---|---|---|
    | joints | `friction/max_effort` | N or N·m | f |
    | joints | `friction/eps_velocity` | m/s or rad/s | velocity at which f is reached; default 1e-3 |
    | joints | `friction/effort` | N or N·m | what it exerts along the coordinate, written by the world |

    Of a further coordinate the names begin with it: `angle/friction/max_effort`.
    """

    law = DryFriction
    main = "friction/max_effort"

    @checked(ArgumentType)
    def apply_to(
        self,
        sc: SimplicialComplex,
        max_effort: ArrayLike,
        eps_velocity: ArrayLike = _EPS_VELOCITY,
        coordinate: str = "",
    ) -> None:
        """Put friction on a coordinate of every joint, the first one if none is named; numbers, or one per joint."""
        target = self._target(sc, coordinate)
        own = f"{target.coordinate.prefix}friction/"
        f = target.place.at_least_zero("max_effort", max_effort, target.effort)
        eps = target.place.positive("eps_velocity", eps_velocity)
        self._mark(sc)
        write(target.elements, f"{own}max_effort", 0.0, f)
        write(target.elements, f"{own}eps_velocity", _EPS_VELOCITY, eps)
        fill(target.elements, f"{own}effort", 0.0)

    def _check(self, target: Target) -> None:
        own = f"{target.coordinate.prefix}friction/"
        values = {name: target.elements.slot(f"{own}{name}").values for name in ("max_effort", "eps_velocity")}
        target.place.at_least_zero(f"{own}max_effort", values["max_effort"], target.effort)
        target.place.positive(f"{own}eps_velocity", values["eps_velocity"])
