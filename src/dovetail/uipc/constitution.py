"""Constitutions with the call forms of older versions of libuipc besides the present ones."""

from __future__ import annotations

from typing import Any

from dovetail import builtin, constitution
from dovetail.geometry import SimplicialComplex
from dovetail.typing import ArrayLike

__all__ = [
    "AffineBodyDrivingPrismaticJoint",
    "AffineBodyDrivingRevoluteJoint",
    "AffineBodyExternalBodyForce",
    "AffineBodyFixedJoint",
    "AffineBodyPrismaticJoint",
    "AffineBodyPrismaticJointExternalForce",
    "AffineBodyPrismaticJointLimit",
    "AffineBodyRevoluteJoint",
    "AffineBodyRevoluteJointExternalForce",
    "AffineBodyRevoluteJointLimit",
    "AffineBodySphericalJoint",
]

_SINGULAR = {
    "strength_ratios": "strength_ratio",
    "lowers": "lower",
    "uppers": "upper",
    "strengths": "strength",
    "forces": "force",
    "torques": "torque",
}
"""libuipc names an argument by its plural where it takes one value per joint."""


def _spelled_out(given: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """`apply_to(sc, [(left, right), …], strength)` as `apply_to(sc, lefts, rights, strength)`."""
    pairs = given[0] if given else named.get("geo_slot_tuples")
    if not isinstance(pairs, list) or not pairs or not all(isinstance(p, tuple) and len(p) == 2 for p in pairs):
        return given, named
    sides = [list(side) for side in zip(*pairs, strict=True)]
    return (*sides, *given[1:]), {name: value for name, value in named.items() if name != "geo_slot_tuples"}


class _Joint(constitution.Joint):
    """A joint whose `apply_to` also takes pairs of slots, as before libuipc 0.0.2x."""

    def apply_to(self, sc: SimplicialComplex, *given: Any, **named: Any) -> None:
        positional, keywords = _spelled_out(given, named)
        super().apply_to(sc, *positional, **keywords)


class AffineBodyRevoluteJoint(_Joint, constitution.AffineBodyRevoluteJoint):
    """See `dovetail.constitution.AffineBodyRevoluteJoint`."""


class AffineBodyPrismaticJoint(_Joint, constitution.AffineBodyPrismaticJoint):
    """See `dovetail.constitution.AffineBodyPrismaticJoint`."""


class AffineBodyFixedJoint(_Joint, constitution.AffineBodyFixedJoint):
    """See `dovetail.constitution.AffineBodyFixedJoint`."""


class AffineBodySphericalJoint(_Joint, constitution.AffineBodySphericalJoint):
    """See `dovetail.constitution.AffineBodySphericalJoint`."""


class _Addition:
    """Something on a joint whose arguments may be named by their plurals."""

    def apply_to(self, sc: SimplicialComplex, *given: Any, **named: Any) -> None:
        super().apply_to(sc, *given, **{_SINGULAR.get(name, name): value for name, value in named.items()})  # type: ignore[misc]


class AffineBodyDrivingRevoluteJoint(_Addition, constitution.AffineBodyDrivingRevoluteJoint):
    """See `dovetail.constitution.AffineBodyDrivingRevoluteJoint`."""


class AffineBodyDrivingPrismaticJoint(_Addition, constitution.AffineBodyDrivingPrismaticJoint):
    """See `dovetail.constitution.AffineBodyDrivingPrismaticJoint`."""


class AffineBodyRevoluteJointLimit(_Addition, constitution.AffineBodyRevoluteJointLimit):
    """See `dovetail.constitution.AffineBodyRevoluteJointLimit`."""


class AffineBodyPrismaticJointLimit(_Addition, constitution.AffineBodyPrismaticJointLimit):
    """See `dovetail.constitution.AffineBodyPrismaticJointLimit`."""


class AffineBodyRevoluteJointExternalForce(_Addition, constitution.AffineBodyRevoluteJointExternalForce):
    """See `dovetail.constitution.AffineBodyRevoluteJointExternalForce`."""


class AffineBodyPrismaticJointExternalForce(_Addition, constitution.AffineBodyPrismaticJointExternalForce):
    """See `dovetail.constitution.AffineBodyPrismaticJointExternalForce`."""


class AffineBodyExternalBodyForce(constitution.AffineBodyExternalBodyForce):
    """Also makes `is_constrained`, which switched the force before libuipc 0.0.29.

    The force acts at once, as it does since; a script that sets `is_constrained` takes over (see `uipc/scene.py`).
    """

    def apply_to(self, sc: SimplicialComplex, force: ArrayLike, enable: bool = True) -> None:
        super().apply_to(sc, force, enable)
        if sc.instances.find(builtin.is_constrained) is None:
            sc.instances.create(builtin.is_constrained, 0)
