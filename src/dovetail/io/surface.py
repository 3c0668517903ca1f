"""The surface of a whole scene as one mesh in world coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dovetail.geometry import SimplicialComplex
from dovetail.geometry.merge import merge, merge_instances
from dovetail.geometry.surface import extract_surface
from dovetail.scene import Scene

__all__ = ["SceneSurface"]

_KEPT = frozenset(("position", "topo", "transform", "is_surf", "is_facet", "parent_id", "thickness"))
"""What finding, writing and drawing a surface needs; users' attributes may clash and are left out."""


@dataclass(frozen=True, slots=True)
class _Mesh:
    """The merged surface of some geometries; valid as long as their signature is the same."""

    signature: list[tuple[object, ...]]
    sources: list[SimplicialComplex]
    local: list[NDArray[np.float64]]
    whole: SimplicialComplex


class SceneSurface:
    """Merges the surfaces of a scene's meshes; when only transforms changed, only positions are computed."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._meshes: dict[int, _Mesh] = {}

    def merged(self, dim: int) -> SimplicialComplex:
        """All elements with `is_surf` = 1 of geometries of this kind, transforms applied, one instance.

        dim 2: triangles (of triangle and tetrahedral meshes), 1: lines, 0: points, -1: all of them.
        """
        sources = [
            slot.geometry
            for slot, _ in self._scene.geometries
            if isinstance(slot.geometry, SimplicialComplex) and _is_shown(slot.geometry, dim)
        ]
        transforms = [source.transforms.values for source in sources]
        signature = [_signature(*pair) for pair in zip(sources, _mirrored(transforms), strict=True)]
        mesh = self._meshes.get(dim)
        if mesh is None or mesh.signature != signature:
            mesh = self._meshes[dim] = _assemble(sources, signature)
        whole = mesh.whole.copy()
        placed = [
            (local @ T[:, :3, :3].swapaxes(1, 2) + T[:, None, :3, 3]).reshape(-1, 3)
            for local, T in zip(mesh.local, transforms, strict=True)
        ]
        if placed:
            whole.positions.edit()[...] = np.concatenate(placed)
        return whole


def _is_shown(geometry: SimplicialComplex, dim: int) -> bool:
    if geometry.vertices.find("position") is None or geometry.instances.find("transform") is None:
        return False
    kind = min(geometry.dim(), 2)
    labelled = (geometry.vertices, geometry.edges, geometry.triangles)[kind].find("is_surf")
    return labelled is not None and dim in (-1, kind)


def _mirrored(transforms: list[NDArray[np.float64]]) -> list[NDArray[np.bool_]]:
    """Per geometry, which instances turn inside out: their triangles are wound the other way round."""
    if not transforms:
        return []
    negative = np.linalg.det(np.concatenate(transforms)[:, :3, :3]) < 0.0
    return np.split(negative, np.cumsum([len(T) for T in transforms])[:-1])


def _signature(geometry: SimplicialComplex, mirrored: NDArray[np.bool_]) -> tuple[object, ...]:
    """Everything but transforms that the merged surface depends on.

    Equal buffers mean equal values: the cached copy shares them, so that writing any of them replaces it.
    """
    buffers = (
        id(collection.slot(name).buffer)
        for collection in (geometry.vertices, geometry.edges, geometry.triangles, geometry.tetrahedra)
        for name in collection
        if name in _KEPT
    )
    return (*buffers, mirrored.tobytes())


def _assemble(sources: list[SimplicialComplex], signature: list[tuple[object, ...]]) -> _Mesh:
    surfaces = []
    for source in sources:
        reduced = source.copy()
        for _, collection in reduced.collections():
            for name in collection:
                if name not in _KEPT:
                    collection.destroy(name)
        surfaces.append(extract_surface(reduced))
    whole = merge([merge_instances(surface) for surface in surfaces])
    local = [surface.positions.values for surface in surfaces]
    return _Mesh(signature, [_held(source) for source in sources], local, whole)


def _held(source: SimplicialComplex) -> SimplicialComplex:
    """A copy that keeps a share in all buffers but those of the instances, which change every frame."""
    copy = source.copy()
    copy.instances.resize(0)
    return copy
