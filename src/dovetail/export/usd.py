"""Universal Scene Description: a transform per body with time samples of its whole affine map."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.errors import MissingExtra
from dovetail.export.looks import FLOOR_COLOR, Shape, bounds_of, floor, shapes_of
from dovetail.export.timeline import thinned
from dovetail.io.recording import Recording
from dovetail.picture.camera import up_of

__all__ = ["write"]


def write(recording: Recording, path: Path, *, fps: float, speed: float) -> None:
    """Up is y or z, whichever gravity is nearer to; lengths are in metres; one time code is 1/fps of playback."""
    try:
        from pxr import Gf, Tf, Usd, UsdGeom
    except ImportError:
        raise MissingExtra("export to .usd: usd-core is missing; pip install 'dovetail[usd]'.") from None
    numbers, shown = thinned(recording.times, fps, speed)
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y if abs(up_of(recording.gravity)[1]) > 0.7 else UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    stage.SetTimeCodesPerSecond(fps)
    stage.SetFramesPerSecond(fps)
    stage.SetStartTimeCode(0.0)
    stage.SetEndTimeCode(float(shown[-1] * fps))
    world = UsdGeom.Xform.Define(stage, "/World")
    stage.SetDefaultPrim(world.GetPrim())
    prototypes: dict[int, Any] = {}
    names = _Names(Tf.MakeValidIdentifier)
    operations = []
    for k, (body, parts) in enumerate(zip(recording.bodies, shapes_of(recording), strict=True)):
        if not parts:
            continue
        xform = UsdGeom.Xform.Define(stage, f"/World/{names.of(body.name)}")
        xform.GetPrim().SetDisplayName(body.name)
        for part, (number, shape, color) in enumerate(parts):
            mesh = stage.DefinePrim(xform.GetPath().AppendChild(f"mesh_{part}" if part else "mesh"))
            mesh.GetReferences().AddInternalReference(_prototype(stage, prototypes, number, shape))
            UsdGeom.Gprim(mesh).CreateDisplayColorAttr([Gf.Vec3f(*color)])
        operations.append((k, xform.AddTransformOp()))
    for frame, time in zip(numbers.tolist(), (shown * fps).tolist(), strict=True):
        transforms = recording.transforms(frame)
        for k, operation in operations:
            operation.Set(Gf.Matrix4d(transforms[k].T.tolist()), time)  # USD multiplies rows from the left
    for plane, square in zip(recording.planes, floor(recording, bounds_of(recording, numbers)), strict=True):
        _mesh(stage, f"/World/{names.of(plane.name)}", square).CreateDisplayColorAttr([Gf.Vec3f(*FLOOR_COLOR)])
    _save(stage, path)


def _prototype(stage: Any, known: dict[int, Any], number: int, shape: Shape) -> Any:
    """The path of an abstract prim that holds a shape, so that bodies share it."""
    if number not in known:
        stage.CreateClassPrim("/Shapes")
        known[number] = _mesh(stage, f"/Shapes/shape_{number}", shape).GetPath()
    return known[number]


def _mesh(stage: Any, path: str, shape: Shape) -> Any:
    from pxr import UsdGeom, Vt

    mesh = UsdGeom.Mesh.Define(stage, path)
    mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(shape.vertices.astype(np.float32)))
    mesh.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(shape.triangles), 3, np.int32)))
    mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(shape.triangles.astype(np.int32).reshape(-1)))
    mesh.CreateNormalsAttr(Vt.Vec3fArray.FromNumpy(shape.normals.astype(np.float32)))
    mesh.SetNormalsInterpolation(UsdGeom.Tokens.vertex)
    mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    mesh.CreateExtentAttr(
        Vt.Vec3fArray.FromNumpy(np.stack([shape.vertices.min(axis=0), shape.vertices.max(axis=0)]).astype(np.float32))
    )
    return mesh


class _Names:
    """Names of prims: letters, digits and underscores, each once."""

    def __init__(self, valid: Any) -> None:
        self._valid = valid
        self._taken: set[str] = set()

    def of(self, name: str) -> str:
        base = self._valid(name)
        found, k = base, 1
        while found in self._taken:
            k += 1
            found = f"{base}_{k}"
        self._taken.add(found)
        return str(found)


def _save(stage: Any, path: Path) -> None:
    """Complete or not at all: USD writes by itself, so to another name first."""
    from pxr import Tf

    target = path.resolve()
    draft = target.with_name(f".{target.stem}.{os.urandom(6).hex()}{target.suffix}")
    try:
        try:
            done = stage.GetRootLayer().Export(str(draft))
        except Tf.ErrorException as error:
            # lines of C++ places, each with a reason in quotes; the first is what began it
            reason = re.search(r": '(.*)'", str(error))
            raise OSError(f"USD says: {reason[1] if reason else 'it failed':.200}") from None
        if not done:
            raise OSError("USD could not write it")
        with draft.open("rb") as stream:
            os.fsync(stream.fileno())  # a full disk may show here only
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
