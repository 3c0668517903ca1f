"""What there is for kernels on this machine: processors, a folder, and other processes that compile.

Nothing here needs the compiler. Where a folder has no kernels at all, another process begins to load it before this one
does, so that both are ready at once.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from dovetail.interpreter import command, environment

__all__ = ["dismiss", "help_early", "helper", "processors", "user_cache"]

_START = "from dovetail.kernel.precompile import work; work()"
_early: list[subprocess.Popen[str]] = []


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def user_cache() -> Path | None:
    """DOVETAIL_CACHE_DIR, or the platform's folder for files that may be deleted at any time; None without a home."""
    given = os.environ.get("DOVETAIL_CACHE_DIR")
    if given:
        return Path(given)
    variable, beneath = {
        "win32": ("LOCALAPPDATA", "AppData/Local"),
        "darwin": ("", "Library/Caches"),
    }.get(sys.platform, ("XDG_CACHE_HOME", ".cache"))
    named = os.environ.get(variable) if variable else None
    try:
        return Path(named or Path.home() / beneath) / "dovetail"
    except RuntimeError:  # nobody knows the home of this user
        return None


def helper() -> subprocess.Popen[str] | None:
    """A process that compiles what it is told to, if there is one to be had."""
    if _early:
        return _early.pop()
    # what calls itself otherwise is a program with Python in it, and would start again
    if not Path(sys.executable or "").stem.lower().startswith("python"):
        return None
    try:
        return subprocess.Popen(
            command(_START),
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
        )
    except OSError:
        return None


def help_early() -> None:
    """Start a helper if there is surely something to compile: the first kernels of this user, and none were shipped."""
    root = user_cache()
    if "numba" in sys.modules or os.environ.get("NUMBA_DISABLE_JIT", "0") != "0" or processors() == 1 or root is None:
        return
    is_shipped = (Path(__file__).parents[1] / "_kernels").is_dir()
    if not is_shipped and not any(root.glob("kernels-*")) and (started := helper()) is not None:
        _early.append(started)


def dismiss() -> None:
    """End a helper that nobody has asked for."""
    while _early:
        process = _early.pop()
        process.kill()
        process.communicate()
