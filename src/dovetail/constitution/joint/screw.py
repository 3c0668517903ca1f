"""Screw joint (10006): a nut on a thread."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.constitution.joint.base import EdgeJoint
from dovetail.constitution.laws import Hold
from dovetail.constitution.place import Place
from dovetail.constitution.terms import Angle, Coincide, Compose, Helix, Projection, Slide

__all__ = ["AffineBodyScrewJoint"]


class AffineBodyScrewJoint(EdgeJoint, uid=10006):
    """Lets the right body turn about an axis, and with it go ahead by `pitch` for every turn.

        E = K/2 (‖r × t_i‖² + ‖r × t_j‖² + ‖t_i − t_j‖² + (d − pitch·θ/2π)²),   K = γ(m_i + m_j)

    d and θ are those of a cylindrical joint. The thread is right-handed where pitch > 0.

    | where | attribute | unit | meaning |
    |---|---|---|---|
    | edges | `pitch` | m | way along t per turn; default 0.01, read when a world is initialised |
    | edges | `angle`, `angle/multi_turn`, `init_angle` | rad | θ, as of a revolute joint |
    | edges | `velocity` | rad/s | its rate |
    | edges | `distance`, `init_distance` | m | d, as of a prismatic joint |
    | edges | `distance/velocity` | m/s | its rate |

    Those common to all joints are listed at `Joint`.
    """

    terms = (
        Slide("c", axis="t", owner="left"),
        Slide("c", axis="t", owner="right"),
        Coincide("t"),
        Compose(Hold(scale="pitch"), Helix()),
    )
    coordinate = Angle()
    further = (Projection(prefix="distance/"),)
    attributes = {"pitch": 0.01}  # noqa: RUF012

    def check(self, geometry: Any, name: str = "") -> None:
        super().check(geometry, name)
        place = Place(type(self).__name__, "joint", geometry.edges.size(), name)
        pitch = place.numbers("pitch", geometry.edges.slot("pitch").values, "m")
        if (pitch == 0.0).any():
            raise place.error(
                "has pitch = 0 [m]; give the way per turn, or use AffineBodyRevoluteJoint (18).",
                int(np.argmax(pitch == 0.0)),
            )
