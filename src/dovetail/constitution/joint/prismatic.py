"""Prismatic joint (20): a slider."""

from __future__ import annotations

from dovetail.constitution.joint.base import EdgeJoint
from dovetail.constitution.terms import Coincide, Projection, Slide

__all__ = ["AffineBodyPrismaticJoint"]


class AffineBodyPrismaticJoint(EdgeJoint, uid=20):
    """Lets two bodies slide along an axis, and holds everything else.

        C₀ = (c_j − c_i) × t_i,   C₁ = (c_i − c_j) × t_j,   C₂ = n_i − n_j,   C₃ = b_i − b_j

        E = K/2 Σ ‖C_k‖²,   K = γ(m_i + m_j)

        d = ½ (c_j − c_i)·(t_i + t_j)

    d grows when the right body moves along +t = P0 → P1 relative to the left. In the world form d = 0 at
    the start; in the local form the anchors may start apart along the axis.

    | where | attribute | unit | meaning |
    |---|---|---|---|
    | edges | `distance` | m | d + init_distance, written by the world |
    | edges | `init_distance` | m | shifts the zero of what is reported; default 0 |
    | edges | `velocity` | m/s | dd/dt |

    Those common to all joints are listed at `Joint`.
    """

    terms = (
        Slide("c", axis="t", owner="left"),
        Slide("c", axis="t", owner="right"),
        Coincide("n"),
        Coincide("b"),
    )
    coordinate = Projection()
