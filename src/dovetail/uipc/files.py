"""Scene files as libuipc has them: what is loaded is a scene of `uipc.core`."""

from __future__ import annotations

from os import PathLike
from typing import Any

from dovetail.geometry import SimplicialComplex
from dovetail.geometry.merge import merge
from dovetail.io.scene_io import SceneIO as PlainSceneIO
from dovetail.logger import Logger
from dovetail.scene import Scene as PlainScene
from dovetail.scene.scene_factory import SceneFactory as PlainSceneFactory
from dovetail.scene.snapshot import SceneSnapshot
from dovetail.uipc.scene import Scene

__all__ = ["SceneFactory", "SceneIO"]


def _as_script_scene(loaded: PlainScene) -> Scene:
    scene = Scene()
    (SceneSnapshot(loaded) - SceneSnapshot(scene)).apply_to(scene)
    return scene


class SceneIO(PlainSceneIO):
    """Reads and writes one scene; `simplicial_surface(3)` logs an error and is empty."""

    def simplicial_surface(self, dim: int = -1) -> SimplicialComplex:
        if dim == 3:
            Logger.error("SceneIO.simplicial_surface: dim = 3; a surface has 0, 1 or 2, or -1 for all.")
            return merge([])
        return super().simplicial_surface(dim)

    @staticmethod
    def load(filename: str | PathLike[str]) -> Scene:
        return _as_script_scene(PlainSceneIO.load(filename))

    @staticmethod
    def from_json(json: dict[str, Any]) -> Scene:
        return _as_script_scene(PlainSceneIO.from_json(json))


class SceneFactory(PlainSceneFactory):
    """Scenes and commits from and to JSON."""

    def from_snapshot(self, snapshot: SceneSnapshot) -> Scene:
        return _as_script_scene(super().from_snapshot(snapshot))
