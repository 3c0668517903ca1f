"""Spoilt files of each kind, all with valid checksums: none raises what is not ours, crashes or hangs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# Files that get through have been changed where it does not matter, or to another state that is possible.
KINDS = ("dumps", "kernels", "meshes", "recordings", "robots", "scenes", "states")
FILES = 5000 if os.environ.get("DOVETAIL_FUZZ") == "full" else 500  # `make fuzz` spoils all of them
_TIME = 0.6 * FILES  # s; they take a tenth of that, and a machine may be busy
_SLOWEST = 40.0  # s for one file: traps end after 30 s; most take milliseconds
_FOLDERS = [Path(__file__).parents[1], Path(__file__).parents[2] / "benchmarks"]


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_no_spoilt_file_raises_a_foreign_error_crashes_or_hangs(kind):
    """In a process of its own, so that a crash is seen as one."""
    script = Path(__file__).parent / f"{kind}.py"
    ran = subprocess.run(
        [sys.executable, script, str(FILES), "20250314"], capture_output=True, text=True, timeout=_TIME, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, _FOLDERS))},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-3000:]
    told = json.loads(ran.stdout)
    assert told["files"] == FILES and told["slowest"] < _SLOWEST
    assert FILES / 20 < told["taken"] < 0.95 * FILES, "a fuzzer of which all files are refused, or none, tests little"
