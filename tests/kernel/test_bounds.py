"""With DOVETAIL_BOUNDS=1 a kernel that leaves an array is an error that names it, however it is called."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dovetail.kernel.kernel import jit_enabled

pytestmark = pytest.mark.skipif(not jit_enabled, reason="nothing is compiled")

EXPECTED = {
    "last entry": None,
    "beyond": ("put", "index out of bounds of 'A' along axis 0"),
    "below": ("put", "index out of bounds of 'A' along axis 0"),
    "inner": ("put", "index out of bounds of 'A' along axis 0"),
    "record": ("put_entry", "index out of bounds of an array along axis 1"),
    "row": ("row", "index out of bounds of 'A' along axis 0"),
    "slices": ("slices", "index out of bounds of an array along axis 0"),
    "natural": ("promise", "natural(k) of k < 0"),
    "by address": ("put", "index out of bounds of 'A' along axis 0"),
    "no call": ("by_address", "index out of bounds of a program"),
    "lanes": ("in_lanes", "code in registers leaves an array"),
    "blocks": ("blocks", "code in registers leaves an array"),
    "words": ("say", "index out of bounds of shared words"),
    "chunks": ("chunk", "index out of bounds of 'A' along axis 0"),
    "phases": ("chunk", "index out of bounds of 'A' along axis 0"),
}


def run(*arguments: str, bounds: str) -> str:
    environment = {**os.environ, "DOVETAIL_BOUNDS": bounds}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, timeout=300, check=True
    ).stdout


def test_a_kernel_that_leaves_an_array_is_an_error_that_names_it():
    told = run(str(Path(__file__).with_name("out_of_bounds.py")), bounds="1")
    found = dict(line.split(": ", 1) for line in told.splitlines())
    assert list(found) == list(EXPECTED)
    for name, wanted in EXPECTED.items():
        if wanted is None:
            assert found[name] == "fine"
        else:
            kernel, what = wanted
            assert found[name].startswith(f"kernel __main__.{kernel}, line "), name
            assert found[name].endswith(f": {what}"), name


def test_kernels_that_check_bounds_lie_apart():
    code = "from dovetail.kernel.kernel import cache_directory; print(cache_directory('dovetail.solver.blocks'))"
    folders = [run("-c", code, bounds=bounds) for bounds in ("", "0", "1")]
    assert folders[0] == folders[1] != folders[2]
