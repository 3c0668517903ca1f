"""How long an engine takes from nothing: import, first step of a hinge chain, memory; each in a fresh process.

python -m dovetail.bench.startup MuJoCo
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from dovetail.bench.engines import Entry, find
from dovetail.interpreter import command, environment, main_of

__all__ = ["first_start", "start"]

_SCENE = "chain 10"
_COMPILES = "compiling kernels"  # what dovetail says when it does


def start(entry: Entry, runs: int = 3) -> dict[str, Any] | None:
    """Seconds of processor time from the start of a process, least of some runs, and its memory after the first step.

    None if the engine does not start by itself.
    """
    told = [_child(entry) for _ in range(runs)]
    found = [run for run in told if run is not None]
    if len(found) < runs:
        return None
    return {key: min(run[key] for run in found) for key in ("import", "first_step", "memory")}


def first_start(entry: Entry, anew: bool) -> float | None:
    """Seconds of processor time to the first step of dovetail where no kernels are compiled yet.

    Where they are, they are compiled `anew` for this, into a folder that is thrown away, or None is returned.
    """
    told = _child(entry)
    if told is not None and not told["compiles"] and anew:
        with tempfile.TemporaryDirectory() as cache:
            told = _child(entry, DOVETAIL_CACHE_DIR=cache)
    return told["first_step"] if told is not None and told["compiles"] else None


_IMPORT = "import time; begin = time.process_time(); import {}; print(time.process_time() - begin)"


def _child(entry: Entry, **settings: str) -> dict[str, Any] | None:
    """What a fresh process tells of an engine; the import in one that has loaded nothing else."""
    told = []
    own = command(main_of("dovetail.bench.startup"), entry.name)
    for line in (command(_IMPORT.format(entry.requires)), own):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                line, env=environment(**settings), cwd=folder, capture_output=True, text=True, check=False
            )
        if done.returncode != 0:
            return None
        told.append(json.loads(done.stdout.splitlines()[-1]))
    return {"import": told[0], "compiles": _COMPILES in done.stderr, **told[1]}


def _main(name: str) -> None:
    from dovetail.bench.scenes import build
    from dovetail.bench.worker import peak_memory

    find(name).build(build(_SCENE, 1)).step()
    told = os.times()
    seconds = told.user + told.system + told.children_user + told.children_system  # with processes that compile
    print(json.dumps({"first_step": seconds, "memory": peak_memory()}))


if __name__ == "__main__":
    _main(sys.argv[1])
