"""Random scenes of ordinary sizes in motion: nothing intersects, explodes or raises, and steps stay short."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FULL = os.environ.get("DOVETAIL_FUZZ") == "full"
SCENES = 5000 if FULL else 21  # 200,000 steps; three rounds of the seven kinds
SEED = 4
_TIME = 6.0 * SCENES + 300.0  # s; they take a fifth of that, and a minute to compile
_LONG = 0.001 if FULL else 0.005  # share of steps that may take more than a hundred iterations; of 900 it may be three


@pytest.mark.long
def test_random_scenes_in_motion_neither_intersect_nor_explode():
    """In a process of its own, so that a crash is seen as one."""
    script = Path(__file__).with_name("motions.py")
    ran = subprocess.run(
        [sys.executable, script, str(SCENES), str(SEED)], capture_output=True, text=True, timeout=_TIME, check=False
    )
    assert ran.returncode == 0, f"{ran.returncode}: {ran.stderr[-3000:]}"
    told = json.loads(ran.stdout)
    assert told["failures"] == {}
    assert told["steps"] > 30 * SCENES
    assert told.get("many", 0) <= _LONG * told["steps"], told["slow"]
