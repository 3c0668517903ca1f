"""Before anything is timed: kernels that are compiled on first use are compiled, and start-ups are measured meanwhile.

Several processes at a time, for compilers use one core each. What is measured here is processor time.

python -m dovetail.bench.warmup "dovetail, joints"
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

from dovetail.bench.engines import ENGINES, Entry
from dovetail.bench.scenes import build
from dovetail.bench.startup import first_start, start
from dovetail.interpreter import command, environment, main_of

__all__ = ["warm_up"]

_AT_A_TIME = 3  # processes
_KERNELS: dict[str, tuple[str, tuple[tuple[str, int], ...]]] = {
    "dovetail": ("sim", (("chain 10", 3), ("chain 100", 3), ("net 100", 3), ("pile 2³", 40), ("wrecking ball", 2))),
    "dovetail, as libuipc": ("scene", (("chain 10", 3), ("net 100", 3), ("pile 2³", 40), ("wrecking ball", 2))),
    "Newton": ("newton", (("chain 3", 3), ("net 9", 3), ("pile 2³", 3))),
}
"""Module of an engine, and scenes with their steps that need all of its kernels."""
_OURS = ("sim", "scene")


def warm_up(entries: Sequence[Entry], anew: bool, runs: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Compile what is compiled; start-ups by engine, the least of some runs.

    The first start of dovetail is told too where its kernels have not been compiled before, or are to be `anew`.
    """
    first = {entry.module: entry for entry in reversed(entries)}  # settings do not matter here: the first of each
    kernels = [what for what, (module, _) in _KERNELS.items() if module in first]
    compiling = {module for module, _ in _KERNELS.values()}
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        # the first start comes before all else that compiles the same kernels
        cold = pool.submit(first_start, first["sim"], anew) if "sim" in first else None
        early = [pool.submit(_compile, what) for what in kernels if _KERNELS[what][0] not in _OURS]
        found = {entry.name: pool.submit(start, entry, runs) for m, entry in first.items() if m not in compiling}
        told = None if cold is None else cold.result()
        early += [pool.submit(_compile, what) for what in kernels if _KERNELS[what][0] in _OURS]
        wait(early)
        found |= {entry.name: pool.submit(start, entry, runs) for m, entry in first.items() if m in compiling}
    started: dict[str, Any] = {}
    for name, measured in found.items():
        if (seconds := measured.result()) is None:
            say(f"{name} does not start by itself; its start-up is left out")
        else:
            started[name] = seconds
    if told is not None and first["sim"].name in started:
        started[first["sim"].name]["first_step_cold"] = told
    return {entry.name: started[entry.name] for entry in entries if entry.name in started}


def _compile(what: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            command(main_of("dovetail.bench.warmup"), what), env=environment(), cwd=folder, capture_output=True,
            check=False,
        )  # fmt: skip


def _main(what: str) -> None:
    module, scenes = _KERNELS[what]
    for name, frames in scenes:
        scene = build(name, frames)
        for entry in ENGINES:
            if entry.module == module:
                engine = entry.build(scene)
                for _ in range(frames):
                    engine.step()


if __name__ == "__main__":
    _main(sys.argv[1])
