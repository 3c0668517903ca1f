"""Kernels that come with the package: compiled for a level of processors instead of one of them.

`packaging/wheel.py` puts them beside the sources, in `_kernels/<level>`. They are looked at before the user's cache and
never written. What does not fit, another Numba, an older processor, an edited source, is not found there, and compiled
as if nothing had been shipped.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from llvmlite import binding
from numba import config

__all__ = ["LEVELS", "shipped_level"]

_V3 = frozenset({"avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"})
_X86 = {"x86-64-v4": _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}, "x86-64-v3": _V3}
_ARM: dict[str, frozenset[str]] = {"generic": frozenset()}
LEVELS: Mapping[str, frozenset[str]] = {"x86_64": _X86, "AMD64": _X86, "aarch64": _ARM, "arm64": _ARM}.get(
    platform.machine(), {}
)
"""Levels of this kind of machine with what a processor must have, the best first; named as LLVM does."""


@cache
def shipped_level(package: Path) -> str | None:
    """The best level that is shipped and runs here; that of NUMBA_CPU_NAME, or none, where that is set."""
    root = package / "_kernels"
    if not root.is_dir():
        return None
    has = {name for name, there in binding.get_host_cpu_features().items() if there}
    fit = [level for level, wanted in LEVELS.items() if wanted <= has and (root / level).is_dir()]
    return next((level for level in fit if config.CPU_NAME in (None, level)), None)
