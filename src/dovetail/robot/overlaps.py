"""Bodies of a robot whose surfaces overlap as they are put: neighbours of neighbours, fingers, covers."""

from __future__ import annotations

import numpy as np

from dovetail.core import Scene
from dovetail.geometry import SimplicialComplex
from dovetail.typing import Array, Indices

__all__ = ["overlapping"]


def overlapping(shapes: list[SimplicialComplex], d_hat: float) -> list[tuple[int, int]]:
    """Pairs of bodies, by their place in the list, that cross or touch, or of which one holds the other inside."""
    from dovetail.world.simulation import Simulation  # the compiler is only needed from here on

    scene = Scene({"contact/enable": 1, "contact/d_hat": d_hat})
    everything = scene.contact_tabular.default_element()
    for k, shape in enumerate(shapes):
        mesh = shape.copy()
        everything.apply_to(mesh)
        mesh.instances["is_fixed"] = 0
        scene.objects.create(str(k)).geometries.create(mesh)
    surfaces = Simulation(scene).surfaces
    found = set() if surfaces is None else set(surfaces.meeting())
    placed = [_placed(shape) for shape in shapes]
    low, high = (np.array([pick(X, axis=0) for X, _ in placed]) for pick in (np.min, np.max))
    for a in range(len(shapes)):
        near = np.flatnonzero(((low < high[a]) & (high > low[a])).all(axis=1))
        for b in near[near != a].tolist():
            if (min(a, b), max(a, b)) not in found and _holds(placed[a], placed[b]):
                found.add((min(a, b), max(a, b)))
    return sorted(found)


def _placed(shape: SimplicialComplex) -> tuple[Array, Indices]:
    T = shape.transforms.first
    return shape.positions.values @ T[:3, :3].T + T[:3, 3], shape.triangles.topo.values


def _holds(outer: tuple[Array, Indices], inner: tuple[Array, Indices]) -> bool:
    """Whether a corner of the inner one is inside the outer one, where their surfaces do not cross."""
    (X, triangles), (Y, _) = outer, inner
    if not len(triangles):
        return False
    a, b, c = (X[triangles[:, k]] - Y[0] for k in range(3))
    la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
    # the solid angle that a triangle is seen under (van Oosterom and Strackee)
    over = np.einsum("ki,ki->k", a, np.cross(b, c))
    under = la * lb * lc + lc * np.einsum("ki,ki->k", a, b)
    under += lb * np.einsum("ki,ki->k", a, c) + la * np.einsum("ki,ki->k", b, c)
    return bool(2.0 * np.arctan2(over, under).sum() > 2.0 * np.pi)
