"""What the links of a robot look like: the file's shapes to look at, with their colours, apart from what touches."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dovetail.checked import LARGEST
from dovetail.doctor.finding import Finding, warning
from dovetail.errors import DovetailError, SceneError
from dovetail.geometry import SimplicialComplex
from dovetail.robot.description import Shape, Triangles
from dovetail.robot.meshes import Painted, as_one
from dovetail.robot.surfaces import Surfaces, scaled
from dovetail.typing import Array, Indices

__all__ = ["Looks", "look_alike", "looks_of"]

_MOST_COLORS = 16  # of a link; each is a mesh of its own


class Looks(NamedTuple):
    """The colour of a body, None where the file says none, and meshes in its frame, each of one colour."""

    color: Array | None
    meshes: list[SimplicialComplex]


def look_alike(seen: list[tuple[Array, Shape]], touching: list[tuple[Array, Shape]]) -> bool:
    """Whether shapes to look at are those that touch, as they are, in one colour."""
    same = {id(shape) for _, shape in seen} == {id(shape) for _, shape in touching}
    colors = {None if shape.color is None else tuple(shape.color.tolist()) for _, shape in seen}
    return same and len(colors) < 2 and all(shape.kind != "mesh" for _, shape in seen)


def looks_of(link: str, parts: list[tuple[Array, Shape]], surfaces: Surfaces, findings: list[Finding]) -> Looks:
    """Of shapes to look at with the poses of their links; what cannot be read is not shown, and told.

    Meshes without a colour of their own take that of the body, which is the first one that there is.
    """
    by_color: dict[tuple[float, ...] | None, list[Triangles]] = {}
    for pose, shape in parts:
        try:
            painted = _painted(link, pose, shape, surfaces)
        except DovetailError as error:
            findings.append(warning(f"a visual of link '{link}' ({shape.where}) is not shown: {error}", ""))
            continue
        for triangles, color in painted:
            key = None if color is None else tuple(np.round(color, 4).tolist())
            key = key if key in by_color or len(by_color) < _MOST_COLORS else next(iter(by_color))
            by_color.setdefault(key, []).append(triangles)
    first = None if None in by_color else next(iter(by_color), None)
    meshes = []
    for rgb, made in by_color.items():
        mesh = _bare(as_one(made))
        if rgb != first:
            mesh.meta.create("color", np.array(rgb))
        meshes.append(mesh)
    return Looks(None if first is None else np.array(first), meshes)


def _painted(link: str, pose: Array, shape: Shape, surfaces: Surfaces) -> list[Painted]:
    """A shape in the frame of the body, in its own colour or those of its mesh."""
    T = pose @ shape.pose
    if shape.kind != "mesh":
        made = surfaces.of_shape(link, np.eye(4), replace(shape, pose=np.eye(4)))
        assert made is not None
        return [Painted(_moved(made.positions.values, made.triangles.topo.values, T), shape.color)]
    if shape.triangles is not None:
        parts = [Painted(shape.triangles, None)]
    else:
        parts = [] if shape.file is None else surfaces.read(shape.file)
    found = []
    for triangles, color in parts:
        vertices, faces = scaled(triangles, shape)
        found.append(Painted(_moved(vertices, faces, T), color if shape.color is None else shape.color))
    return found


def _moved(vertices: Array, faces: Indices, T: Array) -> Triangles:
    """At an affine map T, which may stretch and mirror."""
    placed = vertices @ T[:3, :3].T + T[:3, 3]
    if not (np.abs(placed) <= LARGEST).all():
        raise SceneError(f"it reaches to {np.abs(placed).max(initial=0.0):g} m")
    return Triangles(placed, faces[:, ::-1] if np.linalg.det(T[:3, :3]) < 0.0 else faces)


def _bare(triangles: Triangles) -> SimplicialComplex:
    """A mesh of triangles without their edges, which nothing asks of what is only shown."""
    mesh = SimplicialComplex()
    mesh.instances.create("transform", np.eye(4), allow_destroy=False)
    mesh.vertices.resize(len(triangles.vertices))
    mesh.vertices.create("position", np.zeros(3), allow_destroy=False).edit()[...] = triangles.vertices
    mesh.triangles.resize(len(triangles.faces))
    mesh.triangles.topo.edit()[...] = triangles.faces
    return mesh
