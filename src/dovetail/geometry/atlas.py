"""Geometries and collections as JSON values, together, with shared attributes written once."""

from __future__ import annotations

from typing import Any, overload

from dovetail.checked import checked, shown
from dovetail.errors import GeometryError
from dovetail.geometry.attribute import AttributeSlot, Buffer
from dovetail.geometry.attribute_json import buffer_from_json, buffer_to_json
from dovetail.geometry.collection import AttributeCollection
from dovetail.geometry.geometry import Geometry
from dovetail.geometry.implicit_geometry import ImplicitGeometry
from dovetail.geometry.simplicial_complex import SimplicialComplex

__all__ = ["GeometryAtlas", "geometry_from_json", "geometry_to_json"]

_KINDS: dict[str, type[Geometry]] = {
    "Geometry": Geometry,
    "ImplicitGeometry": ImplicitGeometry,
    "SimplicialComplex": SimplicialComplex,
}


@checked(GeometryError)
def geometry_to_json(geometry: Geometry) -> dict[str, Any]:
    """One geometry by itself; `geometry_from_json` gives back every attribute bit by bit."""
    return geometry.to_json()


@checked(GeometryError)
def geometry_from_json(written: dict[str, Any]) -> Geometry:
    """The geometry that `geometry_to_json` wrote."""
    geometry = _new_geometry(written)
    for name, collection in _entries(written, "collections"):
        _fill(geometry[name], name, collection, _own_buffer)
    return geometry


class GeometryAtlas:
    """A list of geometries and named collections to be written together.

    Attributes that several of them share are written once and shared again after reading.
    """

    def __init__(self) -> None:
        self._geometries: list[Geometry] = []
        self._collections: dict[str, AttributeCollection] = {}

    @overload
    def create(self, geometry: Geometry, evolving_only: bool = False) -> int: ...
    @overload
    def create(self, geometry: str, collection: AttributeCollection, evolving_only: bool = False) -> None: ...

    def create(self, geometry: Geometry | str, *given: Any, **named: Any) -> int | None:
        """Add a geometry, whose number is returned, or a collection under a name. Values are shared.

        `evolving_only` exists for libuipc scripts: all attributes are kept.
        """
        if isinstance(geometry, Geometry):
            self._geometries.append(geometry.copy())
            return len(self._geometries) - 1
        collection = given[0] if given else named.get("collection")
        named_one = isinstance(geometry, str) and geometry not in self._collections
        if not isinstance(collection, AttributeCollection) or not named_one:
            raise GeometryError(f"GeometryAtlas: {shown(geometry)} has no collection, or exists already.")
        self._collections[geometry] = collection.copy()
        return None

    def geometry_count(self) -> int:
        return len(self._geometries)

    def attribute_collection_count(self) -> int:
        return len(self._collections)

    def attribute_collection_names(self) -> list[str]:
        return list(self._collections)

    @overload
    def find(self, key: int) -> Geometry | None: ...
    @overload
    def find(self, key: str) -> AttributeCollection | None: ...

    @checked(GeometryError)
    def find(self, key: int | str) -> Geometry | AttributeCollection | None:
        """A geometry by number or a collection by name; None if there is none."""
        if isinstance(key, str):
            return self._collections.get(key)
        return self._geometries[key] if 0 <= key < len(self._geometries) else None

    def to_json(self) -> dict[str, Any]:
        """`{"attributes": […], "geometries": […], "attribute_collections": {…}}`"""
        number: dict[int, int] = {}
        attributes: list[dict[str, Any]] = []

        def written(slot: AttributeSlot) -> dict[str, Any]:
            key = id(slot.buffer)
            if key not in number:
                number[key] = len(attributes)
                attributes.append({"type": slot.type_name(), "attribute": buffer_to_json(slot.buffer)})
            return {"index": number[key], "allow_destroy": slot.allow_destroy()}

        def collection_json(collection: AttributeCollection) -> dict[str, Any]:
            return {
                "size": collection.size(),
                "attributes": {name: written(collection.slot(name)) for name in collection},
            }

        return {
            "geometries": [
                {
                    "type": geometry.type(),
                    "collections": {name: collection_json(part) for name, part in geometry.collections()},
                }
                for geometry in self._geometries
            ],
            "attribute_collections": {name: collection_json(part) for name, part in self._collections.items()},
            "attributes": attributes,
        }

    @checked(GeometryError)
    def from_json(self, written: dict[str, Any]) -> None:
        """Replace the content by what `to_json` wrote; nothing changes if it cannot be read."""
        buffers: dict[int, Buffer] = {}

        def shared(who: str, entry: dict[str, Any], count: int) -> Buffer:
            index = entry["index"]
            if index not in buffers:
                buffers[index] = _own_buffer(who, written["attributes"][index], count)
            return buffers[index]

        try:
            geometries = []
            for one in written["geometries"]:
                geometry = _new_geometry(one)
                for name, part in _entries(one, "collections"):
                    _fill(geometry[name], name, part, shared)
                geometries.append(geometry)
            collections = {}
            for name, part in _entries(written, "attribute_collections"):
                collections[name] = AttributeCollection(name)
                _fill(collections[name], name, part, shared)
        except (KeyError, IndexError, TypeError) as error:
            raise GeometryError(f"GeometryAtlas: an entry is missing or wrong ({error!r}).") from None
        self._geometries, self._collections = geometries, collections


def _own_buffer(who: str, entry: dict[str, Any], count: int) -> Buffer:
    return buffer_from_json(who, entry["type"], entry["attribute"], count)


def _new_geometry(written: dict[str, Any]) -> Geometry:
    kind = _KINDS.get(written["type"]) if isinstance(written, dict) and "type" in written else None
    if kind is None:
        raise GeometryError(f"geometry from JSON: 'type' is not one of {', '.join(_KINDS)}.")
    return kind()


def _entries(written: dict[str, Any], key: str) -> Any:
    if not isinstance(written.get(key), dict):
        raise GeometryError(f"geometry from JSON: '{key}' is missing.")
    return written[key].items()


def _fill(collection: AttributeCollection, name: str, written: dict[str, Any], buffer_of: Any) -> None:
    try:
        collection.resize(written["size"])
        for attribute, entry in written["attributes"].items():
            buffer = buffer_of(f"attribute '{attribute}' of {name}", entry, collection.size())
            collection.insert_buffer(attribute, buffer, bool(entry["allow_destroy"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise GeometryError(f"geometry from JSON: {name}: a missing or wrong entry ({error!r}).") from None
