"""The constant part of contact: surfaces of all bodies, half-planes, materials, and who may touch whom."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dovetail.solver.contact.surface import Shape
from dovetail.typing import Array, Indices

__all__ = ["ContactScene"]


@dataclass
class ContactScene:
    """Everything about contact that does not change while a world runs.

    shapes                       prepared surfaces; bodies with the same mesh share one
    shape_of (n,)                shape of each body, −1 for none
    d_hat, thickness (n,)        range of the barrier and half thickness of the surface [m]
    material, subscene (n,)      contact element and subscene element of each body
    vertex_material              contact elements by shape vertex, −1 where the body's counts; indexed like `V`
    self_collides (n,)           1 where a body may touch itself
    plane_point, plane_normal (p, 3), plane_material, plane_subscene (p,)     half-planes, normals of length 1
    mu, kappa, enabled (m, m)    friction, stiffness (< 0 adaptive) and switch by pair of contact elements
    subscenes (s, s)             whether two subscenes meet
    masked                       body pairs (k, 2) that never touch, such as neighbours by a joint
    """

    shapes: list[Shape]
    shape_of: Indices
    d_hat: Array
    thickness: Array
    material: Indices
    subscene: Indices
    self_collides: Indices
    plane_point: Array
    plane_normal: Array
    plane_material: Indices
    mu: Array
    kappa: Array
    enabled: Array
    subscenes: Array
    masked: Indices
    vertex_material: Indices | None = None
    plane_subscene: Indices | None = None

    V: Array = field(init=False)
    triangles: Indices = field(init=False)
    patch: Indices = field(init=False)
    edges: Indices = field(init=False)
    edge_length: Array = field(init=False)
    element_points: Indices = field(init=False)
    element_triangle: Indices = field(init=False)
    element_vertices: Indices = field(init=False)
    element_edges: Indices = field(init=False)
    element_start: Indices = field(init=False)
    low: Array = field(init=False)
    high: Array = field(init=False)
    tree_start: Indices = field(init=False)
    leaves: Indices = field(init=False)
    box_start: Indices = field(init=False)
    x_base: Indices = field(init=False)
    x_count: int = field(init=False)
    patch_count: int = field(init=False)
    has_vertex_materials: bool = field(init=False)
    vertex_start: Indices = field(init=False)
    touching: tuple[Indices, Indices] | None = field(init=False, default=None)  # free vertices that can touch first
    found: Indices = field(init=False)  # room for near elements, their boxes, features and their measures; grows
    box: Array = field(init=False)
    order: Indices = field(init=False)  # bodies along a space-filling curve, and how old that is in looks
    order_age: int = field(init=False, default=0)
    rows: Indices = field(init=False)
    measured: Array = field(init=False)

    def __post_init__(self) -> None:
        """Lay the shapes end to end: V, triangles … index into arrays over all shapes.

        The vertex V[v] of body b stands at X[v + x_base[b]], the world boxes of its tree begin at box_start[b].
        """
        shapes = self.shapes
        vertex = np.cumsum([0, *(len(s.vertices) for s in shapes)])
        triangle = np.cumsum([0, *(len(s.triangles) for s in shapes)])
        edge = np.cumsum([0, *(len(s.edges) for s in shapes)])
        patches = np.cumsum([0, *(int(s.patch.max(initial=-1)) + 1 for s in shapes)])

        def joined(parts: list[Indices], width: int = 0) -> Indices:
            empty = np.zeros((0, width) if width else 0, np.int64)
            return np.ascontiguousarray(np.concatenate([empty, *parts]))

        def moved(values: Indices, offset: int) -> Indices:
            return np.where(values >= 0, values + offset, -1)

        numbered = list(enumerate(shapes))
        self.vertex_start = vertex
        self.found = np.empty((4096, 3), np.int64)
        self.make_room(1024)
        self.V = np.concatenate([np.zeros((0, 3)), *(s.vertices for s in shapes)])
        self.triangles = joined([s.triangles + vertex[k] for k, s in numbered], 3)
        self.patch = joined([s.patch + patches[k] for k, s in numbered])
        self.patch_count = int(self.patch.max(initial=0)) + 1
        self.edges = joined([s.edges + vertex[k] for k, s in numbered], 2)
        self.edge_length = np.linalg.norm(self.V[self.edges[:, 1]] - self.V[self.edges[:, 0]], axis=1)
        self.element_points = joined([s.element_points + vertex[k] for k, s in numbered], 3)
        self.element_triangle = joined([moved(s.element_triangle, triangle[k]) for k, s in numbered])
        self.element_vertices = joined([moved(s.element_vertices, vertex[k]) for k, s in numbered], 3)
        self.element_edges = joined([moved(s.element_edges, edge[k]) for k, s in numbered], 3)
        self.element_start = np.cumsum([0, *(len(s.element_triangle) for s in shapes)])
        self.low = np.concatenate([np.zeros((0, 3)), *(s.low for s in shapes)])
        self.high = np.concatenate([np.zeros((0, 3)), *(s.high for s in shapes)])
        self.tree_start = np.cumsum([0, *(len(s.low) for s in shapes)])
        self.leaves = np.array([(len(s.low) + 1) // 2 for s in shapes], np.int64)
        if self.plane_subscene is None:
            self.plane_subscene = np.zeros(len(self.plane_point), np.int64)
        if self.vertex_material is None:
            self.vertex_material = np.full(len(self.V), -1)
        self.has_vertex_materials = bool((self.vertex_material >= 0).any())
        counts = np.array([len(shapes[s].vertices) if s >= 0 else 0 for s in self.shape_of.tolist()], np.int64)
        starts = np.cumsum([0, *counts])
        self.x_count = int(starts[-1])
        nodes = [len(shapes[s].low) if s >= 0 else 0 for s in self.shape_of.tolist()]
        self.box_start = np.cumsum([0, *nodes])
        self.box = np.empty((self.box_start[-1], 2, 3))
        first = np.array([vertex[s] if s >= 0 else 0 for s in self.shape_of.tolist()], np.int64)
        self.x_base = starts[:-1] - first
        low_first = np.sort(self.masked, axis=1) if len(self.masked) else np.zeros((0, 2), np.int64)
        self.masked = np.unique(low_first[:, 0] * max(len(self.shape_of), 1) + low_first[:, 1])

    def make_room(self, features: int) -> None:
        """Room for so many features."""
        self.rows, self.measured = np.empty((features, 9), np.int64), np.empty((features, 2))
