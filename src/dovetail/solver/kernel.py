"""How kernels are compiled: one decorator, and a disk cache that can never be stale.

Numba keys its cache by the file that defines a function, so an edit in a called function of another file
would go unnoticed. Here the cache directory is named by a digest of every source file of the solver and of the
versions that generate code; any edit gives a new, empty directory.

`fastmath` keeps NaN and Inf meaningful (no `nnan`, no `ninf`): a pivot check `not pivot > 0` must see a NaN.

Kernels called by kernels are always inlined. A call left in the machine code is bound to whichever copy of the callee
was loaded first, and copies differ in the last digit: results would depend on which kernels ran before, and on
whether they came from the cache. (Inlined they are also a fifth faster.)
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import llvmlite
import numba
from numba import cfunc, config, njit, types

__all__ = ["FASTMATH", "cache_directory", "cached_callback", "cold", "jit_enabled", "kernel"]

FASTMATH = {"contract", "nsz", "arcp", "reassoc"}
_KEPT_DIGESTS = 3

jit_enabled = not config.DISABLE_JIT
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _digest() -> str:
    """Twelve hex digits that change whenever generated code may."""
    sources = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        sources.update(path.name.encode())
        sources.update(path.read_bytes())
    versions = (sys.version, numba.__version__, llvmlite.__version__, platform.machine())
    sources.update(repr(versions).encode())
    return sources.hexdigest()[:12]


def _user_cache() -> Path:
    """DOVETAIL_CACHE_DIR, or the platform's folder for files that may be deleted at any time."""
    given = os.environ.get("DOVETAIL_CACHE_DIR")
    if given:
        return Path(given)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData/Local")) / "dovetail"
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches/dovetail"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "dovetail"


cache_directory = _user_cache() / f"kernels-{_digest()}"


def cold() -> bool:
    """True while no compiled kernel of this version lies on disk."""
    return not cache_directory.is_dir() or not any(cache_directory.rglob("*.nbc"))


def _forget_old_versions() -> None:
    """Keep the newest few cache directories; the others belong to sources that no longer exist."""
    if cache_directory.is_dir():
        return
    siblings = sorted(cache_directory.parent.glob("kernels-*"), key=lambda path: path.stat().st_mtime)
    for path in siblings[: 1 - _KEPT_DIGESTS]:
        shutil.rmtree(path, ignore_errors=True)


_forget_old_versions()


def _with_cache(decorate: Callable[[], Any]) -> Any:
    """Decorate while Numba's global cache directory points here; the user's own functions keep theirs."""
    before = config.CACHE_DIR
    config.CACHE_DIR = str(cache_directory)
    try:
        return decorate()
    finally:
        config.CACHE_DIR = before


def kernel(function: _Function) -> _Function:
    """Compile a function on first use, cached on disk. With NUMBA_DISABLE_JIT=1 it stays plain Python."""
    compiled: _Function = _with_cache(
        lambda: njit(cache=True, fastmath=FASTMATH, error_model="numpy", forceinline=True)(function)
    )
    return compiled


_POINTER = types.CPointer(types.float64)


def cached_callback(function: Callable[..., Any], pointers: tuple[bool, ...]) -> Any:
    """Compile to a C function returning a double; argument k is a double pointer or a double.

    Its `.address` can be stored in an array and called from any kernel, so the shared loops never need to be
    compiled again for a new term.
    """
    signature = types.float64(*(_POINTER if pointer else types.float64 for pointer in pointers))
    return _with_cache(lambda: cfunc(signature, cache=True, fastmath=FASTMATH, error_model="numpy")(function))
