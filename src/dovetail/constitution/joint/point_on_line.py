"""Point-on-line joint (10005): a bead on a straight wire."""

from __future__ import annotations

from dovetail.constitution.joint.base import EdgeJoint
from dovetail.constitution.terms import Projection, Slide

__all__ = ["AffineBodyPointOnLineJoint"]


class AffineBodyPointOnLineJoint(EdgeJoint, uid=10005):
    """Keeps a point of the right body on a line of the left one, and leaves its rotation free.

        E = K/2 ‖r × t_i‖²,   r = c_j − c_i,   K = γ(m_i + m_j)

    | where | attribute | unit | meaning |
    |---|---|---|---|
    | edges | `distance` | m | r·t_i + init_distance, written by the world |
    | edges | `init_distance` | m | shifts the zero of what is reported; default 0 |
    | edges | `velocity` | m/s | its rate |

    Those common to all joints are listed at `Joint`.
    """

    terms = (Slide("c", axis="t", owner="left"),)
    coordinate = Projection(owner="left")
