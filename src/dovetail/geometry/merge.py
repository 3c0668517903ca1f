"""Several meshes as one, and instances as meshes of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.checked import LARGEST, checked
from dovetail.errors import GeometryError
from dovetail.geometry.attribute import Buffer
from dovetail.geometry.check import finite_positions
from dovetail.geometry.collection import AttributeCollection, SimplexCollection
from dovetail.geometry.simplicial_complex import SimplicialComplex

__all__ = ["apply_transform", "merge", "merge_instances"]

_LEVELS: tuple[Callable[[SimplicialComplex], AttributeCollection], ...] = (
    lambda sc: sc.vertices,
    lambda sc: sc.edges,
    lambda sc: sc.triangles,
    lambda sc: sc.tetrahedra,
)


@checked(GeometryError)
def merge(complexes: Sequence[SimplicialComplex]) -> SimplicialComplex:
    """All elements of the given meshes in one, with one instance at the origin.

    Instances and meta of the parts are dropped: use `apply_transform` first where transforms matter. An
    attribute that a part does not have takes its default there.
    """
    whole = _with_one_instance()
    first_vertex = _offsets([sc.vertices.size() for sc in complexes])
    first_tet = _offsets([sc.tetrahedra.size() for sc in complexes])
    for level in _LEVELS:
        target, parts = level(whole), [level(sc) for sc in complexes]
        sizes = np.array([part.size() for part in parts], np.intp)
        target.resize(int(sizes.sum()))
        for name in dict.fromkeys(name for part in parts for name in part):
            buffer, allow_destroy = _concatenated(name, parts)
            target.insert_buffer(name, buffer, allow_destroy)
        if isinstance(target, SimplexCollection):
            target.topo.edit()[...] += np.repeat(first_vertex, sizes)[:, None].astype(np.int32)
        parent = target.find("parent_id")
        if parent is not None:
            values = parent.edit()
            values[...] = np.where(values >= 0, values + np.repeat(first_tet, sizes), -1)
    if whole.vertices.find("position") is None:
        whole.vertices.create("position", np.zeros(3), allow_destroy=False)
    return whole


def _concatenated(name: str, parts: Sequence[AttributeCollection]) -> tuple[Buffer, bool]:
    model = next(slot for slot in (part.find(name) for part in parts) if slot is not None)
    kind, default = model.buffer.type, model.buffer.default
    pieces: list[NDArray[Any]] = []
    for part in parts:
        slot = part.find(name)
        if slot is not None and slot.buffer.type is not kind:
            raise GeometryError(
                f"merge: attribute '{name}' is {kind.name} in one mesh and {slot.type_name()} in another; "
                "rename or destroy one of them."
            )
        pieces.append(kind.allocate(part.size(), default) if slot is None else slot.values)
    return Buffer.holding(kind, np.concatenate(pieces), default), model.allow_destroy()


def merge_instances(sc: SimplicialComplex) -> SimplicialComplex:
    """All instances as one mesh, transforms applied: `merge(apply_transform(sc))` without the loop."""
    _require_finite("merge_instances", sc)
    transforms, positions = sc.transforms.values, sc.positions.values
    count = len(transforms)
    whole = _with_one_instance()
    for level in _LEVELS:
        source, target = level(sc), level(whole)
        target.resize(source.size() * count)
        pick = np.tile(np.arange(source.size()), count)
        for name in source:
            slot = source.slot(name)
            target.insert_buffer(name, slot.buffer.selected(pick), slot.allow_destroy())
    placed = positions @ transforms[:, :3, :3].swapaxes(1, 2) + transforms[:, None, :3, 3]
    whole.positions.edit()[...] = placed.reshape(-1, 3)
    copies = np.arange(count, dtype=np.int32)
    mirrored = np.linalg.det(transforms[:, :3, :3]) < 0.0
    for simplices in (whole.edges, whole.triangles, whole.tetrahedra):
        each = simplices.size() // max(count, 1)
        topo = simplices.topo.edit()
        topo += np.repeat(copies * sc.vertices.size(), each)[:, None].astype(np.int32)
        _mirror(topo, np.repeat(mirrored, each))
    parent = whole.triangles.find("parent_id")
    if parent is not None:
        values = parent.edit()
        shift = np.repeat(copies * sc.tetrahedra.size(), sc.triangles.size())
        values[...] = np.where(values >= 0, values + shift, -1)
    return whole


@checked(GeometryError)
def apply_transform(sc: SimplicialComplex) -> list[SimplicialComplex]:
    """One mesh per instance, moved to where the instance is, with one instance at the origin.

    Meta and the instance's other attributes are kept. A mirroring transform turns the winding round, so that
    the outside stays outside.
    """
    meshes = []
    _require_finite("apply_transform", sc)
    for i, transform in enumerate(sc.transforms.values):
        mesh = sc.copy()
        mesh.instances.select(np.array([i]))
        mesh.transforms.assign(np.eye(4))
        mesh.positions.edit()[...] = sc.positions.values @ transform[:3, :3].T + transform[:3, 3]
        if np.linalg.det(transform[:3, :3]) < 0.0:
            for simplices in (mesh.triangles, mesh.tetrahedra):
                _mirror(simplices.topo.edit(), np.ones(simplices.size(), bool))
        meshes.append(mesh)
    return meshes


def _require_finite(who: str, sc: SimplicialComplex) -> None:
    """Refuse transforms and positions that are no ordinary numbers."""
    bad = np.flatnonzero(~(np.abs(sc.transforms.values) <= LARGEST).all(axis=(1, 2)))
    if len(bad):
        raise GeometryError(f"{who}: the transform of instance {bad[0]} is not finite; give ordinary numbers.")
    finite_positions(who, sc)


def _mirror(topo: NDArray[np.int32], chosen: NDArray[np.bool_]) -> None:
    """Swap the last two vertices of the chosen triangles or tetrahedra; edges have no orientation."""
    if topo.shape[1] > 2:
        topo[chosen, -2:] = topo[chosen, -2:][:, ::-1]


def _with_one_instance() -> SimplicialComplex:
    sc = SimplicialComplex()
    sc.instances.create("transform", np.eye(4), allow_destroy=False)
    return sc


def _offsets(sizes: Sequence[int]) -> NDArray[np.intp]:
    """Number of the first element of each part."""
    return np.concatenate([[0], np.cumsum(sizes[:-1])]).astype(np.intp)[: len(sizes)]
