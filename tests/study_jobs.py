"""What workers run in the tests of sweeps: functions of a module, as spawned processes need them."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.study import sweep


def square(case: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    if case["x"] == 3:
        raise ValueError("three is refused")
    return {"square": np.float64(case["x"]) ** 2, "draw": rng.random(), "list": np.arange(2)}


def slow(case: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    time.sleep(0.02)
    return {"y": case["x"] + 1}


def deadly(case: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Case 2 kills its worker always, case 5 once."""
    once = Path(case["folder"]) / "once"
    if case["x"] == 2 or (case["x"] == 5 and not once.exists()):
        if case["x"] == 5:
            once.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"y": case["x"]}


def endless(case: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    Path(case["pid"]).write_text(str(os.getpid()))
    time.sleep(600)
    return {}


def wrong(case: dict[str, Any], rng: np.random.Generator) -> Any:
    return {"set": {1: object()}, "name": {"kind": 1}, "none": None}[case["kind"]]


if __name__ == "__main__":
    kind, out = sys.argv[1:]
    if kind == "slow":
        sweep(slow, [{"x": x} for x in range(40)], out, processes=2, progress=False)
    else:
        sweep(endless, [{"pid": out + ".pid"}], out, processes=1, progress=False)
