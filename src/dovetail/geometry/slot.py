"""Geometry slots: the handles under which a scene keeps geometries."""

from __future__ import annotations

from typing import Any

from dovetail.geometry.geometry import Geometry
from dovetail.geometry.implicit_geometry import ImplicitGeometry
from dovetail.geometry.simplicial_complex import SimplicialComplex

__all__ = ["GeometrySlot", "ImplicitGeometrySlot", "SimplicialComplexSlot", "make_slot"]


class GeometrySlot:
    """A geometry of a scene under its id. The geometry is the scene's own, not a copy.

    `later`: it is another slot's, of which a copy is made when it is first asked for.
    """

    def __init__(self, id: int, geometry: Geometry, object_name: str = "", later: bool = False) -> None:
        self._id = id
        self._given = geometry
        self._later = later
        self.object_name = object_name

    @property
    def _geometry(self) -> Geometry:
        if self._later:
            self._given, self._later = self._given.copy(), False
        return self._given

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


def make_slot(id: int, geometry: Geometry, object_name: str = "", later: bool = False) -> GeometrySlot:
    """The slot class that fits the kind of geometry."""
    if isinstance(geometry, SimplicialComplex):
        return SimplicialComplexSlot(id, geometry, object_name, later)
    if isinstance(geometry, ImplicitGeometry):
        return ImplicitGeometrySlot(id, geometry, object_name, later)
    return GeometrySlot(id, geometry, object_name, later)
