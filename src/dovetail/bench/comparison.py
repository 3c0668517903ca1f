"""The comparison from beginning to end: which scenes, how many steps, and what is kept of the outcome."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.bench.engines import ENGINES
from dovetail.bench.interleave import Limits, Outcome, compare
from dovetail.bench.quoted import LIBUIPC
from dovetail.bench.scenes import build
from dovetail.bench.warmup import warm_up
from dovetail.files import atomic_write
from dovetail.typing import Array

__all__ = ["SIZES", "machine", "run", "write_json"]

SIZES: dict[str, dict[str, int]] = {
    "full": {
        "chain 10": 100, "chain 100": 100, "chain 1000": 60, "chain 10000": 20, "net 100": 60, "net 900": 40,
        "pile 3³": 100, "pile 5³": 100, "pile 10³": 60, "wrecking ball": 200,
    },
    "quick": {
        "chain 10": 60, "chain 100": 60, "chain 1000": 10, "net 100": 20, "pile 3³": 60, "pile 5³": 40,
        "wrecking ball": 100,
    },
}  # fmt: skip
"""Steps of every scene."""

_LIMITS = {"full": Limits(build=45.0, steps=30.0), "quick": Limits(build=30.0, steps=3.0)}
_RUNS = {"full": 3, "quick": 2}  # of start-ups
_BASE = "dovetail"  # what ratios are taken to


def run(
    mode: str = "full",
    scenes: Sequence[str] = (),
    engines: Sequence[str] = (),
    say: Callable[[str], None] = print,
    keep: Callable[[dict[str, Any]], None] = lambda found: None,
) -> dict[str, Any]:
    """Measure; of all scenes and engines, or of those whose names contain one of the given ones.

    `keep` is given what there is after every scene, so that little is lost where a run is ended.
    """
    chosen = {name: frames for name, frames in SIZES[mode].items() if not scenes or any(s in name for s in scenes)}
    entries = [entry for entry in ENGINES if not engines or any(e.lower() in entry.name.lower() for e in engines)]
    for entry in entries:
        if not entry.is_installed:
            say(f"{entry.name} is left out: {entry.requires} is not installed")
    absent = sorted({entry.requires for entry in entries if not entry.is_installed})
    entries = [entry for entry in entries if entry.is_installed]
    say("compiling kernels, measuring start-ups …")
    begin = time.monotonic()
    started = warm_up(entries, mode == "full", _RUNS[mode], say)
    say(f"    done within {time.monotonic() - begin:.0f} s")
    found: dict[str, Any] = {
        "mode": mode,
        "partial": bool(scenes or engines),
        "machine": machine(),
        "engines": {entry.name: {"version": entry.version, "settings": entry.note} for entry in entries},
        "absent": absent,
        "startup": started,
        "scenes": [],
        "scaling": {},
    }
    for name, frames in chosen.items():
        say(f"{name}: {frames} steps in {len(entries)} engines …")
        outcomes = compare(name, frames, entries, _LIMITS[mode], say)
        found["scenes"].append(_scene(name, frames, outcomes))
        for row in found["scenes"][-1]["results"]:
            say(f"    {row['engine']:24s} {_line(row)}")
        found["scaling"] = _exponents(found["scenes"])
        keep(found)
    return found


def _line(row: dict[str, Any]) -> str:
    if row["median"] is None:
        return str(row["failed"])
    ratio = "" if row["ratio"] is None else f"{row['ratio']:8.3g} × dovetail"
    return f"{row['median']:10.3f} ms a step, {ratio}  {row['failed']}"


def _scene(name: str, frames: int, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    scene = build(name, frames)
    base = next((o.times for o in outcomes if o.engine == _BASE), [])
    return {
        "name": name,
        "bodies": scene.count,
        "joints": 0 if scene.joints is None else len(scene.joints.left),
        "frames": frames,
        "dt": scene.dt,
        "libuipc_H200": LIBUIPC.get(name),
        "results": [_row(outcome, base, scene.dt) for outcome in outcomes],
    }


def _row(outcome: Outcome, base: Sequence[float], dt: float) -> dict[str, Any]:
    times = np.array(
        outcome.times[1:] or outcome.times
    )  # the first prepares for others; where it is all there is, it counts
    row: dict[str, Any] = {"engine": outcome.engine, "failed": outcome.failed, "build": outcome.built}
    if len(times) == 0:
        return {**row, "steps": 0, "median": None, "p95": None, "real_time": None, "ratio": None}
    common = min(len(outcome.times), len(base))
    ratio: float | None = None
    if common > 1:
        ratio = float(np.mean(outcome.times[1:common]) / np.mean(base[1:common]))
    elif len(base) > 1:
        ratio = float(times[0] / np.median(base[1:]))
    return {
        **row,
        "steps": len(outcome.times),
        "median": 1e3 * float(np.median(times)),
        "p95": 1e3 * float(np.percentile(times, 95)),
        "mean": 1e3 * float(times.mean()),
        "real_time": dt / float(times.mean()),
        # over the steps that both have done: later ones may have more contacts
        "ratio": ratio,
        **outcome.measured,
    }


def _exponents(scenes: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """b of time ~ bodies^b for every engine and kind of scene that has two sizes or more, by least squares of logs."""
    found: dict[str, dict[str, float]] = {}
    for kind in ("chain", "net", "pile"):
        sizes: dict[str, list[tuple[float, float]]] = {}
        for scene in scenes:
            for row in scene["results"]:
                if scene["name"].startswith(kind) and row["median"]:
                    sizes.setdefault(row["engine"], []).append((scene["bodies"], row["median"]))
        found[kind] = {engine: _slope(np.log(np.array(points))) for engine, points in sizes.items() if len(points) > 1}
    return found


def _slope(points: Array) -> float:
    return float(np.polyfit(points[:, 0], points[:, 1], 1)[0])


def machine() -> dict[str, Any]:
    """The processor and how busy it was at the beginning."""
    model = platform.processor() or platform.machine()
    told = Path("/proc/cpuinfo")
    if told.exists():
        lines = told.read_text(encoding="utf-8").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "load": load,
    }


def write_json(found: dict[str, Any], path: Path) -> None:
    """Write what was found, whole or not at all."""
    atomic_write(path, json.dumps(found, indent=1, ensure_ascii=False) + "\n")
