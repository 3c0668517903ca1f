"""Implicit geometries: shapes given by an equation instead of a mesh, such as half-planes."""

from __future__ import annotations

from dovetail.geometry.geometry import Geometry

__all__ = ["ImplicitGeometry"]


class ImplicitGeometry(Geometry):
    """A shape without vertices; meta `implicit_geometry_uid` says which, instance attributes where."""

    __slots__ = ()

    def type(self) -> str:
        return "ImplicitGeometry"
