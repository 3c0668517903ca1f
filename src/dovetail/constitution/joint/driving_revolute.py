"""Driving revolute joint (19): a servo on a hinge."""

from __future__ import annotations

from dovetail.constitution.joint.extra import Drive
from dovetail.constitution.joint.revolute import AffineBodyRevoluteJoint
from dovetail.constitution.laws import Spring
from dovetail.constitution.terms import Compose

__all__ = ["AffineBodyDrivingRevoluteJoint"]


class AffineBodyDrivingRevoluteJoint(Drive, uid=19):
    """Turns a revolute joint (18) towards `aim_angle` [rad], which may be many turns away.

        E = K_d/2 (θ − (aim_angle − init_angle))²,   K_d = driving/strength_ratio·(m_i + m_j)

    θ is the multi-turn angle. `Drive` lists the attributes.
    """

    base = AffineBodyRevoluteJoint
    aim = "aim_angle"
    terms = (Compose(Spring(aim=aim), AffineBodyRevoluteJoint.coordinate),)
