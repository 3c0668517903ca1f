"""Scene files: the surface for other programs, the whole scene and its changes for later."""

from __future__ import annotations

import json
import zlib
from os import PathLike
from pathlib import Path
from typing import Any

from dovetail.checked import checked, shown
from dovetail.errors import DovetailError, GeometryError, SceneError
from dovetail.files import atomic_write
from dovetail.geometry import SimplicialComplex, SimplicialComplexIO
from dovetail.io.bson import from_bson, to_bson
from dovetail.io.surface import SceneSurface
from dovetail.scene import Scene
from dovetail.scene.scene_factory import (
    commit_from_json,
    commit_to_json,
    scene_from_json,
    snapshot_to_json,
)
from dovetail.scene.snapshot import SceneSnapshot

__all__ = ["SceneIO"]

_File = str | PathLike[str]


class SceneIO:
    """Reads and writes one scene.

    Scene files are JSON (.json) or the same values in binary (.bson). Animations are functions and are not saved. A
    file is written as a whole or not at all, carries a checksum, and is read without running any code from it.
    """

    def __init__(self, scene: Scene) -> None:
        if not isinstance(scene, Scene):
            raise SceneError(f"SceneIO: expected a Scene, got {type(scene).__name__}.")
        self._scene = scene
        self._surface = SceneSurface(scene)

    # --- surface ------------------------------------------------------------------------------------------

    @checked(SceneError)
    def simplicial_surface(self, dim: int = -1) -> SimplicialComplex:
        """The surface of all meshes as one, transforms applied; half-planes have no mesh and are left out.

        dim 2 takes only triangle and tetrahedral meshes, 1 only lines, 0 only points, -1 all. Only elements
        labelled by `label_surface` are part of it.
        """
        if dim not in (-1, 0, 1, 2):
            raise SceneError(f"SceneIO.simplicial_surface: dim = {shown(dim)}; give 0, 1, 2, or -1 for all.")
        return self._surface.merged(dim)

    @checked(SceneError)
    def write_surface(self, filename: _File) -> None:
        """Write the surface as .obj."""
        path = Path(filename)
        if path.suffix.lower() != ".obj":
            raise SceneError(f"SceneIO.write_surface: '{path}': only .obj files can be written; rename it.")
        try:
            SimplicialComplexIO().write(path, self.simplicial_surface())
        except GeometryError as error:
            raise SceneError(f"SceneIO.write_surface: {error}") from error

    # --- whole scenes -------------------------------------------------------------------------------------

    @checked(SceneError)
    def save(self, filename: _File) -> None:
        """Write the whole scene to a .json or .bson file."""
        _write("save", filename, self.to_json())

    @staticmethod
    @checked(SceneError)
    def load(filename: _File) -> Scene:
        """The scene of a file written by `save`."""
        document = _read("load", filename)
        try:
            return scene_from_json(document)
        except SceneError as error:
            raise SceneError(f"SceneIO.load: '{filename}': {error}") from None

    def to_json(self) -> dict[str, Any]:
        """The whole scene as JSON values."""
        return snapshot_to_json(SceneSnapshot(self._scene))

    @staticmethod
    @checked(SceneError)
    def from_json(json: dict[str, Any]) -> Scene:
        """The scene that `to_json` wrote."""
        return scene_from_json(json)

    # --- changes ------------------------------------------------------------------------------------------

    @checked(SceneError)
    def commit(self, last: SceneSnapshot, filename: _File) -> None:
        """Write what changed since the snapshot `last` to a .json or .bson file."""
        _write("commit", filename, self.commit_to_json(last))

    @checked(SceneError)
    def commit_to_json(self, reference: SceneSnapshot) -> dict[str, Any]:
        """What changed since the snapshot `reference`, as JSON values."""
        return commit_to_json(SceneSnapshot(self._scene) - reference)

    @checked(SceneError)
    def update(self, filename: _File) -> None:
        """Apply the changes of a file written by `commit`; if they do not fit, nothing is changed."""
        document = _read("update", filename)
        try:
            self.update_from_json(document)
        except DovetailError as error:
            raise SceneError(f"SceneIO.update: '{filename}': {error}") from None

    @checked(SceneError)
    def update_from_json(self, commit_json: dict[str, Any]) -> None:
        """Apply the changes that `commit_to_json` wrote; if they do not fit, nothing is changed."""
        commit_from_json(commit_json).apply_to(self._scene)


def _write(who: str, filename: _File, document: dict[str, Any]) -> None:
    path = _path(who, filename)
    data = _text(document["__data__"])
    meta = document["__meta__"] | {"crc32": zlib.crc32(data.encode())}
    try:
        if path.suffix.lower() == ".bson":
            atomic_write(path, to_bson({"__meta__": meta, "__data__": document["__data__"]}))
        else:
            atomic_write(path, f'{{"__meta__":{_text(meta)},\n"__data__":{data}}}\n')
    except (OSError, ValueError) as error:
        raise SceneError(
            f"SceneIO.{who}: cannot write '{path}': {getattr(error, 'strerror', None) or error}."
        ) from error


def _read(who: str, filename: _File) -> dict[str, Any]:
    path = _path(who, filename)
    try:
        content = path.read_bytes()
        document: dict[str, Any] = from_bson(content) if path.suffix.lower() == ".bson" else json.loads(content)
    except OSError as error:
        raise SceneError(f"SceneIO.{who}: cannot read '{path}': {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise SceneError(f"SceneIO.{who}: '{path}' is damaged or not a scene file ({error}); save it again.") from None
    checksum = document["__meta__"].get("crc32") if _has_meta(document) else None
    if checksum is not None and checksum != zlib.crc32(_text(document.get("__data__")).encode()):
        raise SceneError(
            f"SceneIO.{who}: '{path}' was changed after it was written (its checksum differs); save it "
            'again, or delete "crc32" in it if the change is intended.'
        )
    return document


def _has_meta(document: Any) -> bool:
    return isinstance(document, dict) and isinstance(document.get("__meta__"), dict)


def _text(value: Any) -> str:
    """One text for equal values, whatever the spaces and line breaks of a file."""
    return json.dumps(value, separators=(",", ":"))


def _path(who: str, filename: _File) -> Path:
    path = Path(filename)
    if path.suffix.lower() not in (".json", ".bson"):
        raise SceneError(f"SceneIO.{who}: '{path}': scene files end in .json or .bson, use one of them.")
    return path
