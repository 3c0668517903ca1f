"""Two thousand spoilt files of each kind, all with valid checksums: none raises what is not ours, crashes or hangs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

# Files that get through have been changed where it does not matter, or to another state that is possible.
EXPECTED = {"recordings": 100, "scenes": 100, "states": 100}
_TIME = 300.0  # s; they take some ten, and a machine may be busy
_SLOWEST = 10.0  # s for one file, for the same reason; most take milliseconds


@pytest.mark.parametrize("kind", sorted(EXPECTED))
def test_no_spoilt_file_of_two_thousand_raises_a_foreign_error_crashes_or_hangs(kind):
    """In a process of its own, so that a crash is seen as one."""
    script = Path(__file__).parent / f"{kind}.py"
    ran = subprocess.run(
        [sys.executable, script, "2000", "20250314"], capture_output=True, text=True, timeout=_TIME, check=False
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    told = json.loads(ran.stdout)
    assert told["files"] == 2000 and told["slowest"] < _SLOWEST
    assert EXPECTED[kind] < told["taken"] < 1900, "a fuzzer of which all files are refused, or none, tests little"
