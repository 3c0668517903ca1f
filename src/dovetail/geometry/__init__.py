"""Meshes and implicit shapes with attributes, and what can be done with them."""

from __future__ import annotations

from dovetail.geometry import affine_body
from dovetail.geometry.atlas import GeometryAtlas, geometry_from_json, geometry_to_json
from dovetail.geometry.attribute import AttributeSlot, AttributeSlotUidList, view
from dovetail.geometry.attribute_io import AttributeIO
from dovetail.geometry.closure import facet_closure
from dovetail.geometry.collection import AttributeCollection, MetaCollection, SimplexCollection
from dovetail.geometry.create import ground, halfplane, linemesh, pointcloud, tetmesh, trimesh
from dovetail.geometry.fit import optimal_transform
from dovetail.geometry.geometry import Geometry
from dovetail.geometry.implicit_geometry import ImplicitGeometry
from dovetail.geometry.measure import compute_mesh_d_hat, constitution_type
from dovetail.geometry.merge import apply_transform, merge
from dovetail.geometry.mesh_io import SimplicialComplexIO
from dovetail.geometry.nearest import closest_vertex_edge_pairs, closest_vertex_triangle_pairs
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
from dovetail.geometry.region import apply_region, label_connected_vertices, label_region
from dovetail.geometry.rotation import AngleAxis, Quaternion
from dovetail.geometry.round import make_round
from dovetail.geometry.simplicial_complex import SimplicialComplex
from dovetail.geometry.slot import GeometrySlot, ImplicitGeometrySlot, SimplicialComplexSlot
from dovetail.geometry.spreadsheet import SpreadSheetIO
from dovetail.geometry.string_attribute import AttributeSlotString, CStringSpan, StringSpan
from dovetail.geometry.surface import (
    extract_surface,
    flip_inward_triangles,
    is_trimesh_closed,
    label_open_edge,
    label_surface,
    label_triangle_orient,
)
from dovetail.geometry.transform import Transform
from dovetail.geometry.volume import points_from_volume, tetrahedralization_default_config, tetrahedralize

__all__ = [
    "AngleAxis",
    "AttributeCollection",
    "AttributeIO",
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
    "GeometryAtlas",
    "GeometrySlot",
    "ImplicitGeometry",
    "ImplicitGeometrySlot",
    "MetaCollection",
    "Quaternion",
    "SimplexCollection",
    "SimplicialComplex",
    "SimplicialComplexIO",
    "SimplicialComplexSlot",
    "SpreadSheetIO",
    "StringSpan",
    "Transform",
    "affine_body",
    "apply_region",
    "apply_transform",
    "closest_vertex_edge_pairs",
    "closest_vertex_triangle_pairs",
    "compute_mesh_d_hat",
    "constitution_type",
    "extract_surface",
    "facet_closure",
    "flip_inward_triangles",
    "geometry_from_json",
    "geometry_to_json",
    "ground",
    "halfplane",
    "is_trimesh_closed",
    "label_connected_vertices",
    "label_open_edge",
    "label_region",
    "label_surface",
    "label_triangle_orient",
    "linemesh",
    "make_round",
    "merge",
    "optimal_transform",
    "pointcloud",
    "points_from_volume",
    "tetmesh",
    "tetrahedralization_default_config",
    "tetrahedralize",
    "trimesh",
    "view",
]
