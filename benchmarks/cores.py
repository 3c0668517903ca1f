"""Threads inside a step: python benchmarks/cores.py [--scene "pile 8000" …] [--threads 1 2] [--against PATH] [--write]
                                                   [--resident 2.5]

Worlds that differ in the number of threads alone take turns, some frames each, in processes of their own: what else
runs on the machine meets all of them, and ratios are those of the sums over frames. A turn is of several frames, as
programs take them, because the first one after others have had the processors finds threads asleep and caches full of
what is theirs. They go through the same states, bit for bit, which is checked. All that is done `--repeat` times, and
of each frame the least time counts: a virtual machine may take milliseconds to find memory that nobody has had yet.
What processes that have just ended had is found at once, by who comes first: every second time the others begin.
`--against` another checkout lets that one take turns too, with one thread. Told for each scene and number of threads:

    wall            mean ms a step, `advance` and `retrieve`
    ratio           time of one thread by time of so many
    processor       ms a step of all threads together, waiting included
    shared          share of the time of one thread that threads can share (the separators of conjugate gradients,
                    which they cannot, count as well)
    per contact     candidates by contacts, at the last frame
    memory          most that the process has had [GB]
    resident        the ratio where processes have so much memory [GB] from the beginning, and keep it (`--resident`):
                    a virtual machine whose host lends its memory out may take 8 µs for each page that is new to it,
                    45 times as long as others, which is up to a sixth of the time of the pile of 8,000
    before          time of the other checkout by that of one thread of this one

Each scene takes less than ten minutes. With `--write` what is found goes into docs/benchmarks/cores.json, scene by
scene, and from there a table into docs/choosing.md and a plot beside it; `--page` writes these alone. On a machine that
has something else to do nothing is written.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from cores_world import SCENES

from dovetail.kernel.threads import processors

ROOT = Path(__file__).parents[1]
RESULTS, PAGE, PLOT = ROOT / "docs/benchmarks/cores.json", ROOT / "docs/choosing.md", ROOT / "docs/benchmarks/cores.svg"
BEGIN, END = "<!-- cores: begin; written by benchmarks/cores.py -->", "<!-- cores: end -->"
_TURN = 10  # frames
_QUIET = 0.1  # share of the processors that others use, beyond which times are not those of this program


def busy() -> float:
    """The share of the processors that is used while this program waits a second; 0 where no file tells."""
    if not (told := Path("/proc/stat")).exists():
        return 0.0

    def ticks() -> list[int]:
        return [int(word) for word in told.read_text(encoding="utf-8").split("\n", 1)[0].split()[1:9]]

    before = ticks()
    time.sleep(1.0)
    spent = [now - then for now, then in zip(ticks(), before, strict=True)]
    return 1.0 - (spent[3] + spent[4]) / max(sum(spent), 1)  # idle, or waiting for a disk


class Process:
    """A world that takes a step when it is told to."""

    def __init__(self, name: str, threads: int, frames: int, source: Path, resident: float) -> None:
        self.told = list[dict[str, float]]()
        keep = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)} if resident else {}  # glibc's
        script, what = Path(__file__).with_name("cores_world.py"), (name, threads, frames, resident)
        self._process = subprocess.Popen(
            [sys.executable, str(script), *map(str, what)],
            env={**os.environ, "PYTHONPATH": str(source), "DOVETAIL_THREADS": "1", **keep},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a world has ended early, with code {self._process.wait()}")
        found: dict[str, Any] = json.loads(line)
        return found

    def ask(self, what: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what}\n")
        return self._answer()

    def mean(self, what: str) -> float:
        return sum(frame[what] for frame in self.told) / len(self.told)


Ends = dict[str, dict[str, Any]]


def taken(
    name: str, counts: list[int], against: Path | None, frames: int, resident: float, backwards: bool
) -> tuple[dict[str, Process], Ends]:
    """Processes that have taken so many frames beyond the first, by number of threads; what they told at the end."""
    skip = SCENES[name][1]
    worlds = {str(count): Process(name, count, skip + frames, ROOT / "src", resident) for count in counts}
    if against is not None:
        worlds["before"] = Process(name, 0, skip + frames, against.resolve() / "src", resident)
    order = list(worlds.values())[:: -1 if backwards else 1]
    for first in range(0, skip + frames, _TURN):
        for world in order:
            world.told += world.ask(f"step {min(_TURN, skip + frames - first)}")["frames"]
    for world in worlds.values():
        del world.told[:skip]
    return worlds, {key: world.ask("end") for key, world in worlds.items()}


def measure(
    name: str, counts: list[int], against: Path | None, frames: int | None, repeat: int, resident: float
) -> dict[str, Any]:
    """What is told of a scene, by number of threads."""
    frames = frames or SCENES[name][2]
    worlds, ends = taken(name, counts, against, frames, resident, False)
    for k in range(1, repeat):
        others, _ = taken(name, counts, against, frames, resident, k % 2 == 1)
        for key, other in others.items():
            pairs = zip(worlds[key].told, other.told, strict=True)
            worlds[key].told = [min(pair, key=lambda frame: frame["wall"]) for pair in pairs]
    digests = {ends[str(count)]["digest"] for count in counts}
    assert len(digests) == 1, f"{name}: threads have changed the result"
    first, one = ends[str(counts[0])], worlds[str(counts[0])]
    found: dict[str, Any] = {"bodies": first["bodies"], "frames": frames, "contacts": first["contacts"]}
    found |= {"per contact": first["per contact"], "threads": {}, "shared": one.mean("shared") / one.mean("wall")}
    for count in counts:
        world = worlds[str(count)]
        found["threads"][str(count)] = {
            "wall": 1e3 * world.mean("wall"), "ratio": one.mean("wall") / world.mean("wall"),
            "processor": 1e3 * world.mean("processor"), "memory": ends[str(count)]["memory"],
        }  # fmt: skip
    if against is not None:
        found["before"] = worlds["before"].mean("wall") / one.mean("wall")
    return found


def lines_of(found: dict[str, Any]) -> list[str]:
    """The table of all scenes."""
    lines = [
        "| scene | bodies | contacts | candidates per contact "
        "| threads | ms a step | ratio | resident | processor ms | GB |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, scene in found.items():
        for count, told in scene["threads"].items():
            head = f"{scene['bodies']:,} | {scene['contacts']:,} | {scene['per contact']:.1f}"
            resident = f"{scene['resident'][count]:.2f}" if count in scene.get("resident", {}) else ""
            lines.append(
                f"| {name} | {head} | {count} | {told['wall']:.1f} | {told['ratio']:.2f} | {resident} "
                f"| {told['processor']:.1f} | {told['memory']:.2f} |"
            )
    return lines


def plot(found: dict[str, Any]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "dovetail"
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.0, 3.5))
    axes = figure.subplots()
    for name, scene in found.items():
        ratios = {int(count): told["ratio"] for count, told in scene["threads"].items()}
        axes.plot(list(ratios), list(ratios.values()), marker="o", label=name)
    most = max(int(count) for scene in found.values() for count in scene["threads"])
    axes.plot([1, most], [1, most], color="grey", linestyle=":", label="all of it shared")
    axes.set(xlabel="threads", ylabel="times as fast as with one", xticks=range(1, most + 1))
    axes.legend(frameon=False, fontsize=7)
    figure.savefig(PLOT, metadata={"Date": None}, bbox_inches="tight")


def write_page() -> None:
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    found = {name: found[name] for name in SCENES if name in found}
    plot(found)
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    text = ["", *lines_of(found), "", f"![Speed against threads]({PLOT.relative_to(PAGE.parent)})", ""]
    PAGE.write_text("\n".join([before + BEGIN, *text, END + rest.split(END)[1]]), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scene", nargs="+", choices=list(SCENES), default=["pile 1000", "wrecking ball", "rings"])
    parser.add_argument("--threads", nargs="+", type=int, default=sorted({1, 2, processors()}))
    parser.add_argument("--frames", type=int, help="as many as are measured; for all scenes")
    parser.add_argument("--repeat", type=int, default=4)
    parser.add_argument("--resident", type=float, default=0.0, help="GB that processes have from the beginning")
    parser.add_argument("--against", type=Path, help="another checkout")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--page", action="store_true", help="from what was found before")
    given = parser.parse_args()
    if given.page:
        write_page()
        return
    for name in given.scene:
        others = busy() if given.write else 0.0
        counts = sorted({1, *given.threads})
        found = measure(name, counts, given.against, given.frames, given.repeat, given.resident)
        for count, told in found["threads"].items():
            words = ", ".join(f"{what} {value:.2f}" for what, value in told.items())
            print(f"{name:14} {count} threads: {words}", flush=True)
        told = {what: found[what] for what in ("shared", "per contact", "before") if what in found}
        print(f"{name:14} " + ", ".join(f"{what} {value:.2f}" for what, value in told.items()), flush=True)
        if given.write and others > _QUIET:
            print(f"{name:14} is not written: other programs had {others:.0%} of the machine", flush=True)
        elif given.write:
            known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
            before = known.get(name, {})
            if given.resident:
                found = {**before, "resident": {str(k): found["threads"][str(k)]["ratio"] for k in counts}}
            elif "resident" in before:
                found["resident"] = before["resident"]
            RESULTS.write_text(json.dumps({**known, name: found}, indent=1) + "\n", encoding="utf-8")
            write_page()


if __name__ == "__main__":
    main()
