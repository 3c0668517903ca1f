"""Articulated affine bodies that never intersect, in Python, on any machine.

The names here are those of libuipc's `uipc` module: factories for vectors and matrices, transforms, `view`,
logging and timing, `Engine`, `World`, `Scene`, and the sub-modules `core`, `geometry`, `constitution`, `builtin`,
`unit`. Beside them stand `Sim`, the short form, and `Worlds`, many of it.

Names are loaded when they are first used, so that `import dovetail` and the `--help` of the command line take no time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dovetail import builtin, constitution, core, errors, geometry, unit
    from dovetail.core import Animation, Engine, Scene, SceneIO, World
    from dovetail.errors import DovetailError as Exception
    from dovetail.fit import identify, optimise
    from dovetail.geometry import AngleAxis, Quaternion, Transform, view
    from dovetail.logger import Logger
    from dovetail.picture import Camera
    from dovetail.resident_thread import ResidentThread
    from dovetail.sim import Part, Sim
    from dovetail.study import grid, sweep
    from dovetail.timer import Timer
    from dovetail.values import (
        I32,
        I64,
        U32,
        U64,
        Float,
        IndexT,
        Matrix2x2,
        Matrix3x3,
        Matrix4x4,
        Matrix6x6,
        Matrix9x9,
        Matrix12x12,
        SizeT,
        Vector2,
        Vector3,
        Vector4,
        Vector6,
        Vector9,
        Vector12,
    )
    from dovetail.worlds import Worlds, rollout

__all__ = [
    "I32",
    "I64",
    "U32",
    "U64",
    "AngleAxis",
    "Animation",
    "Camera",
    "Engine",
    "Exception",
    "Float",
    "IndexT",
    "Logger",
    "Matrix2x2",
    "Matrix3x3",
    "Matrix4x4",
    "Matrix6x6",
    "Matrix9x9",
    "Matrix12x12",
    "Part",
    "Quaternion",
    "ResidentThread",
    "Scene",
    "SceneIO",
    "Sim",
    "SizeT",
    "Timer",
    "Transform",
    "Vector2",
    "Vector3",
    "Vector4",
    "Vector6",
    "Vector9",
    "Vector12",
    "World",
    "Worlds",
    "__version__",
    "builtin",
    "constitution",
    "core",
    "errors",
    "geometry",
    "grid",
    "identify",
    "optimise",
    "rollout",
    "sweep",
    "unit",
    "view",
]

__version__ = "0.1.0"

_HOMES = {
    "core": ("Animation", "Engine", "Scene", "SceneIO", "World"),
    "fit": ("identify", "optimise"),
    "geometry": ("AngleAxis", "Quaternion", "Transform", "view"),
    "logger": ("Logger",),
    "picture": ("Camera",),
    "resident_thread": ("ResidentThread",),
    "sim": ("Part", "Sim"),
    "study": ("grid", "sweep"),
    "timer": ("Timer",),
    "values": (
        "I32", "I64", "U32", "U64", "Float", "IndexT", "SizeT",
        "Matrix2x2", "Matrix3x3", "Matrix4x4", "Matrix6x6", "Matrix9x9", "Matrix12x12",
        "Vector2", "Vector3", "Vector4", "Vector6", "Vector9", "Vector12",
    ),
    "worlds": ("Worlds", "rollout"),
}  # fmt: skip
"""Modules with the names that they lend; all other names of `__all__` are modules themselves."""

if not TYPE_CHECKING:  # a type checker reads the imports above, and finds misspelled names by them

    def __getattr__(name: str) -> Any:
        """Load a name of `__all__` when it is first asked for."""
        if name not in __all__:
            raise AttributeError(f"module 'dovetail' has no attribute '{name}'")
        home = next((module for module, names in _HOMES.items() if name in names), None)
        if name == "Exception":
            value = import_module("dovetail.errors").DovetailError
        elif home is not None:
            value = getattr(import_module(f"dovetail.{home}"), name)
        else:
            value = import_module(f"dovetail.{name}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
