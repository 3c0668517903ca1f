"""Regions: the connected parts of a mesh."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dovetail.checked import checked
from dovetail.errors import GeometryError
from dovetail.geometry.attribute import AttributeSlot
from dovetail.geometry.collection import write_attribute
from dovetail.geometry.simplicial_complex import SimplicialComplex
from dovetail.geometry.subset import subset
from dovetail.geometry.topology import faces

__all__ = ["apply_region", "label_connected_vertices", "label_region"]


@checked(GeometryError)
def label_connected_vertices(sc: SimplicialComplex) -> AttributeSlot:
    """Write `region` (I32) on the vertices: equal for vertices that a path of edges joins.

    Regions are numbered from 0 in the order of their first vertices; meta `region_count` (I32) says how many.
    """
    labels = _components(sc)
    write_attribute(sc.meta, "region_count", 0, labels.max(initial=-1) + 1)
    return write_attribute(sc.vertices, "region", -1, labels)


@checked(GeometryError)
def label_region(sc: SimplicialComplex) -> None:
    """Write `region` on vertices, edges, triangles and tetrahedra alike."""
    of_vertex = label_connected_vertices(sc).values
    for level in (sc.edges, sc.triangles, sc.tetrahedra):
        write_attribute(level, "region", -1, of_vertex[level.topo.values[:, 0]])


@checked(GeometryError)
def apply_region(sc: SimplicialComplex) -> list[SimplicialComplex]:
    """One mesh per region, in order; instances, meta and attributes are kept."""
    levels = (sc.vertices, sc.edges, sc.triangles, sc.tetrahedra)
    slots = [level.find("region") for level in levels]
    regions = [slot.values for slot in slots if slot is not None]
    if len(regions) < len(levels):
        raise GeometryError("apply_region: the regions are not labelled; call label_region first.")
    return [subset(sc, *(region == i for region in regions)) for i in np.unique(regions[0])]


def _components(sc: SimplicialComplex) -> NDArray[np.int32]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = sc.vertices.size()
    pairs = np.concatenate([faces(level.topo.values, 2) for level in (sc.edges, sc.triangles, sc.tetrahedra)])
    links = coo_array((np.ones(len(pairs), np.int8), (pairs[:, 0], pairs[:, 1])), shape=(count, count))
    _, found = connected_components(links, directed=False)
    _, first, inverse = np.unique(found, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int32)
    rank[np.argsort(first)] = np.arange(len(first))
    labels: NDArray[np.int32] = rank[inverse]
    return labels
