"""Driving prismatic joint (21): a servo on a slider."""

from __future__ import annotations

from dovetail.constitution.joint.extra import Drive
from dovetail.constitution.joint.prismatic import AffineBodyPrismaticJoint
from dovetail.constitution.laws import Spring
from dovetail.constitution.terms import Compose, Projection

__all__ = ["AffineBodyDrivingPrismaticJoint"]


class AffineBodyDrivingPrismaticJoint(Drive, uid=21):
    """Slides a prismatic joint (20) towards `aim_distance` [m], measured along the axis of either body.

        E = K_d/2 ((r·t_i − d̃)² + (r·t_j − d̃)²),   r = c_j − c_i,   d̃ = aim_distance − init_distance

        K_d = driving/strength_ratio·(m_i + m_j)

    `Drive` lists the attributes.
    """

    base = AffineBodyPrismaticJoint
    aim = "aim_distance"
    terms = (
        Compose(Spring(aim=aim), Projection(owner="left")),
        Compose(Spring(aim=aim), Projection(owner="right")),
    )
