"""The constant part of contact: surfaces of all bodies, half-planes, materials, and who may touch whom."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.kernel.record import Record, f8, i8, integer
from dovetail.solver.contact.surface import Shape
from dovetail.typing import Array, Indices

__all__ = ["ContactScene"]


def _joined(parts: Sequence[Any], width: int = 0, dtype: Any = np.int64) -> Any:
    """Arrays laid end to end."""
    return np.ascontiguousarray(np.concatenate([np.zeros((0, width) if width else 0, dtype), *parts]).astype(dtype))


class ContactScene(Record):
    """Everything about contact that does not change while a world runs.

    Given:

    shapes                       prepared surfaces; bodies with the same mesh share one
    shape_of (n,)                shape of each body, −1 for none
    d_hat, thickness (n,)        range of the barrier and half thickness of the surface [m]
    is_round (n,)                1 where the thickness is a radius that bodies touch at, see `barrier_of`
    rolls (n,)                   1 where the surface, or what the corners of a mesh stand for, is round: see roll.py
    rolling_axis (n, 3)          the axis that it is round about, in the body; 0 where that is any
    material, subscene (n,)      contact element and subscene element of each body
    self_collides (n,)           1 where a body may touch itself
    plane_point, plane_normal (p, 3), plane_material, plane_subscene (p,)     half-planes, normals of length 1
    mu, kappa, enabled (m, m)    friction, stiffness (< 0 adaptive) and switch by pair of contact elements
    rolling, restitution (m, m)  lever of rolling friction [m] and restitution by pair, or none
    subscenes (s, s)             whether two subscenes meet
    masked                       body pairs (k, 2) that never touch, such as neighbours by a joint
    vertex_material              contact elements by shape vertex, −1 where the body's counts; indexed like `V`

    plane_thickness (n,) is how near a body may come to half-planes. Shapes are laid end to end: V, triangles, edges,
    elements … index into arrays over all shapes, vertex_start, element_start and tree_start say where each begins. The
    vertex V[v] of body b stands at X[v + x_base[b]], the world boxes of its tree begin at box_start[b], and it has
    element_count[b] elements. has_vertex_materials says whether any vertex has one of its own.
    """

    shape_of: Indices = i8(1)
    d_hat: Array = f8(1)
    thickness: Array = f8(1)
    is_round: Indices = i8(1)
    plane_thickness: Array = f8(1)
    material: Indices = i8(1)
    subscene: Indices = i8(1)
    plane_point: Array = f8(2)
    plane_normal: Array = f8(2)
    plane_material: Indices = i8(1)
    plane_subscene: Indices = i8(1)
    mu: Array = f8(2)
    kappa: Array = f8(2)
    rolling: Array = f8(2)
    restitution: Array = f8(2)
    enabled: Indices = i8(2)
    subscenes: Indices = i8(2)
    vertex_material: Indices = i8(1)
    V: Array = f8(2)
    triangles: Indices = i8(2)
    patch: Indices = i8(1)
    edges: Indices = i8(2)
    edge_length: Array = f8(1)
    element_points: Indices = i8(2)
    element_triangle: Indices = i8(1)
    element_vertices: Indices = i8(2)
    element_edges: Indices = i8(2)
    element_start: Indices = i8(1)
    low: Array = f8(2)
    high: Array = f8(2)
    tree_start: Indices = i8(1)
    leaves: Indices = i8(1)
    box_start: Indices = i8(1)
    x_base: Indices = i8(1)
    vertex_start: Indices = i8(1)
    has_vertex_materials: int = integer()

    def __init__(
        self,
        *,
        shapes: list[Shape],
        self_collides: Indices,
        masked: Indices,
        vertex_material: Indices | None = None,
        plane_subscene: Indices | None = None,
        is_round: Indices | None = None,
        rolls: Indices | None = None,
        rolling_axis: Array | None = None,
        rolling: Array | None = None,
        restitution: Array | None = None,
        **given: Any,
    ) -> None:
        vertex = np.cumsum([0, *(len(s.vertices) for s in shapes)])
        triangle = np.cumsum([0, *(len(s.triangles) for s in shapes)])
        edge = np.cumsum([0, *(len(s.edges) for s in shapes)])
        patches = np.cumsum([0, *(int(s.patch.max(initial=-1)) + 1 for s in shapes)])

        def moved(values: Indices, offset: int) -> Indices:
            return np.where(values >= 0, values + offset, -1)

        numbered = list(enumerate(shapes))
        V = _joined([s.vertices for s in shapes], 3, float)
        edges = _joined([s.edges + vertex[k] for k, s in numbered], 2)
        shape_of = given["shape_of"].tolist()
        starts = np.cumsum([0, *(len(shapes[s].vertices) if s >= 0 else 0 for s in shape_of)])
        first = np.array([vertex[s] if s >= 0 else 0 for s in shape_of], np.int64)
        if is_round is None:
            is_round = np.zeros(len(given["shape_of"]), np.int64)
        super().__init__(
            **given,
            is_round=is_round,
            rolling=np.zeros_like(given["mu"]) if rolling is None else rolling,
            restitution=np.zeros_like(given["mu"]) if restitution is None else restitution,
            plane_thickness=_inside(given["thickness"], given["d_hat"], is_round),
            plane_subscene=np.zeros(len(given["plane_point"]), np.int64) if plane_subscene is None else plane_subscene,
            vertex_material=np.full(len(V), -1) if vertex_material is None else vertex_material,
            V=V,
            triangles=_joined([s.triangles + vertex[k] for k, s in numbered], 3),
            patch=_joined([s.patch + patches[k] for k, s in numbered]),
            edges=edges,
            edge_length=np.linalg.norm(V[edges[:, 1]] - V[edges[:, 0]], axis=1),
            element_points=_joined([s.element_points + vertex[k] for k, s in numbered], 3),
            element_triangle=_joined([moved(s.element_triangle, triangle[k]) for k, s in numbered]),
            element_vertices=_joined([moved(s.element_vertices, vertex[k]) for k, s in numbered], 3),
            element_edges=_joined([moved(s.element_edges, edge[k]) for k, s in numbered], 3),
            element_start=np.cumsum([0, *(len(s.element_triangle) for s in shapes)]),
            low=_joined([s.low for s in shapes], 3, float),
            high=_joined([s.high for s in shapes], 3, float),
            tree_start=np.cumsum([0, *(len(s.low) for s in shapes)]),
            leaves=np.array([(len(s.low) + 1) // 2 for s in shapes], np.int64),
            box_start=np.cumsum([0, *(len(shapes[s].low) if s >= 0 else 0 for s in shape_of)]),
            x_base=starts[:-1] - first,
            vertex_start=vertex,
            has_vertex_materials=int(vertex_material is not None and bool((vertex_material >= 0).any())),
        )
        self.shapes, self.self_collides = shapes, self_collides
        self.rolls = is_round if rolls is None else rolls
        self.some_roll, self.resists_rolling = bool(self.rolls.any()), bool(self.rolling.any())
        self.rolling_axis = np.zeros((len(shape_of), 3)) if rolling_axis is None else rolling_axis
        self.x_count, self.body_of = int(starts[-1]), np.repeat(np.arange(len(shape_of)), np.diff(starts))
        self.element_count = np.array([len(shapes[s].element_triangle) if s >= 0 else 0 for s in shape_of], np.int64)
        low_first = np.sort(masked, axis=1) if len(masked) else np.zeros((0, 2), np.int64)
        self.masked: Indices = np.unique(low_first[:, 0] * max(len(shape_of), 1) + low_first[:, 1])  # by one number

    def barrier_of(self, a: Indices, b: Indices) -> tuple[Array, Array]:
        """Thickness ξ and range d̂ (k,) [m] between bodies a and b (k,).

        Surfaces begin to push at the distance ξ + d̂, ξ the thickness of both. Round bodies touch at their radii: there
        the range lies inside, ξ + d̂ is the sum of the radii.
        """
        d_hat = 0.5 * (self.d_hat[a] + self.d_hat[b])
        return _inside(self.thickness[a] + self.thickness[b], d_hat, self.is_round[a] | self.is_round[b]), d_hat

    def finest(self) -> tuple[int, float]:
        """The body with the finest surface, measured by its d̂, and the mean length of its edges that can touch [m]."""
        lengths = [
            float(np.linalg.norm(np.diff(s.vertices[s.edges], axis=1), axis=2).mean()) if len(s.edges) else math.inf
            for s in self.shapes
        ]
        length = np.array([*lengths, math.inf])[self.shape_of]  # the last one is that of bodies without a surface
        body = int(np.argmax(self.d_hat / length))
        return body, float(length[body])


def _inside(thickness: Array, d_hat: Array, is_round: Indices) -> Array:
    """The thickness less the range where it is round, but at least half of it."""
    return np.where(is_round != 0, np.maximum(thickness - d_hat, 0.5 * thickness), thickness)
