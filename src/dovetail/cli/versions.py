"""`dovetail info`: what is installed, on what machine, and where the kernels lie."""

from __future__ import annotations

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

    from dovetail.kernel.kernel import cache_directory, jit_enabled
    from dovetail.kernel.machine import processors
    from dovetail.kernel.threads import threads_by_default

    table = Table(show_header=False)
    table.add_row("dovetail", __version__)
    table.add_row("Python", f"{platform.python_version()} ({sys.executable})")
    table.add_row("machine", f"{platform.system()} {platform.machine()}, {processors()} processors for this process")
    for name in _NEEDED:
        table.add_row(name, _version(name) or "missing")
    for name, extra in _OPTIONAL.items():
        table.add_row(name, _version(name) or f"not installed: pip install 'dovetail\\[{extra}]'")
    table.add_row("kernel cache", _cache(cache_directory("dovetail.kernel.kernel")))
    table.add_row("kernels", _kernels() if jit_enabled else "not compiled: NUMBA_DISABLE_JIT is set")
    table.add_row("threads", f"{threads_by_default()}: results are bit-identical for any number of them")
    Console().print(table)
    return OK


def _cache(directory: Path | None) -> str:
    from dovetail.kernel.private import UntrustedError, check_folder

    if directory is None:
        return "none: there is no home directory; set DOVETAIL_CACHE_DIR to a folder"
    root = directory.parent
    try:
        check_folder(root)
        size = sum(path.stat().st_size for path in root.rglob("*.nbc")) / 1e6
    except OSError as error:
        return f"{root} ({error.strerror or error})"
    except UntrustedError as error:
        return f"none: {error}"
    return f"{root} ({size:.1f} MB)"


def _kernels() -> str:
    """How many are compiled, and which came with the package."""
    from dovetail.kernel.manifest import entries
    from dovetail.kernel.precompile import missing
    from dovetail.kernel.shipped import shipped_level

    wanted = {task.number for task in entries()}
    ahead = wanted & {task.number for task in missing(entries())}
    level = shipped_level(Path(__file__).parents[1])
    source = "" if level is None else f"; those that came with the package are for {level}"
    later = ", the others at the first run that needs them (`dovetail warmup` does it now)" if ahead else ""
    return f"{len(wanted) - len(ahead)} of {len(wanted)} are compiled{later}{source}"


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
