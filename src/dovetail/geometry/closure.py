"""Closing a complex: every edge and triangle of its simplices becomes an element of its own."""

from __future__ import annotations

import numpy as np

from dovetail.checked import checked
from dovetail.errors import GeometryError
from dovetail.geometry.collection import SimplexCollection, write_attribute
from dovetail.geometry.simplicial_complex import SimplicialComplex
from dovetail.geometry.topology import Rows, faces, locate_simplices, unique_simplices

__all__ = ["close_faces", "facet_closure"]


@checked(GeometryError)
def facet_closure(sc: SimplicialComplex) -> SimplicialComplex:
    """A copy that holds all faces of its simplices.

    Elements already there keep their place and attributes; missing ones follow in lexicographic order, with
    increasing vertices. `is_facet` (I32) is 1 for the elements that are no face of another.
    """
    closed = sc.copy()
    close_faces(closed)
    return closed


def close_faces(sc: SimplicialComplex) -> None:
    """Do to `sc` itself what `facet_closure` does to a copy."""
    _append_missing(sc.triangles, faces(sc.tetrahedra.topo.values, 3))
    _append_missing(sc.edges, faces(sc.triangles.topo.values, 2))
    levels = [sc.vertices, sc.edges, sc.triangles, sc.tetrahedra]
    topos: list[Rows] = [level.topo.values for level in (sc.edges, sc.triangles, sc.tetrahedra)]
    for corners, level in enumerate(levels, start=1):
        is_facet = np.ones(level.size(), np.int32)
        if corners == 1:
            is_facet[topos[0].reshape(-1)] = 0
        elif corners < 4 and len(topos[corners - 1]):
            is_facet[locate_simplices(topos[corners - 2], faces(topos[corners - 1], corners))] = 0
        write_attribute(level, "is_facet", 0, is_facet)


def _append_missing(level: SimplexCollection, wanted: Rows) -> None:
    if not len(wanted):
        return
    present = level.topo.values
    candidates = unique_simplices(wanted)
    missing = candidates[locate_simplices(present, candidates) < 0] if len(present) else candidates
    level.resize(len(present) + len(missing))
    level.topo.edit()[len(present) :] = missing
