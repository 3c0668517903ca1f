"""Vertices near half-planes; only those that can touch first."""

from __future__ import annotations

import numpy as np

from dovetail.solver.contact.candidates import Candidates
from dovetail.solver.contact.kinds import POINT_PLANE
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["near_planes"]


@kernel
def _near_planes(
    body: Indices, vertex: Indices, plane_point: Array, plane_normal: Array, plane_material: Indices,
    plane_subscene: Indices, reach: Array, thickness: Array, d_hat: Array, material: Indices, vertex_material: Indices,
    subscene: Indices, enabled: Array, subscenes: Array, kappa: Array, mu: Array, x_base: Indices, X: Array,
    rows: Indices, numbers: Array, known: Array,
) -> int:  # fmt: skip
    """Fill candidates of the listed vertices with all half-planes; how many."""
    count = 0
    for p in range(len(plane_point)):
        n = plane_material[p]
        for k in range(len(body)):
            b = body[k]
            x = vertex[k] + x_base[b]
            height = 0.0
            for i in range(3):
                height += (X[x, i] - plane_point[p, i]) * plane_normal[p, i]
            if height > reach[b]:
                continue
            m = vertex_material[vertex[k]]
            if m < 0:
                m = material[b]
            if not enabled[m, n] or not subscenes[subscene[b], plane_subscene[p]]:
                continue
            for i in range(8):
                rows[count, i] = -1
            rows[count, 0] = POINT_PLANE
            rows[count, 1] = b
            rows[count, 3] = x
            rows[count, 4] = p
            numbers[count, 0] = kappa[m, n]
            numbers[count, 1] = mu[m, n]
            numbers[count, 2] = d_hat[b]
            numbers[count, 3] = thickness[b]
            numbers[count, 4] = 0.0
            known[count, 0] = height
            known[count, 1] = 0.0
            count += 1
    return count


def near_planes(scene: ContactScene, is_fixed: Indices, slack: Array, X: Array) -> Candidates:
    """Candidates of free bodies with half-planes; slack (n,) is how far a body may move relative to these."""
    if len(scene.plane_point) == 0:
        return Candidates.none()
    assert scene.vertex_material is not None and scene.plane_subscene is not None
    body, vertex = _touching_vertices(scene, is_fixed)
    size = len(scene.plane_point) * len(body)
    rows, numbers, known = np.empty((size, 8), np.int64), np.empty((size, 5)), np.empty((size, 2))
    count = _near_planes(
        body, vertex, scene.plane_point, scene.plane_normal, scene.plane_material, scene.plane_subscene,
        scene.thickness + scene.d_hat + slack, scene.thickness, scene.d_hat, scene.material, scene.vertex_material,
        scene.subscene, scene.enabled, scene.subscenes, scene.kappa, scene.mu, scene.x_base, X, rows, numbers, known,
    )  # fmt: skip
    return Candidates(rows[:count], numbers[:count], known[:count])


def _touching_vertices(scene: ContactScene, is_fixed: Indices) -> tuple[Indices, Indices]:
    """(body, v) of every vertex of a free body that can touch first; the same at every call."""
    if scene.touching is None:
        by_shape = []
        for s in range(len(scene.shapes)):
            owned = scene.element_vertices[scene.element_start[s] : scene.element_start[s + 1]].reshape(-1)
            by_shape.append(np.sort(owned[owned >= 0]))
        free = [b for b in range(len(scene.shape_of)) if scene.shape_of[b] >= 0 and not is_fixed[b]]
        vertices = [by_shape[scene.shape_of[b]] for b in free]
        body = np.repeat(free, [len(v) for v in vertices]).astype(np.int64)
        scene.touching = body, np.concatenate([np.zeros(0, np.int64), *vertices])
    return scene.touching
