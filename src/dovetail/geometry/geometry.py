"""Geometry: named attribute collections, two of which every geometry has (meta and instances)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from dovetail.checked import checked
from dovetail.errors import GeometryError
from dovetail.geometry.collection import AttributeCollection, MetaCollection

__all__ = ["Geometry"]


class Geometry:
    """A set of attribute collections. `geometry["name"]` gives any of them and makes a missing one, empty.

    Called, a geometry returns itself, so that `slot.geometry()` and `slot.geometry` are the same.
    """

    __slots__ = ("__weakref__", "_collections")

    def __init__(self) -> None:
        self._collections: dict[str, AttributeCollection] = {}
        self._collections["meta"] = MetaCollection("meta")
        self._collections["instances"] = AttributeCollection("instances", 1)

    def __call__(self) -> Self:
        return self

    def type(self) -> str:
        """The kind of geometry: Geometry, SimplicialComplex or ImplicitGeometry."""
        return "Geometry"

    @property
    def meta(self) -> AttributeCollection:
        """Attributes of the geometry as a whole."""
        return self._collections["meta"]

    @property
    def instances(self) -> AttributeCollection:
        """Attributes of each placed copy of the shape."""
        return self._collections["instances"]

    @checked(GeometryError)
    def __getitem__(self, name: str) -> AttributeCollection:
        if name not in self._collections:
            self._collections[name] = AttributeCollection(name)
        return self._collections[name]

    def collections(self) -> Iterator[tuple[str, AttributeCollection]]:
        """All collections with their names."""
        return iter(tuple(self._collections.items()))

    def copy(self) -> Self:
        """Another geometry with the same attributes; values are shared until one of the two writes."""
        other = object.__new__(type(self))
        other._collections = {name: collection.copy() for name, collection in self._collections.items()}
        return other

    clone = __copy__ = copy

    def to_json(self) -> dict[str, Any]:
        """Everything the geometry holds, as JSON values; `geometry_from_json` reads it back bit by bit."""
        return {
            "type": self.type(),
            "collections": {
                name: {"size": collection.size(), "attributes": collection.to_json()}
                for name, collection in self._collections.items()
            },
        }

    def __repr__(self) -> str:
        """Type, and each collection with its size and attributes; a star marks what cannot be destroyed."""
        lines = [f"<{self.type()}>"]
        for collection in self._collections.values():
            lines.append("  " + AttributeCollection.__repr__(collection))
        return "\n".join(lines)
