"""`dovetail info`: what is installed, on what machine, and where the kernels lie."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from pathlib import Path

from dovetail import __version__
from dovetail.cli.exit_codes import OK

__all__ = ["print_versions"]

_NEEDED = ("numpy", "scipy", "numba", "llvmlite", "trimesh", "meshio", "rich", "tyro")
_OPTIONAL = {
    "viser": "viewer",
    "polyscope": "render",
    "imageio": "render",
    "pygltflib": "export",
    "usd-core": "usd",
}


def print_versions() -> int:
    """A table on stdout."""
    from rich.console import Console
    from rich.table import Table

    from dovetail.solver.kernel import cache_directory, cold, jit_enabled

    table = Table(show_header=False)
    table.add_row("dovetail", __version__)
    table.add_row("Python", f"{platform.python_version()} ({sys.executable})")
    table.add_row("machine", f"{platform.system()} {platform.machine()}, {_processors()} processors for this process")
    for name in _NEEDED:
        table.add_row(name, _version(name) or "missing")
    for name, extra in _OPTIONAL.items():
        table.add_row(name, _version(name) or f"not installed: pip install 'dovetail\\[{extra}]'")
    table.add_row("kernel cache", _cache(cache_directory("dovetail.solver.kernel")))
    state = "to be compiled at the first run (`dovetail warmup` does it now)" if cold() else "compiled"
    table.add_row("kernels", state if jit_enabled else "not compiled: NUMBA_DISABLE_JIT is set")
    table.add_row("threads", "1: results are bit-identical from run to run")
    Console().print(table)
    return OK


def _cache(directory: Path | None) -> str:
    if directory is None:
        return "none: there is no home directory; set DOVETAIL_CACHE_DIR to a folder"
    root = directory.parent
    try:
        size = sum(path.stat().st_size for path in root.rglob("*.nbc")) / 1e6
    except OSError as error:
        return f"{root} ({error.strerror or error})"
    return f"{root} ({size:.1f} MB)"


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
