"""The module `uipc.constitution`: affine bodies and joints, and the names of what deforms."""

from __future__ import annotations

from typing import Any

from dovetail.constitution import (
    AffineBodyConstitution,
    AffineBodyRod,
    AffineBodyShell,
    Constraint,
    ExternalArticulationConstraint,
    IConstitution,
    InterAffineBodyConstitution,
    InterAffineBodyExtraConstitution,
    LinearMotor,
    RotatingMotor,
    SoftTransformConstraint,
)
from dovetail.uipc.constitution import (
    AffineBodyDrivingPrismaticJoint,
    AffineBodyDrivingRevoluteJoint,
    AffineBodyExternalBodyForce,
    AffineBodyFixedJoint,
    AffineBodyPrismaticJoint,
    AffineBodyPrismaticJointExternalForce,
    AffineBodyPrismaticJointLimit,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointExternalForce,
    AffineBodyRevoluteJointLimit,
    AffineBodySphericalJoint,
)
from dovetail.uipc.deformable import MISSING, absent

__all__ = [
    "AffineBodyConstitution",
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
    "AffineBodyRod",
    "AffineBodyShell",
    "AffineBodySphericalJoint",
    "Constraint",
    "ExternalArticulationConstraint",
    "IConstitution",
    "InterAffineBodyConstitution",
    "InterAffineBodyExtraConstitution",
    "LinearMotor",
    "RotatingMotor",
    "SoftTransformConstraint",
]

_missing = {name: absent(name) for name in MISSING}


def __getattr__(name: str) -> Any:
    """Constitutions of deformable bodies: they can be imported, and raise when they are used."""
    if name in _missing:
        return _missing[name]
    raise AttributeError(f"module 'uipc.constitution' has no attribute '{name}'")
