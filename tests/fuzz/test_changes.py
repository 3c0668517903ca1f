"""Bodies come, go and are pushed between steps, at random: nothing crashes, and nothing intersects."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

CHANGES = 100 if os.environ.get("DOVETAIL_FUZZ") == "full" else 10  # in each of six runs
SEED = 2
_TIME = 600.0  # s; they take some ten, most of that to start and to compile


def test_scenes_that_change_at_random_neither_crash_nor_intersect():
    """In a process of its own, so that a crash is seen as one."""
    script = Path(__file__).with_name("changes.py")
    ran = subprocess.run(
        [sys.executable, script, str(CHANGES), str(SEED)], capture_output=True, text=True, timeout=_TIME, check=False
    )
    assert ran.returncode == 0, f"{ran.returncode}: {ran.stderr[-3000:]}"
    told = json.loads(ran.stdout)
    assert told["changes"] == 6 * CHANGES
    assert told["touching"] > 3 * CHANGES and told["refused"] < 3 * CHANGES, (
        "heaps of which nothing touches test little"
    )
