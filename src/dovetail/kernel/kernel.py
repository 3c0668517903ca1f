"""How kernels are compiled: one decorator, and a disk cache that can never be stale.

Numba keys its cache by the file that defines a function, so an edit in a called function of another file
would go unnoticed. Here every module has a cache directory of its own, named by a digest of its source, of all
modules of the package that it imports, directly or not, and of the versions that generate code. An edit gives new,
empty directories to the modules that can see it, and leaves the others alone. What lies in them is the matter of
`files.py`.

`fastmath` keeps NaN and Inf meaningful (no `nnan`, no `ninf`): a pivot check `not pivot > 0` must see a NaN.

Kernels called by kernels are always inlined. A call left in the machine code is bound to whichever copy of the callee
was loaded first, and copies differ in the last digit: results would depend on which kernels ran before, and on
whether they came from the cache. (Inlined they are also a fifth faster.)
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite
import numba
from numba import config, types

from dovetail.kernel.bounds import CHECKED
from dovetail.kernel.files import KernelFiles
from dovetail.kernel.inner import Inner
from dovetail.kernel.lean import lean
from dovetail.kernel.library import rebuild_inner
from dovetail.kernel.machine import user_cache
from dovetail.kernel.numba_private import CFunc, CPUDispatcher
from dovetail.kernel.shipped import shipped_level
from dovetail.kernel.stages import Pipeline

__all__ = [
    "FASTMATH", "cache_directory", "cached_callback", "callback", "is_awaited", "jit_enabled", "kernel", "mapped",
    "plain_kernel", "spared",
]  # fmt: skip

FASTMATH = {"contract", "nsz", "arcp", "reassoc"}
_OPTIONS: dict[str, Any] = {"fastmath": FASTMATH, "error_model": "numpy", "boundscheck": CHECKED}
_PACKAGE = Path(__file__).parents[1]
_IMPORT = re.compile(r"^\s*(?:from|import)\s+dovetail\.?([\w.]*)(?:\s+import\s+(\w+))?", re.MULTILINE)

jit_enabled = not config.DISABLE_JIT
_Function = TypeVar("_Function", bound=Callable[..., Any])


@cache
def _file(package: Path, name: str) -> Path | None:
    """The source of a module, named without the leading `dovetail.`."""
    for path in (
        package.joinpath(*name.split(".")).with_suffix(".py"),
        package.joinpath(*name.split("."), "__init__.py"),
    ):
        if name and path.is_file():
            return path
    return None


@cache
def _imports(package: Path, name: str) -> tuple[str, ...]:
    """Modules of the package that a module imports, anywhere in its text."""
    path = _file(package, name)
    found = _IMPORT.findall(path.read_text(encoding="utf-8")) if path else []
    names = {module for module, _ in found} | {f"{module}.{item}" for module, item in found}
    return tuple(sorted(name for name in names if _file(package, name)))


@cache
def _source(package: Path, name: str) -> bytes:
    """A digest of a module's own text; of another's module that of its file, if there is one."""
    path = _file(package, name)
    if path is None and (given := getattr(sys.modules.get(name), "__file__", None)) is not None:
        path = Path(given)
    text = b""
    if path is not None:
        with contextlib.suppress(OSError):  # a module that was loaded by who may read it, or out of an archive
            text = path.read_bytes()
    return hashlib.sha256(text).digest()


def _digest(package: Path, name: str) -> str:
    """Twelve hex digits that change whenever the code generated for a module may."""
    seen = {name}
    if _file(package, name) is None:
        # another's module, which may call anything of the solver
        seen |= {f"{room}.{path.stem}" for room in ("kernel", "solver") for path in (package / room).glob("*.py")}
    ahead = sorted(seen)
    while ahead:
        new = set(_imports(package, ahead.pop())) - seen
        seen |= new
        ahead += sorted(new)
    sources = hashlib.sha256()
    for module in sorted(seen):
        sources.update(module.encode())
        sources.update(_source(package, module))
    versions = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__, platform.machine())
    sources.update(repr(versions).encode())
    if CHECKED:
        sources.update(b"bounds")
    return sources.hexdigest()[:12]


@cache
def _folder(module: str) -> str:
    return f"kernels-{_digest(_PACKAGE, module.removeprefix('dovetail.'))}"


@cache
def cache_directory(module: str) -> Path | None:
    """Where the kernels of a module lie, if anywhere; using it keeps it from being forgotten."""
    root = user_cache()
    if root is None:
        return None
    directory = root / _folder(module)
    with contextlib.suppress(OSError):
        os.utime(directory)
    return directory


def _files(function: Callable[..., Any], **rebuild: Callable[..., Any]) -> KernelFiles:
    level, module = shipped_level(_PACKAGE), function.__module__
    shipped = None if level is None else (_PACKAGE / "_kernels" / level / _folder(module), level)
    return KernelFiles(function, cache_directory(module), shipped, **rebuild)


class _Kernel(CPUDispatcher):  # type: ignore[misc]
    """Compiled for Python by itself, and for other kernels by `inner`."""

    can_wait = False
    awaited: Callable[[], bool] | None = None
    """Whether another process is compiling it, while this one does without."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, targetoptions=options, pipeline_class=Pipeline)
        self._cache = _files(function)
        self.inner = Inner(function, options, _files(function, rebuild=rebuild_inner))

    def compile(self, signature: Any) -> Any:
        with lean():
            return super().compile(signature)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return self.inner.get_call_template(args, kws)

    def get_overload(self, args: Any) -> Any:
        return self.inner.get_overload(args)


def kernel(function: _Function, **options: Any) -> _Function:
    """Compile a function on first use, cached on disk. With NUMBA_DISABLE_JIT=1 it stays plain Python."""
    if not jit_enabled:
        return function
    fixed = {"nopython": True, "forceinline": True, "no_cfunc_wrapper": True}
    made: Any = _Kernel(function, {**_OPTIONS, **fixed, **options})
    return cast(_Function, made)


def mapped(function: _Function) -> _Function:
    """A kernel that runs beside others (threads.py): it does not hold Python's lock."""
    return kernel(function, nogil=True)


def plain_kernel(function: _Function) -> _Function:
    """A kernel that rounds every operation as it is written, as NumPy does."""
    return kernel(function, fastmath=False)


def spared(function: _Function) -> _Function:
    """A kernel that callers can do without for a while (`is_awaited`): no first step waits for it."""
    made = kernel(function)
    if jit_enabled:
        made.can_wait = True  # type: ignore[attr-defined]
    return made


def is_awaited(function: Callable[..., Any]) -> bool:
    """Whether another process is compiling a kernel, so that it is better not to ask for it now."""
    asked = getattr(function, "awaited", None)
    return asked is not None and asked()


_POINTER = types.CPointer(types.float64)


class _Callback(CFunc):
    """A C function."""

    def compile(self) -> None:
        with lean():
            super().compile()


def callback(function: Callable[..., Any], pointers: tuple[bool, ...]) -> Any:
    """A C function returning a double, not compiled yet; argument k is a double pointer or a double."""
    arguments = tuple(_POINTER if pointer else types.float64 for pointer in pointers)
    made: Any = _Callback(function, (arguments, types.float64), {}, _OPTIONS, pipeline_class=Pipeline)
    made._cache = _files(function)
    return made


def cached_callback(function: Callable[..., Any], pointers: tuple[bool, ...]) -> Any:
    """The same, compiled or from disk.

    Its `.address` can be stored in an array and called from any kernel, so the shared loops never need to be
    compiled again for a new term.
    """
    made = callback(function, pointers)
    made.compile()
    return made
