"""Joint limit (10104): stops on any joint coordinate, soft or never crossed."""

from __future__ import annotations

from dovetail import builtin
from dovetail.checked import checked
from dovetail.constitution.base import InterAffineBodyExtraConstitution
from dovetail.constitution.joint.base import Joint
from dovetail.constitution.joint.coordinate_extra import CoordinateExtra, Target
from dovetail.constitution.joint.extra import checked_limit, limit_laws, write_limit
from dovetail.constitution.laws import Limit
from dovetail.constitution.terms import Compose
from dovetail.errors import ArgumentType
from dovetail.geometry import AttributeCollection, SimplicialComplex
from dovetail.typing import ArrayLike

__all__ = ["AffineBodyJointLimit"]


class AffineBodyJointLimit(CoordinateExtra, InterAffineBodyExtraConstitution, uid=10104):
    """Keeps any joint coordinate between two bounds: the limits 669 and 670 for all joints.

    | where | attribute | unit | meaning |
    |---|---|---|---|
    | joints | `limit/lower`, `limit/upper` | m or rad | bounds on the reported value, of angles over many turns |
    | joints | `limit/strength` | kg·m² | s of a cubic penalty outside; inf: the bounds are never crossed |
    | joints | `limit/violation` | m or rad | how far outside, 0 inside, written by the world |
    | joints | `limit/effort` | N or N·m | what it exerts along the coordinate, written by the world |

    Of a further coordinate the names begin with it: `angle/limit/lower`. `JointLimit` gives the energies.
    """

    law = Limit
    main = "limit/strength"
    uid_list = builtin.extra_constitution_uids

    @classmethod
    def laws_on(cls, kind: type[Joint], elements: AttributeCollection) -> tuple[Compose, ...]:
        chosen = [word for word in kind.coordinates() if f"{word.prefix}{cls.main}" in elements]
        return tuple(law for word in chosen for law in limit_laws(word, elements))

    @checked(ArgumentType)
    def apply_to(
        self,
        sc: SimplicialComplex,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = 0.0,
        strength: ArrayLike = 1.0,
        coordinate: str = "",
    ) -> None:
        """Limit a coordinate of every joint, the first one if none is named; one number each, or one per joint."""
        target = self._target(sc, coordinate)
        numbers = checked_limit(target.place, target.coordinate.unit, lower, upper, strength)
        self._mark(sc)
        write_limit(target.elements, target.coordinate.prefix, *numbers)

    def _check(self, target: Target) -> None:
        own = f"{target.coordinate.prefix}limit/"
        numbers = (target.elements.slot(f"{own}{name}").values for name in ("lower", "upper", "strength"))
        checked_limit(target.place, target.coordinate.unit, *numbers)
