"""What USD bodies look like: the shapes below them that renderers show, and their colours."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.doctor.finding import warning
from dovetail.errors import SceneError
from dovetail.geometry import AngleAxis
from dovetail.robot.description import Shape, Triangles
from dovetail.robot.surfaces import hull
from dovetail.robot.usd_stage import Stage, cut
from dovetail.typing import Array

__all__ = ["Looks", "along", "frustum", "polygons"]

_ROUND = 32  # sides of cones
_KINDS = {
    "Sphere": "sphere", "Cube": "box", "Capsule": "capsule", "Cylinder": "cylinder", "Cone": "mesh", "Mesh": "mesh",
}  # fmt: skip
_DIFFUSE = ("diffuseColor", "diffuse_color_constant", "base_color")
"""What shaders call the colour of a surface."""


class Looks:
    """The shapes of a stage that are shown, by the paths of the bodies that carry them; "" is the world."""

    def __init__(self, stage: Stage, bodies: dict[str, Array]) -> None:
        """`bodies` are the poses [m] of those that move, by their paths."""
        from pxr import Tf, Usd, UsdGeom

        self._stage, self._cache = stage, UsdGeom.XformCache()
        self._of: dict[str, list[Shape]] = {}
        for prim in Usd.PrimRange(stage.stage.GetPseudoRoot()):
            if str(prim.GetTypeName()) in _KINDS and _is_shown(UsdGeom.Imageable(prim)):
                owner = next((path for path in _upwards(prim) if path in bodies), "")
                try:
                    shape = self._shape(prim, bodies.get(owner, np.eye(4)))
                except (SceneError, Tf.ErrorException) as error:
                    stage.findings.append(warning(f"{prim.GetPath()} is not shown: {cut(str(error))}", ""))
                    continue
                self._of.setdefault(owner, []).append(shape)

    def of(self, body: str) -> list[Shape]:
        """Those of a body, in its frame."""
        return self._of.get(body, [])

    def _shape(self, prim: Any, body: Array) -> Shape:
        path, kind = str(prim.GetPath()), str(prim.GetTypeName())
        T = np.array(self._cache.GetLocalToWorldTransform(prim), float).T  # USD multiplies rows from the left
        T[:3] *= self._stage.metres
        T = np.linalg.inv(body) @ T
        if not np.isfinite(T).all():
            raise self._stage.refusal(path, "has a place or size that is not finite")
        triangles, size = None, np.ones(3)
        if kind == "Mesh":
            triangles = polygons(self._stage, path)
        elif kind == "Cube":
            size = size * self._length(prim, "size")
        elif kind == "Sphere":
            size = np.array([self._length(prim, "radius")])
        else:
            size = np.array([self._length(prim, "radius"), self._length(prim, "height")])
            T = T @ along(str(prim.GetAttribute("axis").Get()))
        if kind == "Cone":
            triangles, size = frustum(size[0], 0.0, size[1]), np.ones(3)
        return Shape(_KINDS[kind], size, T, path, self._stage.file, _color(prim), triangles)

    def _length(self, prim: Any, name: str) -> float:
        value = prim.GetAttribute(name).Get()
        if not isinstance(value, float | int) or not 1e-9 < abs(value) < 1e9:
            raise self._stage.refusal(prim.GetPath(), f"has {name} = {value!s:.40}; give a length > 0")
        return abs(float(value))


def _upwards(prim: Any) -> list[str]:
    """The paths of a prim and of those above it."""
    return [str(path) for path in prim.GetPath().GetAncestorsRange()]


def _is_shown(prim: Any) -> bool:
    from pxr import UsdGeom

    shown = prim.ComputePurpose() in (UsdGeom.Tokens.default_, UsdGeom.Tokens.render)
    return bool(shown and prim.ComputeVisibility() != UsdGeom.Tokens.invisible)


def _color(prim: Any) -> Array | None:
    """Its display colour, or the diffuse one of its material."""
    from pxr import UsdGeom, UsdShade

    given = UsdGeom.Gprim(prim).GetDisplayColorAttr().Get()
    found = given[0] if given and hasattr(given, "__getitem__") else None  # it may be of a type of the file's own
    material = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()[0]
    if found is None and material:
        shaders = [material.ComputeSurfaceSource(context)[0] for context in ("", "mdl")]
        inputs = [shader.GetInput(name) for shader in shaders if shader for name in _DIFFUSE]
        found = next((value for each in inputs if each and (value := each.Get()) is not None), None)
    try:
        rgb = np.array(found, float)
    except (TypeError, ValueError):
        return None
    return np.clip(rgb, 0.0, 1.0) if rgb.shape == (3,) and np.isfinite(rgb).all() else None


def polygons(stage: Stage, path: str) -> Triangles:
    """The faces of a mesh as triangles, in units of the stage; counter-clockwise from outside."""
    from pxr import UsdGeom

    mesh = UsdGeom.Mesh(stage.prim(path))
    try:  # attributes may be of another kind than the schema's
        points, counts, indices = (
            np.array(attribute.Get() if attribute.Get() is not None else ()).astype(kind)
            for attribute, kind in (
                (mesh.GetPointsAttr(), float),
                (mesh.GetFaceVertexCountsAttr(), np.int64),
                (mesh.GetFaceVertexIndicesAttr(), np.int64),
            )
        )
    except (TypeError, ValueError):
        raise stage.refusal(path, "is a mesh whose points or faces are no numbers") from None
    sound = (
        points.ndim == 2
        and points.shape[1] == 3
        and np.isfinite(points).all()
        and counts.size > 0
        and (counts >= 3).all()
    )
    if not sound or counts.sum() != indices.size or not ((indices >= 0) & (indices < len(points))).all():
        raise stage.refusal(path, f"is a mesh of {len(points)} points whose {counts.size} faces do not fit them")
    first = np.repeat(np.cumsum(counts) - counts, counts - 2)  # faces are fans about their first corner
    turn = np.concatenate([np.arange(1, n - 1) for n in counts])
    faces = np.stack([indices[first], indices[first + turn], indices[first + turn + 1]], axis=1)
    if mesh.GetOrientationAttr().Get() == UsdGeom.Tokens.leftHanded:
        faces = faces[:, ::-1]
    return Triangles(points, faces)


def along(axis: str) -> Array:
    """The pose whose z is an axis."""
    T = np.eye(4)
    if axis == "X":
        T[:3, :3] = AngleAxis(np.pi / 2, [0.0, 1.0, 0.0]).matrix()
    elif axis == "Y":
        T[:3, :3] = AngleAxis(-np.pi / 2, [1.0, 0.0, 0.0]).matrix()
    return T


def frustum(bottom: float, top: float, length: float) -> Triangles:
    """The trunk of a cone along z, or a cone where the top has no radius."""
    angles = 2.0 * np.pi * np.arange(_ROUND) / _ROUND
    ring = np.stack([np.cos(angles), np.sin(angles), np.zeros(_ROUND)], axis=1)
    ends = [bottom * ring - [0.0, 0.0, length / 2], top * ring + [0.0, 0.0, length / 2]]
    return hull(np.concatenate(ends if top > 0.0 else [ends[0], ends[1][:1]]))[0]
