"""Shapes of links as surfaces: primitives, meshes as they are, their hulls, or boxes around them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.doctor.finding import Finding, remark, warning
from dovetail.errors import DovetailError, MissingExtra, SceneError
from dovetail.geometry import SimplicialComplex, label_surface, make_round
from dovetail.geometry import trimesh as triangle_mesh
from dovetail.geometry.merge import merge
from dovetail.robot.description import Shape, Triangles
from dovetail.robot.meshes import as_one, read_mesh
from dovetail.sim import shapes
from dovetail.typing import Array

__all__ = ["COLLISIONS", "Surfaces", "hull", "scaled"]

COLLISIONS = ("hull", "mesh", "boxes")

_CORNERS = 128
"""Of a hull: finer ones touch no better and cost more."""

_EXACT = 1e-3  # of its size: what sticks out less of a hull is left out

_DETAIL = 2
"""Of round shapes beside others: 320 triangles of a ball, prisms with 32 sides."""


class Surfaces:
    """Makes surfaces of shapes, and tells what became of them."""

    def __init__(self, collision: str, findings: list[Finding]) -> None:
        self._collision, self._findings = collision, findings
        self._cut = 0.0, ""  # the farthest that a hull with fewer corners is inside, and of which mesh
        self.read = cache(read_mesh)
        self._primitives: dict[Any, SimplicialComplex] = {}  # by kind and size, and
        self._wholes: dict[Any, SimplicialComplex] = {}  # bodies by their parts: many are alike

    def of_link(self, link: str, parts: list[tuple[Array, Shape]]) -> SimplicialComplex | None:
        """All shapes of a body as one mesh, each at its pose; None where there are none.

        A single ball or capsule is round; beside others they are polyhedra.
        """
        key = tuple(
            (s.kind, s.file, s.fit, id(s.triangles), s.size.tobytes(), (T @ s.pose).tobytes()) for T, s in parts
        )
        if key in self._wholes:
            return self._wholes[key].copy()
        made = [mesh for pose, shape in parts if (mesh := self.of_shape(link, pose, shape)) is not None]
        if not made:
            return None
        whole = merge(made)
        label_surface(whole)
        if len(parts) == 1 and parts[0][1].kind in ("sphere", "capsule"):
            shape, T = parts[0][1], parts[0][0] @ parts[0][1].pose
            half = 0.5 * T[:3, 2] * (shape.size[1] if shape.kind == "capsule" else 0.0)
            make_round(whole, float(shape.size[0]), T[:3, 3] - half, T[:3, 3] + half)
        self._wholes[key] = whole.copy()
        return whole

    def tell(self) -> None:
        """Note what concerns all of them."""
        cut, file = self._cut
        if cut > 1e-6:
            text = f"hulls have at most {_CORNERS} corners, which lie within the file's meshes by {1e3 * cut:.2g} mm"
            self._findings.append(remark(f"{text} or less, most in '{file}'"))

    def of_shape(self, link: str, pose: Array, shape: Shape) -> SimplicialComplex | None:
        """One of them, at its pose; None where there is nothing."""
        who, T = f"the {shape.kind} of link '{link}' in {shape.where}", pose @ shape.pose
        if shape.kind != "mesh":
            found = self._primitive(who, shape.kind, shape.size)
        elif shape.file is None:
            return None
        else:
            triangles = self._mesh(link, shape, shape.file)
            if triangles is None:
                return None
            found = triangle_mesh(triangles.vertices, triangles.faces)
        found.positions.edit()[...] = found.positions.values @ T[:3, :3].T + T[:3, 3]
        return found

    def _primitive(self, who: str, kind: str, size: Array) -> SimplicialComplex:
        key = (kind, *size.tolist())
        if key not in self._primitives:
            if kind == "box":
                found = shapes.box(who, size)
            elif kind == "sphere":
                found = shapes.sphere(who, size[0], _DETAIL)
            elif kind == "ellipsoid":
                found = shapes.sphere(who, 1.0, _DETAIL)
                found.positions.edit()[...] *= size
            else:
                make = {"capsule": shapes.capsule, "cylinder": shapes.cylinder}[kind]
                found = make(who, size[0], size[1], _DETAIL)
            self._primitives[key] = found
        return self._primitives[key].copy()

    def _mesh(self, link: str, shape: Shape, file: Path) -> Triangles | None:
        try:
            vertices, faces = scaled(shape.triangles or as_one([part.triangles for part in self.read(file)]), shape)
        except MissingExtra:
            raise
        except DovetailError as error:
            raise SceneError(f"the mesh of link '{link}' in {shape.where} cannot be used: {error}") from None
        fit = shape.fit or self._collision
        if fit == "mesh":
            return Triangles(vertices, faces)
        low, high = vertices.min(axis=0), vertices.max(axis=0)
        size = float((high - low).max())
        if not (high - low > 1e-6 * size).all():
            flaw = f"the mesh '{file.name}' of link '{link}' is flat: its extent is {(high - low).tolist()} m"
            self._findings.append(
                warning(flaw, "it does not touch anything; give it a thickness, or collision='mesh'.")
            )
            return None
        if fit == "boxes":
            box = shapes.box("a box", high - low)
            return Triangles(box.positions.values + (low + high) / 2, box.triangles.topo.values)
        found, cut = hull(vertices)
        self._cut = max(self._cut, (cut, file.name))
        return found


def scaled(triangles: Triangles, shape: Shape) -> Triangles:
    """Stretched along the axes as the shape says; mirrored ones are turned inside out."""
    vertices, faces = triangles
    return Triangles(vertices * shape.size, faces[:, ::-1] if np.prod(shape.size) < 0.0 else faces)


def hull(vertices: Array) -> tuple[Triangles, float]:
    """The convex hull of the corners that matter most, and by how much [m] others stick out of it.

    It begins with the outermost in some directions, and takes in what sticks out most of each triangle.
    """
    from scipy.spatial import ConvexHull

    corners = vertices[ConvexHull(vertices).vertices]
    near = _EXACT * float(np.ptp(corners, axis=0).max())
    chosen = np.unique((corners / np.ptp(corners, axis=0) @ _directions().T).argmax(axis=0))
    while True:
        found = ConvexHull(corners[chosen])
        out = corners @ found.equations[:, :3].T + found.equations[:, 3]
        cut, room = float(out.max()), _CORNERS - len(chosen)
        if cut <= near or room <= 0:
            break
        farthest = out.argmax(axis=0)[np.argsort(-out.max(axis=0))]
        farthest = np.setdiff1d(farthest[out.max(axis=1)[farthest] > near][: max(room, 1)], chosen)
        if not len(farthest):
            break
        chosen = np.concatenate([chosen, farthest])
    points, triangles = found.points[found.vertices], found.simplices
    number = np.zeros(len(found.points), np.int64)
    number[found.vertices] = np.arange(len(found.vertices))
    triangles = number[triangles]
    a, b, c = (points[triangles[:, k]] for k in range(3))
    inward = np.einsum("ki,ki->k", np.cross(b - a, c - a), found.equations[:, :3]) < 0.0
    triangles[inward] = triangles[inward, ::-1]
    return Triangles(points, triangles), max(0.0, cut)


@cache
def _directions() -> Array:
    """Towards the middles of sides, edges and corners of a cube (26, 3)."""
    grid = np.indices((3, 3, 3)).reshape(3, 27).T - 1.0
    return np.asarray(grid[np.abs(grid).any(axis=1)])
