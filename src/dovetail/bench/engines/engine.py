"""What an engine must be able to do, and which ones there are."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from dataclasses import dataclass
from typing import Any, Protocol

from dovetail import __version__
from dovetail.bench.scene import BenchScene
from dovetail.typing import Array

__all__ = ["ENGINES", "Engine", "Entry", "find"]


class Engine(Protocol):
    """A scene in an engine: step it, and tell where the bodies are."""

    def __init__(self, scene: BenchScene, **settings: Any) -> None: ...

    def step(self) -> None:
        """Advance by the scene's dt."""

    def poses(self) -> Array:
        """(n, 3, 4): where points of the bodies' own frames are; not timed."""


@dataclass(frozen=True)
class Entry:
    """An engine with settings.

    name           in reports
    module         of dovetail.bench.engines
    requires       package that must be installed, and its name where it is installed from
    settings       given to the engine
    note           what the settings mean
    """

    name: str
    module: str
    requires: str
    settings: dict[str, Any]
    note: str
    distribution: str = ""

    @property
    def is_installed(self) -> bool:
        return importlib.util.find_spec(self.requires) is not None

    @property
    def version(self) -> str:
        if self.requires == "dovetail":
            return __version__
        return importlib.metadata.version(self.distribution or self.requires)

    def build(self, scene: BenchScene) -> Engine:
        found: Engine = importlib.import_module(f"dovetail.bench.engines.{self.module}").Adapter(scene, **self.settings)
        return found


_OWN = "a Sim with its defaults: exact joints, ctr, friction that remembers, d_hat 1 mm"
_SCENE = "a Scene with libuipc's: bdf1, joints of strength_ratio 100, d_hat 1 mm"
_BULLET = "multibodies, or constraints where one would have more than 128 coordinates; five steps per dt"
ENGINES = (
    Entry("dovetail", "sim", "dovetail", {}, _OWN),
    Entry("dovetail, as libuipc", "scene", "dovetail", {}, _SCENE),
    Entry("MuJoCo", "mujoco", "mujoco", {"substeps": 1}, "implicitfast, Newton, one step per dt"),
    Entry("MuJoCo ×5", "mujoco", "mujoco", {"substeps": 5}, "the same, five steps per dt"),
    Entry("PyBullet ×5", "pybullet", "pybullet", {"substeps": 5}, _BULLET),
    Entry("Drake ×10", "drake", "pydrake", {"substeps": 10}, "SAP, ten steps per dt, point contact", "drake"),
    Entry("Newton XPBD", "newton", "newton", {"substeps": 1}, "on Warp's CPU device, ten iterations"),
)


def find(name: str) -> Entry:
    return next(entry for entry in ENGINES if entry.name == name)
