"""What users apply to geometries: bodies, joints, limits, drives, forces, motors."""

from __future__ import annotations

from dovetail.constitution.affine_body import AffineBodyConstitution
from dovetail.constitution.base import (
    Constraint,
    IConstitution,
    InterAffineBodyConstitution,
    InterAffineBodyExtraConstitution,
    class_of,
    constitution_classes,
)
from dovetail.constitution.codim import AffineBodyRod, AffineBodyShell
from dovetail.constitution.external_force import AffineBodyExternalBodyForce
from dovetail.constitution.joint import (
    AffineBodyCylindricalJoint,
    AffineBodyDistanceJoint,
    AffineBodyDrivingPrismaticJoint,
    AffineBodyDrivingRevoluteJoint,
    AffineBodyFixedJoint,
    AffineBodyJointDamper,
    AffineBodyJointDrive,
    AffineBodyJointFriction,
    AffineBodyJointLimit,
    AffineBodyPlanarJoint,
    AffineBodyPointOnLineJoint,
    AffineBodyPrismaticJoint,
    AffineBodyPrismaticJointExternalForce,
    AffineBodyPrismaticJointLimit,
    AffineBodyRevoluteJoint,
    AffineBodyRevoluteJointExternalForce,
    AffineBodyRevoluteJointLimit,
    AffineBodyScrewJoint,
    AffineBodySphericalJoint,
    AffineBodyUniversalJoint,
    EdgeJoint,
    ExternalArticulationConstraint,
    Joint,
    VertexJoint,
)
from dovetail.constitution.motor import LinearMotor, RotatingMotor
from dovetail.constitution.soft_transform import SoftTransformConstraint

__all__ = [
    "AffineBodyConstitution",
    "AffineBodyCylindricalJoint",
    "AffineBodyDistanceJoint",
    "AffineBodyDrivingPrismaticJoint",
    "AffineBodyDrivingRevoluteJoint",
    "AffineBodyExternalBodyForce",
    "AffineBodyFixedJoint",
    "AffineBodyJointDamper",
    "AffineBodyJointDrive",
    "AffineBodyJointFriction",
    "AffineBodyJointLimit",
    "AffineBodyPlanarJoint",
    "AffineBodyPointOnLineJoint",
    "AffineBodyPrismaticJoint",
    "AffineBodyPrismaticJointExternalForce",
    "AffineBodyPrismaticJointLimit",
    "AffineBodyRevoluteJoint",
    "AffineBodyRevoluteJointExternalForce",
    "AffineBodyRevoluteJointLimit",
    "AffineBodyRod",
    "AffineBodyScrewJoint",
    "AffineBodyShell",
    "AffineBodySphericalJoint",
    "AffineBodyUniversalJoint",
    "Constraint",
    "EdgeJoint",
    "ExternalArticulationConstraint",
    "IConstitution",
    "InterAffineBodyConstitution",
    "InterAffineBodyExtraConstitution",
    "Joint",
    "LinearMotor",
    "RotatingMotor",
    "SoftTransformConstraint",
    "VertexJoint",
    "class_of",
    "constitution_classes",
]
