"""Objects: named groups of geometries in a scene."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import SceneError
from dovetail.geometry.geometry import Geometry
from dovetail.geometry.simplicial_complex import SimplicialComplex
from dovetail.geometry.slot import GeometrySlot

if TYPE_CHECKING:
    from dovetail.scene.scene import Scene

__all__ = ["Object", "ObjectGeometries"]


class Object:
    """A named group of geometries; what an animation callback moves. Made by `scene.objects.create(name)`."""

    def __init__(self, scene: Scene, id: int, name: str) -> None:
        self._scene = scene
        self._id = id
        self._name = name
        self._geometry_ids: list[int] = []

    def id(self) -> int:
        return self._id

    def name(self) -> str:
        return self._name

    @property
    def scene(self) -> Scene:
        """The scene this object belongs to."""
        return self._scene

    @property
    def geometries(self) -> ObjectGeometries:
        """The geometries of this object."""
        return ObjectGeometries(self)

    def __repr__(self) -> str:
        return f"<Object {self._id} '{self._name}' with geometries {self._geometry_ids}>"


class ObjectGeometries:
    """The geometries of one object; called, it returns itself. Iteration yields slots, oldest first."""

    def __init__(self, owner: Object) -> None:
        self._owner = owner

    def __call__(self) -> ObjectGeometries:
        return self

    def create(self, geometry: Geometry, rest_geometry: Geometry | None = None) -> tuple[GeometrySlot, GeometrySlot]:
        """Put a copy of the geometry into the scene and return its slot and that of its rest shape.

        The copies share values with the original until one of them is written. The rest shape is a second
        copy of the geometry unless it is given.
        """
        who = f"Object '{self._owner.name()}'"
        rest = geometry if rest_geometry is None else rest_geometry
        for given in (geometry, rest):
            if not isinstance(given, Geometry):
                raise SceneError(
                    f"{who}: geometries.create needs a geometry, got {type(given).__name__}; "
                    "make one with trimesh, tetmesh, …, or of a slot pass slot.geometry()."
                )
        if rest is not geometry:
            _check_rest(who, geometry, rest)
        return self._owner.scene.geometries.add(self._owner, geometry.copy(), rest.copy())

    def adopt(self, geometry: Geometry) -> GeometrySlot:
        """Put the geometry itself into the scene, for callers that made it for this and keep no hold of it.

        Its rest shape is a copy that is made when it is first asked for.
        """
        return self._owner.scene.geometries.add(self._owner, geometry, None)[0]

    def ids(self) -> NDArray[np.int32]:
        """Numbers of the geometries, in order of creation."""
        return np.array(self._owner._geometry_ids, np.int32)

    def __iter__(self) -> Iterator[GeometrySlot]:
        for slot, _ in self.pairs():
            yield slot

    def pairs(self) -> Iterator[tuple[GeometrySlot, GeometrySlot]]:
        """Slots with those of their rest shapes."""
        for id in self._owner._geometry_ids:
            yield self._owner.scene.geometries[id]

    def __len__(self) -> int:
        return len(self._owner._geometry_ids)


def _check_rest(who: str, geometry: Geometry, rest: Geometry) -> None:
    """A rest shape is the same mesh in another position: kinds and counts must agree."""
    if geometry.type() != rest.type():
        raise SceneError(
            f"{who}: the geometry is a {geometry.type()} but its rest shape a {rest.type()}; "
            "a rest shape is the same mesh in another position."
        )
    if not isinstance(geometry, SimplicialComplex) or not isinstance(rest, SimplicialComplex):
        return
    for name in ("vertices", "edges", "triangles", "tetrahedra"):
        count, rest_count = geometry[name].size(), rest[name].size()
        if count != rest_count:
            raise SceneError(
                f"{who}: the geometry has {count} {name} but its rest shape {rest_count}; "
                "a rest shape is the same mesh in another position."
            )
