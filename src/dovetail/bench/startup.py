"""How long an engine takes from nothing: import, first step of a hinge chain, memory; each in a fresh process.

python -m dovetail.bench.startup MuJoCo
"""

from __future__ import annotations

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
        runs = [_child(entry) for _ in range(3)]
        if any(run is None for run in runs):
            say(f"{entry.name} does not start by itself; its start-up is left out")
            continue
        found[entry.name] = {key: min(run[key] for run in runs if run) for key in ("import", "first_step", "memory")}
        if cold and entry.name == "dovetail":
            say("first step with an empty kernel cache …")
            with tempfile.TemporaryDirectory() as cache:
                first = _child(entry, DOVETAIL_CACHE_DIR=cache)
            found[entry.name]["first_step_cold"] = None if first is None else first["first_step"]
    return found


def with_path() -> dict[str, str]:
    """The environment, with this package to be found from any folder."""
    source = str(Path(dovetail.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([source, *filter(None, [os.environ.get("PYTHONPATH")])])}


_IMPORT = "import time; begin = time.process_time(); import {}; print(time.process_time() - begin)"


def _child(entry: Entry, **environment: str) -> dict[str, float] | None:
    """What a fresh process tells of an engine; the import in one that has loaded nothing else."""
    environment = {**with_path(), **environment}
    told = []
    for code in (["-c", _IMPORT.format(entry.requires)], ["-m", "dovetail.bench.startup", entry.name]):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, *code], env=environment, cwd=folder, capture_output=True, text=True, check=False
            )
        if done.returncode != 0:
            return None
        told.append(json.loads(done.stdout.splitlines()[-1]))
    return {"import": told[0], **told[1]}


def _main(name: str) -> None:
    from dovetail.bench.scenes import build
    from dovetail.bench.worker import peak_memory

    find(name).build(build(_SCENE, 1)).step()
    print(json.dumps({"first_step": time.process_time(), "memory": peak_memory()}))


if __name__ == "__main__":
    _main(sys.argv[1])
