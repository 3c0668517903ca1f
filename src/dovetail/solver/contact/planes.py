"""Vertices near half-planes; only those that can touch first."""

from __future__ import annotations

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.contact.barrier import softened
from dovetail.solver.contact.candidates import Candidates
from dovetail.solver.contact.kinds import D_HAT, KAPPA, KIND, MU, POINT_PLANE, SHAPE, THICKNESS, X0, A
from dovetail.solver.contact.scene import ContactScene
from dovetail.typing import Array, Indices

__all__ = ["near_planes", "touching_vertices"]


@kernel
def _near_planes(
    scene: ContactScene, body: Indices, vertex: Indices, reach: Array, X: Array, rows: Indices, numbers: Array,
    known: Array,
) -> int:  # fmt: skip
    """Fill candidates of the listed vertices with all half-planes; how many."""
    count = 0
    for p in range(len(scene.plane_point)):
        n = scene.plane_material[p]
        for k in range(len(body)):
            b = body[k]
            x = vertex[k] + scene.x_base[b]
            height = 0.0
            for i in range(3):
                height += (X[x, i] - scene.plane_point[p, i]) * scene.plane_normal[p, i]
            if height > reach[b]:
                continue
            m = scene.vertex_material[vertex[k]]
            if m < 0:
                m = scene.material[b]
            if not scene.enabled[m, n] or not scene.subscenes[scene.subscene[b], scene.plane_subscene[p]]:
                continue
            for i in range(8):
                rows[count, i] = -1
            rows[count, KIND], rows[count, A], rows[count, X0], rows[count, X0 + 1] = POINT_PLANE, b, x, p
            numbers[count, KAPPA], numbers[count, MU] = scene.kappa[m, n], scene.mu[m, n]
            numbers[count, D_HAT], numbers[count, THICKNESS] = scene.d_hat[b], scene.plane_thickness[b]
            numbers[count, SHAPE] = 0.0
            known[count, 0], known[count, 1] = height, 0.0
            count += 1
    return count


def near_planes(scene: ContactScene, touching: tuple[Indices, Indices], slack: Array, X: Array) -> Candidates:
    """Candidates of free bodies with half-planes; slack (n,) is how far a body may move relative to these.

    touching are bodies and vertices as of `touching_vertices`.
    """
    if len(scene.plane_point) == 0:
        return Candidates.none()
    body, vertex = touching
    size = len(scene.plane_point) * len(body)
    rows, numbers, known = np.empty((size, 8), np.int64), np.empty((size, 5)), np.empty((size, 2))
    reach = scene.plane_thickness + scene.d_hat + slack
    count = _near_planes(scene, body, vertex, reach, X, rows, numbers, known)
    is_round = np.flatnonzero(scene.is_round[rows[:count, A]])
    numbers[is_round, KAPPA] *= softened(numbers[is_round, THICKNESS], numbers[is_round, D_HAT])
    return Candidates(rows[:count], numbers[:count], known[:count])


def touching_vertices(scene: ContactScene, is_fixed: Indices) -> tuple[Indices, Indices]:
    """(body, v) of every vertex of a free body that can touch first."""
    by_shape = []
    for s in range(len(scene.shapes)):
        owned = scene.element_vertices[scene.element_start[s] : scene.element_start[s + 1]].reshape(-1)
        by_shape.append(np.sort(owned[owned >= 0]))
    free = [b for b in range(len(scene.shape_of)) if scene.shape_of[b] >= 0 and not is_fixed[b]]
    vertices = [by_shape[scene.shape_of[b]] for b in free]
    body = np.repeat(free, [len(v) for v in vertices]).astype(np.int64)
    return body, np.concatenate([np.zeros(0, np.int64), *vertices])
