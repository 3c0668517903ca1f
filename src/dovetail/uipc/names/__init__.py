"""The module `uipc`: factories, transforms, `view`, logging, timing, `Engine`, `World`, `Scene`, sub-modules."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from typing import Any

import dovetail
from dovetail import (
    I32,
    I64,
    U32,
    U64,
    AngleAxis,
    Exception,
    Float,
    IndexT,
    Logger,
    Matrix2x2,
    Matrix3x3,
    Matrix4x4,
    Matrix6x6,
    Matrix9x9,
    Matrix12x12,
    Quaternion,
    SizeT,
    Timer,
    Transform,
    Vector2,
    Vector3,
    Vector4,
    Vector6,
    Vector9,
    Vector12,
    unit,
    view,
)
from dovetail.uipc.names import adapter, assets, backend, builtin, constitution, core, diff_sim, geometry, usd
from dovetail.uipc.names.core import Animation, Engine, Scene, SceneIO, World
from dovetail.uipc.thread import ResidentThread

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
    "adapter",
    "assets",
    "backend",
    "build_info",
    "builtin",
    "config",
    "constitution",
    "core",
    "default_config",
    "diff_sim",
    "geometry",
    "init",
    "unit",
    "usd",
    "view",
]

__version__ = "0.0.29"
"""The version of libuipc whose Python API this is."""

_config: dict[str, Any] = {}


def default_config() -> dict[str, Any]:
    """What `init` starts from. There is no native module, so nothing in it has an effect."""
    return {"module_dir": "", "log_level": "info"}


def init(config: Mapping[str, Any] | None = None) -> None:
    """Called at import by libuipc; keeps the config for `config()`."""
    _config.update(config or {})


def config() -> dict[str, Any]:
    """The config in use."""
    return {**default_config(), **_config}


def build_info() -> dict[str, Any]:
    """The version of the API, and what provides it."""
    return {
        "version": __version__,
        "implementation": f"dovetail {dovetail.__version__}",
        "python_abi": f"cp{sys.version_info.major}{sys.version_info.minor}",
        "build_type": "release",
        "platform": platform.platform(),
        "cuda_version": "",
        "cuda_architectures": "",
    }
