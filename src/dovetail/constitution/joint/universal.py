"""Universal joint (10003): a cross between two yokes."""

from __future__ import annotations

import numpy as np

from dovetail.constitution.joint.base import EdgeJoint
from dovetail.constitution.laws import Hold
from dovetail.constitution.terms import Bearing, Coincide, Compose, Cosine

__all__ = ["AffineBodyUniversalJoint"]


class AffineBodyUniversalJoint(EdgeJoint, uid=10003):
    """Keeps a point of two bodies together, and an axis t of the left body across an axis n of the right.

        E = K/2 (‖c_i − c_j‖² + (t_i·n_j)²),   K = γ(m_i + m_j)

    The left body carries the pin along t = P0 → P1 of the cross, the right body the one along n.

    | where | attribute | unit | meaning |
    |---|---|---|---|
    | edges | `frame/n` | | direction of the world that n shall have at the start, across t; 0: any |
    | edges | `angle`, `angle/multi_turn`, `init_angle` | rad | how far the cross has turned about t of the left body |
    | edges | `velocity` | rad/s | its rate |
    | edges | `bend`, `bend/multi_turn`, `init_bend` | rad | how far the right body has turned about n of the cross |
    | edges | `bend/velocity` | rad/s | its rate |

    Those common to all joints are listed at `Joint`.
    """

    terms = (Coincide("c"), Compose(Hold(), Cosine(left="t", right="n")))
    coordinate = Bearing(n="n", b="b", direction="n", owner="left")
    further = (
        Bearing(
            "bend", "init_bend", prefix="bend/", multi_turn="bend/multi_turn",
            n="t", b="b", direction="t", owner="right",
        ),
    )  # fmt: skip
    attributes = {"frame/n": np.zeros(3)}  # noqa: RUF012
