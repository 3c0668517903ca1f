"""Meshes and implicit shapes with attributes, and what can be done with them."""

from __future__ import annotations

from dovetail.geometry.attribute import AttributeSlot, AttributeSlotUidList, view
from dovetail.geometry.collection import AttributeCollection, MetaCollection, SimplexCollection
from dovetail.geometry.geometry import Geometry
from dovetail.geometry.implicit_geometry import ImplicitGeometry
from dovetail.geometry.numeric_attribute import (
    AttributeSlotFloat,
    AttributeSlotI32,
    AttributeSlotI64,
    AttributeSlotMatrix2x2,
    AttributeSlotMatrix3x3,
    AttributeSlotMatrix4x4,
    AttributeSlotMatrix6x6,
    AttributeSlotMatrix9x9,
    AttributeSlotMatrix12x12,
    AttributeSlotU32,
    AttributeSlotU64,
    AttributeSlotVector2,
    AttributeSlotVector2i,
    AttributeSlotVector3,
    AttributeSlotVector3i,
    AttributeSlotVector4,
    AttributeSlotVector4i,
    AttributeSlotVector6,
    AttributeSlotVector9,
    AttributeSlotVector12,
)
from dovetail.geometry.simplicial_complex import SimplicialComplex
from dovetail.geometry.slot import GeometrySlot, ImplicitGeometrySlot, SimplicialComplexSlot
from dovetail.geometry.string_attribute import AttributeSlotString, CStringSpan, StringSpan

__all__ = [
    "AttributeCollection",
    "AttributeSlot",
    "AttributeSlotFloat",
    "AttributeSlotI32",
    "AttributeSlotI64",
    "AttributeSlotMatrix2x2",
    "AttributeSlotMatrix3x3",
    "AttributeSlotMatrix4x4",
    "AttributeSlotMatrix6x6",
    "AttributeSlotMatrix9x9",
    "AttributeSlotMatrix12x12",
    "AttributeSlotString",
    "AttributeSlotU32",
    "AttributeSlotU64",
    "AttributeSlotUidList",
    "AttributeSlotVector2",
    "AttributeSlotVector2i",
    "AttributeSlotVector3",
    "AttributeSlotVector3i",
    "AttributeSlotVector4",
    "AttributeSlotVector4i",
    "AttributeSlotVector6",
    "AttributeSlotVector9",
    "AttributeSlotVector12",
    "CStringSpan",
    "Geometry",
    "GeometrySlot",
    "ImplicitGeometry",
    "ImplicitGeometrySlot",
    "MetaCollection",
    "SimplexCollection",
    "SimplicialComplex",
    "SimplicialComplexSlot",
    "StringSpan",
    "view",
]
