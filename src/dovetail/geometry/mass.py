"""Mass moments M̂ = ∫ρ (1, x̄)(1, x̄)ᵀ dV of solids, shells and rods, exact for their meshes.

M̂ (4×4) holds the mass m in M̂[0, 0], the first moment ∫ρ x̄ dV in M̂[1:, 0] and the second moment
∫ρ x̄ x̄ᵀ dV in M̂[1:, 1:]. On a simplex of d + 1 corners and measure V

    ∫ x̄ dV = V s/(d+1),   ∫ x̄ x̄ᵀ dV = V (Σᵢ xᵢ xᵢᵀ + s sᵀ) / ((d+1)(d+2)),   s = Σᵢ xᵢ.

Sums run about the middle of the mesh and are shifted afterwards, so that a body far from its origin loses
no digits. Instance transforms, and their scale, do not enter.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dovetail.checked import LARGEST, number, shown
from dovetail.errors import GeometryError
from dovetail.geometry.check import finite_positions
from dovetail.geometry.round import capsule_moments, round_core
from dovetail.geometry.simplicial_complex import SimplicialComplex
from dovetail.geometry.topology import group_simplices
from dovetail.typing import Array

__all__ = ["moments", "rod_moments", "shell_moments"]


def moments(sc: SimplicialComplex, density: float) -> tuple[Array, float]:
    """(M̂, volume [m³]) of a tetmesh, or of what a closed trimesh encloses, with `density` [kg/m³].

    Triangles with `orient` < 0 are taken with the opposite winding. A round body (round.py) has the mass of its shape.
    """
    who = "mass of a solid"
    core = round_core(sc)
    if core is not None:
        return capsule_moments(_checked_density(who, density), *core)
    positions, center = _centered(who, sc)
    if sc.dim() == 3:
        corners = positions[sc.tetrahedra.topo.values]
        volumes = _determinant(corners[:, 1:] - corners[:, :1]) / 6.0
        _refuse_inverted(who, volumes)
        advice = "the tetrahedra are inverted; swap two vertices of each, or check the scale"
    elif sc.dim() == 2:
        triangles = _outward_triangles(sc)
        _refuse_open(who, triangles)
        corners = np.concatenate([np.zeros((len(triangles), 1, 3)), positions[triangles]], axis=1)
        volumes = _determinant(corners[:, 1:]) / 6.0
        advice = "the triangles face inward; reverse the vertex order of each"
    else:
        raise GeometryError(
            f"{who}: a mesh of {('points', 'lines')[sc.dim()]} encloses no volume; give a tetmesh or a "
            "closed trimesh, use a rod or shell, or give the mass matrix."
        )
    volume = float(volumes.sum())
    # a flat mesh comes out as the round-off of its extent cubed, of either sign
    if abs(volume) <= 1e-14 * float(np.ptp(positions)) ** 3:
        raise GeometryError(f"{who}: the mesh is flat, its volume is {volume:.6g} m³; use a shell or a rod.")
    if volume < 0.0:
        raise GeometryError(f"{who}: the volume is {volume:.6g} m³; {advice}.")
    return _checked_density(who, density) * _shift(_simplex_moments(corners, volumes), center), volume


def shell_moments(sc: SimplicialComplex, density: float, thickness: float) -> tuple[Array, float]:
    """(M̂, volume) of a trimesh as a shell that reaches `thickness` r [m] to both sides: V = Σ A·2r.

    Across each triangle of mass m and normal n the layer adds m (2r)²/12 n nᵀ.
    """
    who = "mass of a shell"
    _require(who, sc, 2, "a trimesh")
    r = _checked_radius(who, "thickness", thickness)
    positions, center = _centered(who, sc)
    corners = positions[sc.triangles.topo.values]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    doubled = np.linalg.norm(normals, axis=1)
    volumes = doubled * r
    unit = normals / np.where(doubled > 0.0, doubled, 1.0)[:, None]
    m_hat = _simplex_moments(corners, volumes)
    m_hat[1:, 1:] += (2.0 * r) ** 2 / 12.0 * np.einsum("e,ei,ej->ij", volumes, unit, unit)
    return _finish(who, m_hat, volumes, density, center, "triangles have no area")


def rod_moments(sc: SimplicialComplex, density: float, radius: float) -> tuple[Array, float]:
    """(M̂, volume) of a linemesh as round rods of `radius` r [m]: V = Σ L·πr².

    Across each segment of mass m and direction t the disc adds m r²/4 (1 − t tᵀ).
    """
    who = "mass of a rod"
    _require(who, sc, 1, "a linemesh")
    r = _checked_radius(who, "radius", radius)
    positions, center = _centered(who, sc)
    corners = positions[sc.edges.topo.values]
    along = corners[:, 1] - corners[:, 0]
    lengths = np.linalg.norm(along, axis=1)
    volumes = lengths * np.pi * r**2
    unit = along / np.where(lengths > 0.0, lengths, 1.0)[:, None]
    m_hat = _simplex_moments(corners, volumes)
    m_hat[1:, 1:] += 0.25 * r**2 * (volumes.sum() * np.eye(3) - np.einsum("e,ei,ej->ij", volumes, unit, unit))
    return _finish(who, m_hat, volumes, density, center, "edges have no length")


def _finish(who: str, m_hat: Array, volumes: Array, density: float, center: Array, flaw: str) -> tuple[Array, float]:
    volume = float(volumes.sum())
    if not volume > 0.0:
        raise GeometryError(f"{who}: the volume is {volume:.6g} m³, since the {flaw}; check the positions.")
    return _checked_density(who, density) * _shift(m_hat, center), volume


def _centered(who: str, sc: SimplicialComplex) -> tuple[Array, Array]:
    positions = finite_positions(who, sc)
    if len(positions) == 0:
        raise GeometryError(f"{who}: the mesh has no vertices.")
    center = 0.5 * (positions.min(axis=0) + positions.max(axis=0))
    return positions - center, center


def _simplex_moments(corners: Array, measures: Array) -> Array:
    """Σ over simplices (m, d+1, 3) of ∫ (1, x̄)(1, x̄)ᵀ."""
    count = corners.shape[1]
    sums = corners.sum(axis=1)
    weighted = corners * (measures / (count * (count + 1)))[:, None, None]
    m_hat = np.empty((4, 4))
    m_hat[0, 0] = measures.sum()
    m_hat[0, 1:] = m_hat[1:, 0] = measures @ sums / count
    m_hat[1:, 1:] = np.tensordot(weighted, corners, axes=((0, 1), (0, 1))) + weighted.sum(axis=1).T @ sums
    return 0.5 * (m_hat + m_hat.T)


def _shift(m_hat: Array, center: Array) -> Array:
    """Moments about the origin from moments about `center`: (1, x̄ + c) = T (1, x̄)."""
    shift = np.eye(4)
    shift[1:, 0] = center
    shifted: Array = shift @ m_hat @ shift.T
    return 0.5 * (shifted + shifted.T)


def _determinant(vectors: Array) -> Array:
    """Determinants of (m, 3, 3), rows a, b, c: a · (b × c)."""
    cross = np.cross(vectors[:, 1], vectors[:, 2])
    product: Array = np.einsum("ei,ei->e", vectors[:, 0], cross)
    return product


def _outward_triangles(sc: SimplicialComplex) -> NDArray[np.int32]:
    triangles = sc.triangles.topo.values
    orient = sc.triangles.find("orient")
    if orient is None:
        return triangles
    return np.where((orient.values < 0)[:, None], triangles[:, [0, 2, 1]], triangles)


def _refuse_open(who: str, triangles: NDArray[np.int32]) -> None:
    """∮ over the surface is a volume only if each edge is run through as often one way as the other."""
    directed = triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    edges, place, counts = group_simplices(directed)
    balance = np.bincount(place, np.where(directed[:, 0] < directed[:, 1], 1.0, -1.0), len(edges))
    unbalanced = np.flatnonzero(balance)
    if len(unbalanced) == 0:
        return
    edge = edges[unbalanced[0]].tolist()
    if counts[unbalanced[0]] % 2:
        raise GeometryError(
            f"{who}: the trimesh is open at {len(unbalanced)} edges, the first between vertices {edge[0]} "
            f"and {edge[1]}; close it, merge duplicate vertices, use a shell, or give the mass matrix."
        )
    raise GeometryError(
        f"{who}: triangles on both sides of the edge between vertices {edge[0]} and {edge[1]} wind in "
        f"opposite senses ({len(unbalanced)} such edges); reverse the vertex order of one side."
    )


def _refuse_inverted(who: str, volumes: Array) -> None:
    """All inverted is reported with the total; single ones by number, slivers within round-off excepted."""
    worst = int(np.argmin(volumes))
    if volumes[worst] < -1e-9 * np.abs(volumes).mean() and volumes.sum() > 0.0:
        raise GeometryError(
            f"{who}: tetrahedron {worst} is inverted, its volume is {volumes[worst]:.6g} m³; swap two of its vertices."
        )


def _require(who: str, sc: SimplicialComplex, dim: int, needed: str) -> None:
    if sc.dim() != dim:
        raise GeometryError(f"{who}: the mesh has dimension {sc.dim()}; {needed} is needed.")


def _checked_density(who: str, density: float) -> float:
    rho = number(density)
    if rho is None or not 0.0 < rho <= LARGEST:
        raise GeometryError(f"{who}: density = {shown(density)} [kg/m³]; give a positive number.")
    return rho


def _checked_radius(who: str, name: str, value: float) -> float:
    length = number(value)
    if length is None or not 0.0 < length <= LARGEST:
        raise GeometryError(f"{who}: {name} = {shown(value)} [m]; give a positive length.")
    return length
