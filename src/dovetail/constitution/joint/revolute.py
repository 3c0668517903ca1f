"""Revolute joint (18): a hinge."""

from __future__ import annotations

from dovetail.constitution.joint.base import EdgeJoint
from dovetail.constitution.terms import Angle, Coincide

__all__ = ["AffineBodyRevoluteJoint"]


class AffineBodyRevoluteJoint(EdgeJoint, uid=18):
    """Lets two bodies turn about an axis that both carry, by keeping two of its points together.

        E = K/2 (‖x⁰_i − x⁰_j‖² + ‖x¹_i − x¹_j‖²),   K = γ(m_i + m_j)

        cos θ = ½(n_i·n_j + b_i·b_j),   sin θ = ½(b_i·n_j − n_i·b_j)

    θ = 0 at the start and grows when the right body (child) turns right-handed about +t = P0 → P1 relative
    to the left (parent). The axes of both bodies are parallel. The distance of P0 and P1 is the lever
    against tilting.

    | where | attribute | unit | meaning |
    |---|---|---|---|
    | edges | `angle` | rad | θ + init_angle in (−π, π], written by the world |
    | edges | `angle/multi_turn` | rad | the same without wrapping; limits and drives use it |
    | edges | `init_angle` | rad | shifts the zero of what is reported; default 0 |
    | edges | `velocity` | rad/s | dθ/dt |

    Those common to all joints are listed at `Joint`.
    """

    terms = (Coincide("x0"), Coincide("x1"))
    coordinate = Angle()
