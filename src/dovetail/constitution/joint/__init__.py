"""Joints between affine bodies, and what can be added to them."""

from __future__ import annotations

from dovetail.constitution.joint.base import EdgeJoint, Joint, VertexJoint
from dovetail.constitution.joint.coupling import AffineBodyJointCoupling
from dovetail.constitution.joint.cylindrical import AffineBodyCylindricalJoint
from dovetail.constitution.joint.d6 import AffineBodyD6Joint
from dovetail.constitution.joint.distance import AffineBodyDistanceJoint
from dovetail.constitution.joint.driving_prismatic import AffineBodyDrivingPrismaticJoint
from dovetail.constitution.joint.driving_revolute import AffineBodyDrivingRevoluteJoint
from dovetail.constitution.joint.driving_spherical import AffineBodyDrivingSphericalJoint
from dovetail.constitution.joint.external_articulation import ExternalArticulationConstraint
from dovetail.constitution.joint.fixed import AffineBodyFixedJoint
from dovetail.constitution.joint.joint_armature import AffineBodyJointArmature
from dovetail.constitution.joint.joint_damper import AffineBodyJointDamper
from dovetail.constitution.joint.joint_drive import AffineBodyJointDrive
from dovetail.constitution.joint.joint_friction import AffineBodyJointFriction
from dovetail.constitution.joint.joint_limit import AffineBodyJointLimit
from dovetail.constitution.joint.joint_spring import AffineBodyJointSpring
from dovetail.constitution.joint.planar import AffineBodyPlanarJoint
from dovetail.constitution.joint.point_on_line import AffineBodyPointOnLineJoint
from dovetail.constitution.joint.prismatic import AffineBodyPrismaticJoint
from dovetail.constitution.joint.prismatic_force import AffineBodyPrismaticJointExternalForce
from dovetail.constitution.joint.prismatic_limit import AffineBodyPrismaticJointLimit
from dovetail.constitution.joint.revolute import AffineBodyRevoluteJoint
from dovetail.constitution.joint.revolute_force import AffineBodyRevoluteJointExternalForce
from dovetail.constitution.joint.revolute_limit import AffineBodyRevoluteJointLimit
from dovetail.constitution.joint.screw import AffineBodyScrewJoint
from dovetail.constitution.joint.spherical import AffineBodySphericalJoint
from dovetail.constitution.joint.spherical_resistance import AffineBodySphericalJointResistance
from dovetail.constitution.joint.universal import AffineBodyUniversalJoint

__all__ = [
    "AffineBodyCylindricalJoint",
    "AffineBodyD6Joint",
    "AffineBodyDistanceJoint",
    "AffineBodyDrivingPrismaticJoint",
    "AffineBodyDrivingRevoluteJoint",
    "AffineBodyDrivingSphericalJoint",
    "AffineBodyFixedJoint",
    "AffineBodyJointArmature",
    "AffineBodyJointCoupling",
    "AffineBodyJointDamper",
    "AffineBodyJointDrive",
    "AffineBodyJointFriction",
    "AffineBodyJointLimit",
    "AffineBodyJointSpring",
    "AffineBodyPlanarJoint",
    "AffineBodyPointOnLineJoint",
    "AffineBodyPrismaticJoint",
    "AffineBodyPrismaticJointExternalForce",
    "AffineBodyPrismaticJointLimit",
    "AffineBodyRevoluteJoint",
    "AffineBodyRevoluteJointExternalForce",
    "AffineBodyRevoluteJointLimit",
    "AffineBodyScrewJoint",
    "AffineBodySphericalJoint",
    "AffineBodySphericalJointResistance",
    "AffineBodyUniversalJoint",
    "EdgeJoint",
    "ExternalArticulationConstraint",
    "Joint",
    "VertexJoint",
]
