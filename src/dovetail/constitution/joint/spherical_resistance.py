"""Spherical joint resistance (10108): damping, inertia and the range of a ball and socket as a whole."""

from __future__ import annotations

import math
from typing import Any

from dovetail.builtin import constraint_uids
from dovetail.checked import checked
from dovetail.constitution.base import Constraint, mark, uid_of, write
from dovetail.constitution.joint.base import Joint
from dovetail.constitution.joint.extra import JointExtra, checked_limit, limit_laws, write_limit
from dovetail.constitution.joint.spherical import AffineBodySphericalJoint
from dovetail.constitution.laws import Armature, Drag
from dovetail.constitution.place import Place
from dovetail.constitution.rotations import Entry, Tilt
from dovetail.constitution.terms import Compose
from dovetail.errors import ArgumentType
from dovetail.geometry import AttributeCollection, SimplicialComplex
from dovetail.typing import ArrayLike

__all__ = ["AffineBodySphericalJointResistance"]

_OWN = "ball/"
_DAMPING, _INERTIA, _STRENGTH = (f"{_OWN}{name}" for name in ("damper/damping", "armature/inertia", "limit/strength"))
_ENTRIES = tuple(Entry(prefix=_OWN, left=k, right=m) for k in "tnb" for m in "tnb")
_TILT = Tilt(prefix=_OWN)


class AffineBodySphericalJointResistance(JointExtra, Constraint, uid=10108):
    """What resists the rotation R = R_iᵀ R_j of a spherical joint (26) by its spin ω and its angle θ, any axis alike.

        torque −c ω,   kinetic energy ½ a ω²,   0 ≤ θ ≤ max_angle by a limit as of other coordinates

    As ½‖Ṙ‖² = ω², c and a act on each of the nine entries of R/√2: nothing is singular, at half a turn or elsewhere.

    | where | attribute | unit | meaning |
    |---|---|---|---|
    | vertices | `ball/damper/damping` | N·m·s/rad | c |
    | vertices | `ball/armature/inertia` | kg·m² | a |
    | vertices | `ball/limit/upper`, `ball/limit/lower` | rad | max_angle of θ, and −max_angle |
    | vertices | `ball/limit/strength` | kg·m² | s of a cubic penalty beyond; inf: it is never crossed |
    | vertices | `ball/limit/violation`, `ball/limit/effort` | rad, N·m | how far beyond, and the torque then; written |

    Those that `apply_to` is given are there, and read every frame.
    """

    @classmethod
    def laws_on(cls, kind: type[Joint], elements: AttributeCollection) -> tuple[Compose, ...]:
        chosen = [law for law, name in ((Drag(_OWN), _DAMPING), (Armature(_OWN), _INERTIA)) if name in elements]
        limits = limit_laws(_TILT, elements) if _STRENGTH in elements else ()
        return (*(Compose(law, entry) for law in chosen for entry in _ENTRIES), *limits)

    @checked(ArgumentType)
    def apply_to(
        self,
        sc: SimplicialComplex,
        damping: ArrayLike | None = None,
        inertia: ArrayLike | None = None,
        max_angle: ArrayLike | None = None,
        strength: ArrayLike = 1.0,
    ) -> None:
        """Give every joint what is not None; one number each, or one per joint."""
        place = Place(type(self).__name__, "joint", sc.vertices.size())
        if uid_of(sc) != AffineBodySphericalJoint.uids[0]:
            raise place.error(
                f"the geometry carries constitution {uid_of(sc)}; apply AffineBodySphericalJoint (26) to it first."
            )
        mark(sc, self._uid, constraint_uids)
        for name, values in ((_DAMPING, damping), (_INERTIA, inertia)):
            if values is not None:
                write(sc.vertices, name, 0.0, place.at_least_zero(name, values))
        if max_angle is not None:
            upper = place.positive("max_angle", max_angle, "rad")
            if (upper >= math.pi).any():
                raise place.error(f"has max_angle = {upper.max():g} [rad]; no angle is beyond π, give less.")
            write_limit(sc.vertices, _OWN, *checked_limit(place, "rad", -upper, upper, strength))

    def check(self, geometry: Any, name: str = "") -> None:
        vertices = geometry.vertices
        place = Place(type(self).__name__, "joint", vertices.size(), name)
        for each in (_DAMPING, _INERTIA):
            if each in vertices:
                place.at_least_zero(each, vertices.slot(each).values)
        if _STRENGTH in vertices:
            numbers = (vertices.slot(f"{_OWN}limit/{each}").values for each in ("lower", "upper", "strength"))
            checked_limit(place, "rad", *numbers)
