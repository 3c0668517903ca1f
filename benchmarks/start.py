"""How long the first step takes, from empty caches and from full ones: python benchmarks/start.py [--write]

Two scenes, the press of `make demo` and a chain of ten hinges without contact, each in fresh processes. Wall time is
from the start of `import dovetail` to the end of the first step. Processor time is of all processes together, to the
end of fifty steps and with the starting of Python: some kernels are compiled while the first steps run. Modules are
there as bytecode, as after an installation. `--write` puts the table into docs/getting_started.md. benchmarks/wheel.py
does the same with an installed wheel.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "getting_started.md"
BEGIN, END = "<!-- start: begin; written by benchmarks/start.py -->", "<!-- start: end -->"
SCENES = {"demo": "press of `make demo`", "chain": "chain of ten hinges, no contact"}

_RUN = """
import hashlib, json, sys, time
begin = time.perf_counter()
from dovetail import Sim
if sys.argv[1] == "demo":
    from dovetail.demo import build
    sim = build()
else:
    sim, last = Sim(dt=0.01, contact=False), None
    for k in range(10):
        link = sim.box((0.2, 0.04, 0.04), pos=(0.22 * k + 0.11, 0, 0))
        sim.revolute(last, link, pos=(0.22 * k, 0, 0), axis=(0, 1, 0))
        last = link
sim.step()
wall = time.perf_counter() - begin
sim.step(49)
state = hashlib.sha256(b"".join(a.tobytes() for a in sim.world.state().arrays.values())).hexdigest()[:12]
print(json.dumps({"wall": wall, "state": state}))
"""


def first_step(scene: str, cache: str, python: str = sys.executable, **settings: str) -> dict[str, Any]:
    """Seconds to the end of the first step with this cache folder, and a digest of the state after 50 steps."""
    environment = {**os.environ, "DOVETAIL_CACHE_DIR": cache, **settings}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run([python, "-c", "import dovetail.world.simulation"], env=environment, check=True)
    before = _seconds()
    told = subprocess.run([python, "-c", _RUN, scene], env=environment, capture_output=True, text=True, check=True)
    found: dict[str, Any] = {**json.loads(told.stdout.splitlines()[-1]), "cpu": _seconds() - before}
    return found


def _seconds() -> float:
    """Processor time of all processes that this one has started, and those of theirs."""
    used = os.times()
    return used.children_user + used.children_system


def measure() -> list[str]:
    """Rows of the table."""
    lines = [
        "| to the end of the first step | nothing compiled yet | of processor time | later |",
        "|---|---:|---:|---:|",
    ]
    for scene, name in SCENES.items():
        with tempfile.TemporaryDirectory() as cache:
            cold = first_step(scene, cache)
            warm = min((first_step(scene, cache) for _ in range(3)), key=lambda found: found["wall"])
        assert cold["state"] == warm["state"], "results depend on where kernels came from"
        lines.append(f"| {name} | {cold['wall']:.1f} s | {cold['cpu']:.0f} s | {warm['wall']:.1f} s |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    lines = measure()
    if "--write" in sys.argv:
        busy = hasattr(os, "getloadavg") and os.getloadavg()[0] > 2 * (os.cpu_count() or 1)
        note = f"Measured on {os.cpu_count()} processors{', a busy machine' if busy else ''}, by `benchmarks/start.py`."
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        PAGE.write_text("\n".join([before + BEGIN, *lines, "", note, END + after]), encoding="utf-8")


if __name__ == "__main__":
    main()
