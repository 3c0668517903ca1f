"""Planar joint (10002): a puck on a table, which cannot be lifted or tilted."""

from __future__ import annotations

import numpy as np

from dovetail.constitution.joint.base import EdgeJoint
from dovetail.constitution.laws import Hold
from dovetail.constitution.terms import Angle, Coincide, Compose, Projection

__all__ = ["AffineBodyPlanarJoint"]


class AffineBodyPlanarJoint(EdgeJoint, uid=10002):
    """Lets the right body slide in a plane of the left one and turn about its normal t.

        E = K/2 (‖t_i − t_j‖² + (½ r·(t_i + t_j))²),   r = c_j − c_i,   K = γ(m_i + m_j)

    | where | attribute | unit | meaning |
    |---|---|---|---|
    | edges | `frame/n` | | direction of the world that n shall have at the start, across t; 0: any |
    | edges | `distance_n`, `init_distance_n` | m | r·n_i, and its offset |
    | edges | `velocity` | m/s | its rate |
    | edges | `distance_b`, `init_distance_b` | m | r·b_i, b = t × n |
    | edges | `distance_b/velocity` | m/s | its rate |
    | edges | `angle`, `angle/multi_turn`, `init_angle`, `angle/velocity` | rad, rad/s | as of a revolute joint |

    Those common to all joints are listed at `Joint`.
    """

    terms = (Coincide("t"), Compose(Hold(), Projection()))
    coordinate = Projection("distance_n", "init_distance_n", axis="n", owner="left")
    further = (
        Projection("distance_b", "init_distance_b", prefix="distance_b/", axis="b", owner="left"),
        Angle(prefix="angle/"),
    )
    attributes = {"frame/n": np.zeros(3)}  # noqa: RUF012
