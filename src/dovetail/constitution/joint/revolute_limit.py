"""Revolute joint limit (670): a hinge with stops."""

from __future__ import annotations

from dovetail.constitution.joint.extra import JointLimit
from dovetail.constitution.joint.revolute import AffineBodyRevoluteJoint
from dovetail.constitution.laws import Limit
from dovetail.constitution.terms import Compose

__all__ = ["AffineBodyRevoluteJointLimit"]


class AffineBodyRevoluteJointLimit(JointLimit, uid=670):
    """Keeps the multi-turn angle of a revolute joint (18) between `limit/lower` and `limit/upper` [rad].

    The bounds are those of `angle/multi_turn`, so they may be many turns apart. `JointLimit` gives the
    energy and the attributes.
    """

    base = AffineBodyRevoluteJoint
    terms = (Compose(Limit(), AffineBodyRevoluteJoint.coordinate),)
