"""Simplicial complexes: meshes of points, lines, triangles or tetrahedra with attributes and instances."""

from __future__ import annotations

import numpy as np

from dovetail.errors import GeometryError
from dovetail.geometry.attribute import AttributeSlot
from dovetail.geometry.collection import AttributeCollection, SimplexCollection
from dovetail.geometry.geometry import Geometry

__all__ = ["SimplicialComplex"]

_FEW = 60


class SimplicialComplex(Geometry):
    """A mesh: vertices, edges, triangles and tetrahedra, and the instances that place it in the world.

    Made by `tetmesh`, `trimesh`, `linemesh`, `pointcloud` or by reading a file. Made directly, it is empty
    and has neither `position` nor `transform` yet.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__()
        self._collections["vertices"] = AttributeCollection("vertices")
        for name, corners in (("edges", 2), ("triangles", 3), ("tetrahedra", 4)):
            simplices = self._collections[name] = SimplexCollection(name)
            simplices.create("topo", np.zeros(corners, np.int32), allow_destroy=False)

    def type(self) -> str:
        return "SimplicialComplex"

    def dim(self) -> int:
        """Dimension of the largest simplices: 0 points, 1 lines, 2 triangles, 3 tetrahedra."""
        for dim, simplices in ((3, self.tetrahedra), (2, self.triangles), (1, self.edges)):
            if simplices.size() > 0:
                return dim
        return 0

    def flaw(self) -> str | None:
        """What later edits have broken: elements of vertices that are not there, positions that are no vectors."""
        count = self.vertices.size()
        for name in ("edges", "triangles", "tetrahedra"):
            if not self._collections[name].size():
                continue
            topo = self._simplices(name).topo.buffer.array
            # of a few numbers, Python finds them sooner
            least, most = (topo.min(), topo.max()) if topo.size > _FEW else (min(a := topo.ravel().tolist()), max(a))
            if not 0 <= least <= most < count:
                return (
                    f"has {name} with vertices {least} to {most}, and there are {count}, numbered from 0; "
                    "resize the vertices, or write the topo anew"
                )
        for name, kind in (("position", "Vector3"), ("transform", "Matrix4x4")):
            slot = (self.vertices if name == "position" else self.instances).find(name)
            if slot is not None and slot.type_name() != kind:
                return f"has '{name}' of type {slot.type_name()}; make it one of {kind}"
        return None

    @property
    def vertices(self) -> AttributeCollection:
        return self._collections["vertices"]

    @property
    def edges(self) -> SimplexCollection:
        return self._simplices("edges")

    @property
    def triangles(self) -> SimplexCollection:
        return self._simplices("triangles")

    @property
    def tetrahedra(self) -> SimplexCollection:
        return self._simplices("tetrahedra")

    def _simplices(self, name: str) -> SimplexCollection:
        collection = self._collections[name]
        assert isinstance(collection, SimplexCollection)
        return collection

    @property
    def positions(self) -> AttributeSlot:
        """Vertex positions [m] in the frame of the shape, Vector3."""
        return self._required(self.vertices, "position")

    @property
    def transforms(self) -> AttributeSlot:
        """Where each instance is: x = T (x̄, 1), Matrix4x4."""
        return self._required(self.instances, "transform")

    def _required(self, collection: AttributeCollection, name: str) -> AttributeSlot:
        slot = collection.find(name)
        if slot is None:
            raise GeometryError(f"{self.type()}: it has no '{name}' yet; create the attribute first.")
        return slot
