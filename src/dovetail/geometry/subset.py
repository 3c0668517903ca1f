"""A part of a complex: chosen vertices, edges, triangles and tetrahedra with their attributes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dovetail.geometry.simplicial_complex import SimplicialComplex

__all__ = ["subset"]


def subset(
    sc: SimplicialComplex,
    vertices: NDArray[np.bool_],
    edges: NDArray[np.bool_],
    triangles: NDArray[np.bool_],
    tetrahedra: NDArray[np.bool_],
) -> SimplicialComplex:
    """The elements for which the masks are true, renumbered; meta, instances and order stay as they are.

    The vertices of chosen elements must be chosen too. `parent_id` of a triangle becomes -1 if its
    tetrahedron is left out.
    """
    part = sc.copy()
    part.vertices.select(np.flatnonzero(vertices))
    new_vertex = _renumber(vertices)
    for level, mask in ((part.edges, edges), (part.triangles, triangles), (part.tetrahedra, tetrahedra)):
        level.select(np.flatnonzero(mask))
        topo = level.topo.edit()
        topo[...] = new_vertex[topo]
    parent = part.triangles.find("parent_id")
    if parent is not None:
        # the appended -1 is what index -1, no parent, finds
        parent.assign(np.append(_renumber(tetrahedra), np.int32(-1))[parent.values])
    return part


def _renumber(mask: NDArray[np.bool_]) -> NDArray[np.int32]:
    """New number of each chosen element, -1 for the others."""
    return np.where(mask, np.cumsum(mask) - 1, -1).astype(np.int32)
