"""Geometry slots: the handles under which a scene keeps geometries."""

from __future__ import annotations

from typing import Any

from dovetail.geometry.geometry import Geometry
from dovetail.geometry.implicit_geometry import ImplicitGeometry
from dovetail.geometry.simplicial_complex import SimplicialComplex

__all__ = ["GeometrySlot", "ImplicitGeometrySlot", "SimplicialComplexSlot", "make_slot"]


class GeometrySlot:
    """A geometry of a scene under its id. The geometry is the scene's own, not a copy."""

    def __init__(self, id: int, geometry: Geometry, object_name: str = "") -> None:
        self._id = id
        self._geometry = geometry
        self.object_name = object_name

    def id(self) -> int:
        """The number that joints and features use to name this geometry; unique in its scene."""
        return self._id

    @property
    def geometry(self) -> Any:
        """The scene's geometry; called, it returns itself."""
        return self._geometry

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._id} of '{self.object_name}'>"


class SimplicialComplexSlot(GeometrySlot):
    """A slot that holds a simplicial complex."""

    @property
    def geometry(self) -> SimplicialComplex:
        """The scene's simplicial complex; called, it returns itself."""
        assert isinstance(self._geometry, SimplicialComplex)
        return self._geometry


class ImplicitGeometrySlot(GeometrySlot):
    """A slot that holds an implicit geometry."""

    @property
    def geometry(self) -> ImplicitGeometry:
        """The scene's implicit geometry; called, it returns itself."""
        assert isinstance(self._geometry, ImplicitGeometry)
        return self._geometry


def make_slot(id: int, geometry: Geometry, object_name: str = "") -> GeometrySlot:
    """The slot class that fits the kind of geometry."""
    if isinstance(geometry, SimplicialComplex):
        return SimplicialComplexSlot(id, geometry, object_name)
    if isinstance(geometry, ImplicitGeometry):
        return ImplicitGeometrySlot(id, geometry, object_name)
    return GeometrySlot(id, geometry, object_name)
