"""Distance joint (10004): a rod with a ball at either end."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.constitution.base import write
from dovetail.constitution.joint.base import EdgeJoint
from dovetail.constitution.joint.frame import axis_ends
from dovetail.constitution.joint.pairs import Pairs
from dovetail.constitution.laws import Hold
from dovetail.constitution.place import Place
from dovetail.constitution.terms import Compose, Length
from dovetail.geometry import SimplicialComplex
from dovetail.typing import Array

__all__ = ["AffineBodyDistanceJoint"]


class AffineBodyDistanceJoint(EdgeJoint, uid=10004):
    """Keeps a point of the left body, P0, and one of the right, P1, `length` apart.

        E = K/2 (d − length)²,   d = ‖x¹_j − x⁰_i‖,   K = γ(m_i + m_j)

    | where | attribute | unit | meaning |
    |---|---|---|---|
    | edges | `length` | m | at creation ‖P1 − P0‖; read every frame, so that a winch can change it |
    | edges | `distance` | m | d + init_distance, written by the world |
    | edges | `init_distance` | m | shifts the zero of what is reported; default 0 |
    | edges | `velocity` | m/s | dd/dt |

    Those common to all joints are listed at `Joint`.
    """

    terms = (Compose(Hold(target="length"), Length()),)
    coordinate = Length()
    attributes = {"length": 0.0}  # noqa: RUF012

    def _connect(self, sc: SimplicialComplex, pairs: Pairs, gamma: Array) -> None:
        super()._connect(sc, pairs, gamma)
        start, end = axis_ends(sc, pairs.poses(), Place(type(self).__name__, "joint", len(gamma)))
        write(sc.edges, "length", 0.0, np.linalg.norm(end - start, axis=1))

    def check(self, geometry: Any, name: str = "") -> None:
        super().check(geometry, name)
        place = Place(type(self).__name__, "joint", geometry.edges.size(), name)
        place.positive("length", geometry.edges.slot("length").values, "m")
