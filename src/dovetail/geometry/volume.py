"""Filling a closed surface: with points, and with tetrahedra."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dovetail.checked import checked
from dovetail.errors import GeometryError
from dovetail.geometry.check import finite_positions
from dovetail.geometry.create import pointcloud, tetmesh
from dovetail.geometry.simplicial_complex import SimplicialComplex
from dovetail.geometry.surface import extract_surface, is_trimesh_closed, label_surface, label_triangle_orient
from dovetail.typing import Array

__all__ = ["points_from_volume", "tetrahedralization_default_config", "tetrahedralize"]

_AT_ONCE = 1 << 20
_MOST = 10_000_000  # points, 240 MB


@checked(GeometryError)
def points_from_volume(sc: SimplicialComplex, resolution: float = 0.01) -> SimplicialComplex:
    """The points of a cubic grid of spacing `resolution` [m] that are inside a tetmesh or closed trimesh."""
    spacing = float(resolution)
    if not 0.0 < spacing < np.inf:
        raise GeometryError(f"points_from_volume: resolution = {spacing} [m]; give a positive length.")
    corners = _closed_surface("points_from_volume", sc)
    low, high = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
    counts = np.maximum(1.0, np.floor((high - low) / max(spacing, 1e-9 * float(np.max(high - low)))))
    if counts.prod() > _MOST:
        raise GeometryError(
            f"points_from_volume: resolution = {spacing:g} [m] makes a grid of {counts.prod():.3g} points in "
            f"{(high - low).tolist()} [m]; give a length that makes at most {_MOST:,}."
        )
    cells = counts.astype(int)
    start = (low + high - (cells - 1) * spacing) / 2.0
    grid = np.stack(np.meshgrid(*map(np.arange, cells), indexing="ij"), axis=-1).reshape(-1, 3) * spacing + start
    block = max(1, _AT_ONCE // len(corners))
    parts = [grid[first : first + block] for first in range(0, len(grid), block)]
    return pointcloud(np.concatenate([part[_turns(part, corners) > 0.5] for part in parts]))


def _turns(points: Array, corners: Array) -> Array:
    """How often the surface winds around each point: Σ solid angles / 4π, 1 inside and 0 outside."""
    a, b, c = (corners[:, k] - points[:, None] for k in range(3))
    la, lb, lc = (np.linalg.norm(v, axis=2) for v in (a, b, c))
    triple = np.einsum("nmk,nmk->nm", a, np.cross(b, c))
    ab, bc, ca = (np.einsum("nmk,nmk->nm", u, v) for u, v in ((a, b), (b, c), (c, a)))
    half_angle = np.arctan2(triple, la * lb * lc + ab * lc + bc * la + ca * lb)
    turns: Array = half_angle.sum(axis=1) / (2.0 * np.pi)
    return turns


def tetrahedralization_default_config() -> dict[str, Any]:
    """Options of `tetrahedralize`; those about the quality of elements have no effect."""
    return {"preserve_surface": True, "target_edge_length": 0.0, "quality_passes": 4, "refinement_budget": 256}


@checked(GeometryError)
def tetrahedralize(
    surface: SimplicialComplex, config: Mapping[str, Any] | None = None
) -> tuple[SimplicialComplex, dict[str, Any]]:
    """Tetrahedra that fill a closed trimesh, and a report; vertices and triangles of the surface stay as they are.

    A vertex that sees the whole inside is joined to every triangle, which is exact for all that affine bodies need:
    mass, volume and the surface. Surfaces without such a point, a ring for instance, are refused; affine bodies do not
    need tetrahedra for them, `AffineBodyConstitution` takes the trimesh itself.
    """
    unknown = [key for key in config or {} if key not in tetrahedralization_default_config()]
    if unknown:
        allowed = ", ".join(tetrahedralization_default_config())
        raise GeometryError(f"tetrahedralize: there is no option '{unknown[0]}'; there are {allowed}.")
    if surface.dim() != 2:
        raise GeometryError(f"tetrahedralize: a mesh of dimension {surface.dim()}; a closed trimesh is needed.")
    corners = _closed_surface("tetrahedralize", surface)
    centre, clearance = _kernel(corners)
    size = float(np.ptp(corners.reshape(-1, 3), axis=0).max())
    if not clearance > 1e-9 * size:
        raise GeometryError(
            "tetrahedralize: no point sees the whole inside of this surface, so it cannot be filled here; affine "
            "bodies need no tetrahedra, apply AffineBodyConstitution to the trimesh itself."
        )
    triangles = surface.triangles.topo.values
    apex = np.full((len(triangles), 1), surface.vertices.size())
    filled = tetmesh(np.vstack([surface.positions.values, centre]), np.hstack([apex, triangles]))
    label_surface(filled)
    label_triangle_orient(filled)
    edges = corners - centre
    volume = float(np.einsum("mk,mk->m", edges[:, 0], np.cross(edges[:, 1], edges[:, 2])).sum() / 6.0)
    report = {
        "method": "visibility_kernel",
        "boundary_verified": True,
        "vertex_count": filled.vertices.size(),
        "tetrahedron_count": filled.tetrahedra.size(),
        "volume": volume,
    }
    return filled, report


def _kernel(corners: Array) -> tuple[Array, float]:
    """The point that is farthest behind the planes of all triangles, and how far [m]: a linear programme."""
    from scipy.optimize import linprog

    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(normals, axis=1)
    normals = normals[lengths > 0.0] / lengths[lengths > 0.0, None]
    offsets = np.einsum("mk,mk->m", normals, corners[lengths > 0.0, 0])
    found = linprog(
        [0.0, 0.0, 0.0, -1.0],
        A_ub=np.hstack([normals, np.ones((len(normals), 1))]),
        b_ub=offsets,
        bounds=[(None, None)] * 4,
    )
    return (np.asarray(found.x[:3]), float(found.x[3])) if found.success else (np.zeros(3), -1.0)


def _closed_surface(who: str, sc: SimplicialComplex) -> Array:
    """Corners (m, 3, 3) of the surface, counter-clockwise from outside."""
    surface = extract_surface(sc) if sc.dim() == 3 else sc
    if surface.dim() != 2 or not is_trimesh_closed(surface):
        raise GeometryError(f"{who}: a mesh of dimension {sc.dim()} that is not closed; give a closed one.")
    corners: Array = finite_positions(who, surface)[surface.triangles.topo.values]
    if np.einsum("mk,mk->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) <= 0.0:
        raise GeometryError(f"{who}: the triangles point inward; reverse their vertices.")
    return corners
