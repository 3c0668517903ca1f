"""Prismatic joint limit (669): a slider with stops."""

from __future__ import annotations

from dovetail.constitution.joint.extra import JointLimit
from dovetail.constitution.joint.prismatic import AffineBodyPrismaticJoint
from dovetail.constitution.laws import Limit
from dovetail.constitution.terms import Compose

__all__ = ["AffineBodyPrismaticJointLimit"]


class AffineBodyPrismaticJointLimit(JointLimit, uid=669):
    """Keeps the `distance` of a prismatic joint (20) between `limit/lower` and `limit/upper` [m].

        x = d(q) = ½ (c_j − c_i)·(t_i + t_j)

        l = limit/lower − init_distance,   u = limit/upper − init_distance

    The axis points from edge vertex 0 to edge vertex 1. `JointLimit` gives the energy and the attributes.
    """

    base = AffineBodyPrismaticJoint
    terms = (Compose(Limit(), AffineBodyPrismaticJoint.coordinate),)
