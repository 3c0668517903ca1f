"""Kernels that come with the package."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from llvmlite import binding
from numba import config

import dovetail
from dovetail.kernel import shipped
from dovetail.kernel.files import unsealed
from dovetail.kernel.kernel import jit_enabled

pytestmark = pytest.mark.skipif(not jit_enabled, reason="nothing is compiled")
NEW = dict.fromkeys(shipped._X86["x86-64-v4"], True)


@pytest.mark.parametrize(
    ("has", "there", "chosen", "level"),
    [
        (NEW, ("x86-64-v3", "x86-64-v4"), None, "x86-64-v4"),
        (NEW, ("x86-64-v3",), None, "x86-64-v3"),
        ({**NEW, "avx512bw": False}, ("x86-64-v3", "x86-64-v4"), None, "x86-64-v3"),
        ({**NEW, "avx2": False}, ("x86-64-v3", "x86-64-v4"), None, None),
        (NEW, (), None, None),
        (NEW, ("x86-64-v3", "x86-64-v4"), "x86-64-v3", "x86-64-v3"),
        (NEW, ("x86-64-v3", "x86-64-v4"), "znver4", None),
    ],
)
def test_the_best_level_that_runs_here_is_taken(monkeypatch, tmp_path, has, there, chosen, level):
    for name in there:
        (tmp_path / "_kernels" / name).mkdir(parents=True)
    monkeypatch.setattr(shipped, "LEVELS", shipped._X86)
    monkeypatch.setattr(binding, "get_host_cpu_features", lambda: has)
    monkeypatch.setattr(config, "CPU_NAME", chosen)
    assert shipped.shipped_level.__wrapped__(tmp_path) == level


SCRIPT = """
import sys
from pathlib import Path
from numba import types
from dovetail.kernel.kernel import _Kernel, _OPTIONS
from dovetail.kernel.files import KernelFiles

def twice(x):
    return 2.0 * x

def compiled(shipped):
    made = _Kernel(twice, {**_OPTIONS, "nopython": True})
    made._cache = KernelFiles(twice, Path(sys.argv[2]), shipped=shipped)
    assert made(4.0) == 8.0
    return sum(made.stats.cache_misses.values())

print(compiled((Path(sys.argv[1]), "x86-64-v3") if len(sys.argv) > 3 else None))
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the levels are of x86")
def test_what_was_compiled_for_a_level_serves_a_process_for_this_very_processor(tmp_path):
    """Damaged, it is compiled as if nothing had been shipped; nothing is ever written there."""

    def run(*arguments: str, **environment: str) -> tuple[str, str]:
        paths = {"PYTHONPATH": str(Path(dovetail.__file__).parents[1])}
        found = subprocess.run(
            [sys.executable, "-c", SCRIPT, *arguments],
            env={**os.environ, **paths, **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        return found.stdout.strip(), found.stderr

    def files(folder: Path) -> list[Any]:
        return [(path, path.read_bytes()) for path in folder.glob("*")]

    level, own = tmp_path / "level", tmp_path / "own"
    assert run("", str(level), NUMBA_CPU_NAME="x86-64-v3", NUMBA_CPU_FEATURES="")[0] == "1"
    (path, content), *more = files(level)
    assert not more
    content = unsealed(content)
    path.write_bytes(content)
    assert run(str(level), str(own), "with") == ("0", "") and not own.exists()
    path.write_bytes(content[:-1] + b"?")
    misses, told = run(str(level), str(own), "with")
    assert misses == "1" and "is damaged" in told and len(files(own)) == 1
    assert files(level) == [(path, content[:-1] + b"?")]
