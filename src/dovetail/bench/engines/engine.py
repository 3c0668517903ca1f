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
    needs          what a scene must have for this entry to differ from others: "", "joints", "joints alone"
    """

    name: str
    module: str
    requires: str
    settings: dict[str, Any]
    note: str
    needs: str = ""
    distribution: str = ""

    @property
    def is_installed(self) -> bool:
        return importlib.util.find_spec(self.requires) is not None

    @property
    def version(self) -> str:
        if self.requires == "dovetail":
            return __version__
        return importlib.metadata.version(self.distribution or self.requires)

    def suits(self, scene: BenchScene) -> bool:
        """Whether the entry says something about a scene that no other does."""
        return not self.needs or (scene.joints is not None and not (self.needs == "joints alone" and scene.contact))

    def build(self, scene: BenchScene) -> Engine:
        found: Engine = importlib.import_module(f"dovetail.bench.engines.{self.module}").Adapter(scene, **self.settings)
        return found


_PENALTY = "bdf1, joints of strength_ratio 100, as is the default; trees are solved by sweeps, contact by blocks"
_BULLET = "multibodies, or constraints where one would have more than 128 coordinates; five steps per dt"
_EXACT = {"strength_ratio": float("inf")}
ENGINES = (
    Entry("dovetail", "own", "dovetail", {}, _PENALTY),
    Entry("dovetail, exact joints", "own", "dovetail", _EXACT, "strength_ratio inf", "joints"),
    Entry(
        "dovetail, exact, ctr",
        "own",
        "dovetail",
        {**_EXACT, "integrator": "ctr"},
        "the same, consistent trapezoidal rule",
        "joints alone",
    ),
    Entry("MuJoCo", "mujoco", "mujoco", {"substeps": 1}, "implicitfast, Newton, one step per dt"),
    Entry("MuJoCo ×5", "mujoco", "mujoco", {"substeps": 5}, "the same, five steps per dt"),
    Entry("PyBullet ×5", "pybullet", "pybullet", {"substeps": 5}, _BULLET),
    Entry("Drake ×10", "drake", "pydrake", {"substeps": 10}, "SAP, ten steps per dt, point contact", "", "drake"),
    Entry("Newton XPBD", "newton", "newton", {"substeps": 1}, "on Warp's CPU device, ten iterations"),
)


def find(name: str) -> Entry:
    return next(entry for entry in ENGINES if entry.name == name)
