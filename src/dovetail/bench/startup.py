"""How long an engine takes from nothing: import, first step of a hinge chain, memory; each in a fresh process.

python -m dovetail.bench.startup MuJoCo
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import dovetail
from dovetail.bench.engines import Entry, find

__all__ = ["startup", "with_path"]

_SCENE = "chain 10"


def startup(entries: Sequence[Entry], cold: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """Seconds of processor time from the start of a process, least of three, and its memory after the first step."""
    found: dict[str, Any] = {}
    packages = {entry.module: entry for entry in reversed(entries)}  # settings do not matter here: the first of each
    for entry in reversed(packages.values()):
        runs = [_child(entry.name) for _ in range(3)]
        if any(run is None for run in runs):
            say(f"{entry.name} does not start by itself; its start-up is left out")
            continue
        found[entry.name] = {key: min(run[key] for run in runs if run) for key in ("import", "first_step", "memory")}
        if cold and entry.name == "dovetail":
            say("first step with an empty kernel cache …")
            with tempfile.TemporaryDirectory() as cache:
                first = _child(entry.name, DOVETAIL_CACHE_DIR=cache)
            found[entry.name]["first_step_cold"] = None if first is None else first["first_step"]
    return found


def with_path() -> dict[str, str]:
    """The environment, with this package to be found from any folder."""
    source = str(Path(dovetail.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([source, *filter(None, [os.environ.get("PYTHONPATH")])])}


def _child(engine: str, **environment: str) -> dict[str, float] | None:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "dovetail.bench.startup", engine], env={**with_path(), **environment}, cwd=folder,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    if done.returncode != 0:
        return None
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return told


def _main(name: str) -> None:
    from dovetail.bench.scenes import build
    from dovetail.bench.worker import peak_memory

    entry = find(name)
    begin = time.process_time()
    importlib.import_module(entry.requires)
    imported = time.process_time() - begin
    entry.build(build(_SCENE, 1)).step()
    done = time.process_time()
    print(json.dumps({"import": imported, "first_step": done, "memory": peak_memory()}))


if __name__ == "__main__":
    _main(sys.argv[1])
