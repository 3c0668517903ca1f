"""Puts the modules of libuipc, and without a window those of polyscope, where `import` finds them."""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType

__all__ = ["provide"]

_MODULES = (
    "core",
    "geometry",
    "constitution",
    "builtin",
    "unit",
    "gui",
    "dev",
    "stats",
    "backend",
    "assets",
    "profile",
    "cli",
    "diff_sim",
    "usd",
    "adapter",
    "adapter.torch",
    "adapter.warp",
)
"""What can be imported as `uipc.…`, besides parts of `uipc.geometry` and `uipc.dev`."""


def provide(headless: bool) -> None:
    """Make `import uipc` mean dovetail, and headless `import polyscope` the window that is none."""
    if headless:
        os.environ.setdefault("MPLBACKEND", "Agg")  # plots need no window either
        from dovetail.uipc.standin import imgui, polyscope

        for name in ("polyscope", "polyscope_bindings"):
            _as(name, polyscope)
            for part in ("imgui", "implot", "imguizmo"):  # plots do not begin, as pop-ups do not
                _as(f"{name}.{part}", imgui)
        _as("polyscope.core", polyscope)
    _as("uipc", importlib.import_module("dovetail.uipc.names"))
    for name in _MODULES:
        _as(f"uipc.{name}", importlib.import_module(f"dovetail.uipc.names.{name}"))
    _as("uipc.geometry.affine_body", importlib.import_module("dovetail.geometry.affine_body"))
    for name in ("mesh_doctor", "uid_info"):
        _as(f"uipc.dev.{name}", sys.modules["uipc.dev"])


def _as(name: str, module: ModuleType) -> None:
    if not hasattr(module, "__path__"):
        module.__path__ = []  # importable as a package, so that `import polyscope.imgui` finds the module above
    sys.modules[name] = module
