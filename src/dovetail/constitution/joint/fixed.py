"""Fixed joint (25): two bodies welded together."""

from __future__ import annotations

from typing import Any, overload

from dovetail.constitution.joint.base import Slots, VertexJoint
from dovetail.constitution.joint.pairs import Pairs
from dovetail.constitution.terms import Coincide
from dovetail.geometry import SimplicialComplex
from dovetail.typing import Array, ArrayLike

__all__ = ["AffineBodyFixedJoint"]


class AffineBodyFixedJoint(VertexJoint, uid=25):
    """Keeps one point of two bodies together, and three directions parallel: no relative motion is left.

        E = K/2 (‖c_i − c_j‖² + ‖t_i − t_j‖² + ‖n_i − n_j‖² + ‖b_i − b_j‖²),   K = γ(m_i + m_j)

    The relative orientation at the start is kept. Anchors that are apart at the start are pulled together.
    """

    terms = (Coincide("c"), Coincide("t"), Coincide("n"), Coincide("b"))
    world_points = ()

    @overload
    def create_geometry(
        self,
        l_geo_slots: Slots,
        l_instance_ids: ArrayLike,
        r_geo_slots: Slots,
        r_instance_ids: ArrayLike,
        strength_ratios: ArrayLike,
    ) -> SimplicialComplex: ...

    @overload
    def create_geometry(
        self,
        l_positions: ArrayLike,
        r_positions: ArrayLike,
        l_geo_slots: Slots,
        l_instance_ids: ArrayLike,
        r_geo_slots: Slots,
        r_instance_ids: ArrayLike,
        strength_ratios: ArrayLike,
    ) -> SimplicialComplex: ...

    def create_geometry(self, *given: Any, **named: Any) -> SimplicialComplex:
        """A point cloud with a vertex per joint, from anchors (n, 3) [m] in the bodies.

        Without anchors, each is the midpoint of the two bodies' translations, read from the slots now.
        """
        return self._create(given, named)

    def _world(self, points: list[Array], pairs: Pairs) -> list[Array]:
        return [pairs.poses()[:, :, :3, 3].mean(axis=0)]
