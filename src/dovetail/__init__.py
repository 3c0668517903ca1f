"""Articulated affine bodies that never intersect, in Python, on any machine.

The names here are those of libuipc's `uipc` module: factories for vectors and matrices, transforms, `view`,
logging and timing, `Engine`, `World`, `Scene`, and the sub-modules `core`, `geometry`, `constitution`, `builtin`,
`unit`. Beside them stands `Sim`, the short form.
"""

from __future__ import annotations

from dovetail import builtin, constitution, core, errors, geometry, unit
from dovetail.core import Animation, Engine, Scene, SceneIO, World
from dovetail.errors import DovetailError as Exception
from dovetail.geometry import AngleAxis, Quaternion, Transform, view
from dovetail.logger import Logger
from dovetail.resident_thread import ResidentThread
from dovetail.sim import Sim
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

__all__ = [
    "I32",
    "I64",
    "U32",
    "U64",
    "AngleAxis",
    "Animation",
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
    "__version__",
    "builtin",
    "constitution",
    "core",
    "errors",
    "geometry",
    "unit",
    "view",
]

__version__ = "0.1.0"
