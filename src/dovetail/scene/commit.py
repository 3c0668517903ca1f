"""What changed between two states of an attribute collection or of a geometry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.errors import SceneError
from dovetail.geometry.atlas import geometry_from_json
from dovetail.geometry.attribute import Buffer
from dovetail.geometry.collection import AttributeCollection
from dovetail.geometry.geometry import Geometry
from dovetail.geometry.simplicial_complex import SimplicialComplex

__all__ = ["CollectionCommit", "GeometryCommit"]


@dataclass(frozen=True, slots=True)
class CollectionCommit:
    """Attributes of a collection that are new or have other values, and the names of those that are gone.

    `changed` has the number of elements of the new state; where that number changed, it holds all attributes.
    """

    changed: AttributeCollection
    removed: tuple[str, ...]
    resized: bool

    @classmethod
    def between(cls, new: AttributeCollection, old: AttributeCollection | None) -> CollectionCommit:
        """What leads from `old` (None: nothing at all) to `new`."""
        resized = old is None or new.size() != old.size()
        changed = AttributeCollection("changed", new.size())
        for name in new:
            slot, before = new.slot(name), None if old is None else old.find(name)
            if resized or before is None or not _same(slot.buffer, before.buffer):
                changed.insert_buffer(name, slot.buffer, slot.allow_destroy())
        removed = () if old is None else tuple(name for name in old if name not in new)
        return cls(changed, removed, resized)

    def is_empty(self) -> bool:
        return not self.resized and not self.removed and self.changed.attribute_count() == 0

    def check(self, target: AttributeCollection, who: str) -> None:
        """Raise SceneError if the target cannot be the old state."""
        if not self.resized and target.size() != self.changed.size():
            raise SceneError(
                f"{who} has {target.size()} elements, the commit was made for {self.changed.size()}; "
                "it belongs to another scene or to another state of it."
            )

    def apply_to(self, target: AttributeCollection) -> None:
        """Bring the target to the new state; slots of attributes that stay remain the same objects."""
        for name in self.removed:
            target.destroy(name)
        target.resize(self.changed.size())
        for name in self.changed:
            new, slot = self.changed.slot(name), target.find(name)
            if slot is not None and slot.type_name() != new.type_name():
                target.destroy(name)
            target.insert_buffer(name, new.buffer, new.allow_destroy())


@dataclass(frozen=True, slots=True)
class GeometryCommit:
    """The commits of a geometry's collections, by name."""

    kind: str
    collections: dict[str, CollectionCommit]

    @classmethod
    def between(cls, new: Geometry, old: Geometry | None) -> GeometryCommit:
        """What leads from `old` (None: nothing at all) to `new`."""
        before = dict(old.collections()) if old is not None else {}
        commits = {name: CollectionCommit.between(c, before.get(name)) for name, c in new.collections()}
        return cls(new.type(), {name: commit for name, commit in commits.items() if not commit.is_empty()})

    def is_empty(self) -> bool:
        return not self.collections

    def is_complete(self) -> bool:
        """Whether it leads from nothing to a geometry: only then is `meta`, always one element, resized."""
        return "meta" in self.collections and self.collections["meta"].resized

    def check(self, target: Geometry | None, who: str) -> None:
        """Raise SceneError if `target` (None: nothing) cannot be the old state, or the new one is broken."""
        if target is None:
            after = self.build()
        elif target.type() != self.kind:
            raise SceneError(f"{who} is a {target.type()}, the commit was made for a {self.kind}.")
        else:
            after = target.copy()
            for name, commit in self.collections.items():
                commit.check(after[name], f"{who}: {name}")
            self.apply_to(after)
        if isinstance(after, SimplicialComplex):
            _check_topology(after, who)

    def apply_to(self, target: Geometry) -> None:
        for name, commit in self.collections.items():
            commit.apply_to(target[name])

    def build(self) -> Geometry:
        """The geometry that this commit makes out of nothing."""
        geometry = geometry_from_json({"type": self.kind, "collections": {}})
        self.apply_to(geometry)
        return geometry


def _check_topology(mesh: SimplicialComplex, who: str) -> None:
    """Simplices must refer to vertices that exist."""
    count = mesh.vertices.size()
    for simplices in (mesh.edges, mesh.triangles, mesh.tetrahedra):
        corners = simplices.topo.values
        if corners.size and (corners.min() < 0 or corners.max() >= count):
            raise SceneError(
                f"{who} has {count} vertices, but its {simplices.topo.type_name()} refer to numbers "
                f"{corners.min()}..{corners.max()}."
            )


def _same(a: Buffer, b: Buffer) -> bool:
    """Equal type, default and values, bit by bit (so that NaN equals itself and -0.0 differs from 0.0)."""
    if a is b:
        return True
    if a.type.name != b.type.name or len(a.array) != len(b.array):
        return False
    if a.type.dtype == object:
        pairs = [*zip(a.array, b.array, strict=True), (a.default, b.default)]
        return all(np.array_equal(x, y) for x, y in pairs)
    default_bits = [np.asarray(buffer.default, a.type.dtype).tobytes() for buffer in (a, b)]
    return default_bits[0] == default_bits[1] and a.array.tobytes() == b.array.tobytes()
