"""A USD stage with its units, and what UsdPhysics finds on it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.doctor.finding import Finding, remark, warning
from dovetail.errors import MissingExtra, SceneError
from dovetail.geometry import AngleAxis, Quaternion
from dovetail.messages import listed
from dovetail.robot.limited import prepare
from dovetail.robot.usd_layers import flattened
from dovetail.typing import Array

__all__ = ["Stage", "cut", "named"]

_TOLD = 4
_LONGEST = 300  # characters of what USD says
_KNOWN_TYPES = {
    "", "BasisCurves", "Camera", "Capsule", "Capsule_1", "Cone", "Cube", "Cylinder", "Cylinder_1", "GeomSubset",
    "Material", "Mesh", "NodeGraph", "Plane", "Scope", "Shader", "Sphere", "Xform", "HermiteCurves", "NurbsPatch",
    "SkelRoot", "Skeleton", "BlendShape", "Model",
}  # fmt: skip
_KNOWN_SCHEMAS = {
    "PhysicsArticulationRootAPI", "PhysicsCollisionAPI", "PhysicsDriveAPI", "PhysicsFilteredPairsAPI",
    "PhysicsLimitAPI", "PhysicsMassAPI", "PhysicsMaterialAPI", "PhysicsMeshCollisionAPI", "PhysicsRigidBodyAPI",
    "MaterialBindingAPI", "CollectionAPI", "GeomModelAPI", "ShapingAPI", "ShadowAPI", "LightAPI", "VisibilityAPI",
    "SkelBindingAPI", "MotionAPI", "ColorSpaceAPI", "SemanticsAPI", "SemanticsLabelsAPI", "XformCommonAPI",
}  # fmt: skip
_FOREIGN = ("physx", "newton", "mjc", "state", "mujoco", "isaac", "warp", "tensor", "kamino")
"""Namespaces of other simulators' attributes."""


class Stage:
    """A stage with its units, and what UsdPhysics finds on it."""

    def __init__(self, file: Path, folders: Sequence[str | PathLike[str]] = ()) -> None:
        if find_spec("pxr") is not None:
            prepare("usd")
        try:
            from pxr import Sdf, Tf, Usd, UsdGeom, UsdPhysics, UsdUtils
        except ImportError:
            raise MissingExtra(f"reading '{file}': usd-core is missing; pip install 'dovetail[usd]'.") from None
        self.file = file
        self.findings: list[Finding] = []
        text, said = flattened(file, folders)
        self.findings += [remark(f"USD says: {cut(each)}") for each in dict.fromkeys(said)]
        listener = UsdUtils.CoalescingDiagnosticDelegate()
        try:
            layer = Sdf.Layer.CreateAnonymous(".usda")
            layer.ImportFromString(text)
            stage = Usd.Stage.Open(layer)
            self.stage: Any = stage
            load = getattr(UsdPhysics, "UsdPhysicsLoadStageFromPrimRange", None)
            if load is None:  # before 26.11
                load = UsdPhysics.LoadUsdPhysicsFromRange
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                parsed = load(stage, ["/"])
            self.metres = self._unit("metersPerUnit", float(UsdGeom.GetStageMetersPerUnit(stage)))
            self.kilograms = self._unit("kilogramsPerUnit", float(UsdPhysics.GetStageKilogramsPerUnit(stage)))
            is_y_up = UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.y
        except Tf.ErrorException as error:
            raise SceneError(f"reading '{file}': {cut(str(error))}") from None
        finally:
            for each in listener.TakeUncoalescedDiagnostics():
                self.findings.append(remark(f"USD says: {cut(each.commentary)}"))
        self._found = {str(kind): [desc for desc in descs if desc.isValid] for kind, (_, descs) in parsed.items()}
        self.bodies = {str(desc.primPath): desc for desc in self.found("RigidBody")}
        self.upright = np.eye(4)
        if is_y_up:
            self.upright[:3, :3] = AngleAxis(np.pi / 2, [1.0, 0.0, 0.0]).matrix()
        first = stage.GetDefaultPrim()
        self.name = first.GetName() if first else file.stem
        self.paths = [str(prim.GetPath()) for prim in stage.Traverse()]

    def _unit(self, what: str, value: float) -> float:
        if not 1e-9 <= value <= 1e9:
            raise SceneError(f"reading '{self.file}': {what} = {value:g}; give a number from 1e-9 to 1e9.")
        return value

    # --- what is on it --------------------------------------------------------------------------------------

    def found(self, kind: str) -> list[Any]:
        """What UsdPhysics says of all objects of a kind."""
        return self._found.get(kind, [])

    def prim(self, path: Any) -> Any:
        return self.stage.GetPrimAtPath(str(path))

    def type_of(self, desc: Any) -> str:
        return str(self.prim(desc.primPath).GetTypeName())

    def pose(self, desc: Any) -> Array:
        """Where a body is, in the frame of the file [m]."""
        return self.placed(desc.primPath, desc.position, desc.rotation)

    def placed(self, path: Any, position: Any, quaternion: Any) -> Array:
        """A pose of a place and a quaternion [m]."""
        T = np.eye(4)
        wxyz = np.array([quaternion.GetReal(), *quaternion.GetImaginary()])
        T[:3, 3] = self.metres * np.array(position, float)
        if not np.isfinite(T).all() or not np.isfinite(wxyz).all() or not wxyz.any() or np.abs(T).max() > 1e12:
            raise self.refusal(path, f"has the place {tuple(position)} and the rotation {wxyz.tolist()}, no pose")
        T[:3, :3] = Quaternion(wxyz).matrix()
        return T

    # --- messages -------------------------------------------------------------------------------------------

    def refusal(self, path: Any, what: str) -> SceneError:
        return SceneError(f"reading '{self.file}', {path}: it {what}.")

    def warn(self, text: str, advice: str = "") -> None:
        self.findings.append(warning(text, advice))

    def number(self, path: Any, what: str, value: Any, least: float = -np.inf) -> float:
        """A number of the file, which may be infinite, no less than the least."""
        found = float(value)
        if abs(found) > 1e30:  # the largest float stands for no bound
            found = np.sign(found) * np.inf
        if np.isnan(found) or found < least:
            wanted = f"a number ≥ {least:g}" if math.isfinite(least) else "a number"
            raise self.refusal(path, f"has {what} = {found:g}; give {wanted}")
        return found

    def tell_unread(self) -> None:
        """Note types, schemas and attributes of other simulators, which nobody reads."""
        told: dict[str, list[str]] = {}
        for prim in self.stage.Traverse():
            path, kind = str(prim.GetPath()), str(prim.GetTypeName())
            if kind not in _KNOWN_TYPES and not kind.startswith(("Physics", "Render")) and not kind.endswith("Light"):
                told.setdefault(f"{kind} prims", []).append(path)
            for schema in prim.GetPrimTypeInfo().GetAppliedAPISchemas():
                if str(schema).partition(":")[0] not in _KNOWN_SCHEMAS and not str(schema).startswith("Omni"):
                    told.setdefault(str(schema), []).append(path)
            for attribute in prim.GetAuthoredPropertyNames():
                space = str(attribute).partition(":")[0]
                if ":" in str(attribute) and space.lower().startswith(_FOREIGN):
                    told.setdefault(f"{space}:… attributes", []).append(path)
        for what, paths in told.items():
            self.warn(f"{what} are not read ({named(list(dict.fromkeys(paths)))})")


def named(paths: Sequence[str]) -> str:
    """Some of the paths."""
    return listed(paths, _TOLD)


def cut(text: str) -> str:
    """What USD says, without line breaks, and no longer than can be read."""
    words = " ".join(text.split())
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]} …"
