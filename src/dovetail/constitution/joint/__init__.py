"""Joints between affine bodies, and what can be added to them."""

from __future__ import annotations

from dovetail.constitution.joint.base import EdgeJoint, Joint, VertexJoint
from dovetail.constitution.joint.driving_prismatic import AffineBodyDrivingPrismaticJoint
from dovetail.constitution.joint.driving_revolute import AffineBodyDrivingRevoluteJoint
from dovetail.constitution.joint.external_articulation import ExternalArticulationConstraint
from dovetail.constitution.joint.fixed import AffineBodyFixedJoint
from dovetail.constitution.joint.prismatic import AffineBodyPrismaticJoint
from dovetail.constitution.joint.prismatic_force import AffineBodyPrismaticJointExternalForce
from dovetail.constitution.joint.prismatic_limit import AffineBodyPrismaticJointLimit
from dovetail.constitution.joint.revolute import AffineBodyRevoluteJoint
from dovetail.constitution.joint.revolute_force import AffineBodyRevoluteJointExternalForce
from dovetail.constitution.joint.revolute_limit import AffineBodyRevoluteJointLimit
from dovetail.constitution.joint.spherical import AffineBodySphericalJoint

__all__ = [
    "AffineBodyDrivingPrismaticJoint",
    "AffineBodyDrivingRevoluteJoint",
    "AffineBodyFixedJoint",
    "AffineBodyPrismaticJoint",
    "AffineBodyPrismaticJointExternalForce",
    "AffineBodyPrismaticJointLimit",
    "AffineBodyRevoluteJoint",
    "AffineBodyRevoluteJointExternalForce",
    "AffineBodyRevoluteJointLimit",
    "AffineBodySphericalJoint",
    "EdgeJoint",
    "ExternalArticulationConstraint",
    "Joint",
    "VertexJoint",
]
