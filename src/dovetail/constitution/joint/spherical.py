"""Spherical joint (26): a ball in a socket."""

from __future__ import annotations

from typing import Any, overload

from dovetail.checked import checked
from dovetail.constitution.joint.base import Slots, VertexJoint
from dovetail.constitution.rotations import Turn
from dovetail.constitution.terms import Coincide
from dovetail.errors import ArgumentType
from dovetail.geometry import Geometry, SimplicialComplex
from dovetail.typing import ArrayLike

__all__ = ["AffineBodySphericalJoint", "MeasuredSphericalJoint"]


class AffineBodySphericalJoint(VertexJoint, uid=26):
    """Keeps one point of two bodies together and leaves their rotation free.

    E = K/2 ‖c_i − c_j‖²,   K = γ(m_i + m_j)
    """

    terms = (Coincide("c"),)

    @classmethod
    @checked(ArgumentType)
    def on(cls, geometry: Geometry) -> type[AffineBodySphericalJoint]:
        measured = isinstance(geometry, SimplicialComplex) and "rotation_x" in geometry.vertices
        return MeasuredSphericalJoint if measured else cls

    @overload
    def create_geometry(
        self,
        positions: ArrayLike,
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
        """A point cloud with a vertex per joint, from anchors (n, 3) [m] in the world or in the bodies."""
        return self._create(given, named)


def _turn(axis: str, rows: str) -> Turn:
    name = f"rotation_{axis}"
    return Turn(name, f"init_{name}", prefix=f"{name}/", t=rows[0], n=rows[1], b=rows[2])


class MeasuredSphericalJoint(AffineBodySphericalJoint, member=True):
    """One that reports the rotation vector: what a spherical joint with a drive (27) is."""

    coordinate = _turn("x", "tnb")
    further = (_turn("y", "nbt"), _turn("z", "btn"))
