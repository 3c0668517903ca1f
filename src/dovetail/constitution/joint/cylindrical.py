"""Cylindrical joint (10001): a shaft in a sleeve."""

from __future__ import annotations

from dovetail.constitution.joint.base import EdgeJoint
from dovetail.constitution.terms import Angle, Coincide, Projection, Slide

__all__ = ["AffineBodyCylindricalJoint"]


class AffineBodyCylindricalJoint(EdgeJoint, uid=10001):
    """Lets two bodies slide along an axis and turn about it.

        E = K/2 (‖r × t_i‖² + ‖r × t_j‖² + ‖t_i − t_j‖²),   r = c_j − c_i,   K = γ(m_i + m_j)

    | where | attribute | unit | meaning |
    |---|---|---|---|
    | edges | `distance`, `init_distance` | m | as that of a prismatic joint, and its offset |
    | edges | `velocity` | m/s | its rate |
    | edges | `angle`, `angle/multi_turn`, `init_angle` | rad | as those of a revolute joint |
    | edges | `angle/velocity` | rad/s | its rate |

    Those common to all joints are listed at `Joint`.
    """

    terms = (Slide("c", axis="t", owner="left"), Slide("c", axis="t", owner="right"), Coincide("t"))
    coordinate = Projection()
    further = (Angle(prefix="angle/"),)
