"""Robots of public packages beside the engines that their files are made for: MJCF with MuJoCo, URDF with Pinocchio.

    python benchmarks/robots.py                      # all packages that are installed → docs/robots_compared.md
    python benchmarks/robots.py --packages robosuite # those of some packages
    python benchmarks/robots.py --only panda         # those whose path has the word
    python benchmarks/robots.py --times              # the times of a step alone, of the rows that have them
    python benchmarks/robots.py --fuzz 10000 --kind .urdf   # spoiled files: each is a robot or is refused

Other rows of the page stay. What was compared with the same sources is not compared again, so that it can be stopped
and goes on where it was; `--again` begins anew.

At the start and at random postures within limits, with the base fixed: frames of all links [m, –], total mass, mass
matrix, and torques against gravity and Coriolis forces, relative to their largest entry; then 0.5 s of falling, and
the step response of a drive. USD stages are compared with where the stage has their bodies, and with MuJoCo on the same
links and joints. `make robots` installs the packages into an environment of its own and runs it.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import logging
import os
import sysconfig
import time
import traceback
from pathlib import Path

from robots_compared.comparing import AGREES, DT, is_robot, load, motions, on_stage, oracle_of, statics, times
from robots_compared.mutations import fuzz
from robots_compared.oracles import NotComparedError
from robots_compared.page import CONTACT, PACKAGES, Row, lines_of, page, retimed
from small import measured

from dovetail.errors import DovetailError

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "robots_compared.md"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dovetail-robots"

LOOPS = "joints close loops, which the oracle has not: frames at the start and masses alone"


class Journal:
    """Which files were compared with the sources as they are, on disk."""

    def __init__(self, what: str, again: bool) -> None:
        self._file = CACHE / f"{what}.json"
        digest = hashlib.sha256()
        for source in sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "benchmarks").glob("robots*/*.py")]):
            digest.update(source.read_bytes())
        self._of, self._done = digest.hexdigest(), set[str]()
        if self._file.exists() and not again:
            known = json.loads(self._file.read_text(encoding="utf-8"))
            self._done = set(known["done"]) if known["of"] == self._of else set()

    def __contains__(self, file: Path) -> bool:
        return str(file) in self._done

    def add(self, file: Path) -> None:
        self._done.add(str(file))
        CACHE.mkdir(parents=True, exist_ok=True)
        self._file.write_text(json.dumps({"of": self._of, "done": sorted(self._done)}), encoding="utf-8")


def files_of(package: str) -> tuple[Path | None, list[Path]]:
    """Where a package is, and its robot files."""
    if package == "example_robot_data":
        roots = [*Path(sysconfig.get_paths()["purelib"]).glob("**/example-robot-data/robots")]
        return (roots[0], sorted(roots[0].rglob("*.urdf"))) if roots else (None, [])
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None, []
    root = Path(next(iter(spec.submodule_search_locations)))
    if package == "newton":
        return root, sorted(file for file in root.rglob("*.usd*") if file.suffix in (".usd", ".usda", ".usdc"))
    files = sorted(root.rglob("*.xml"))
    return root, files + (sorted(root.rglob("*.urdf")) if package == "pybullet_data" else [])


def row_of(package: str, root: Path, file: Path, postures: int) -> Row | None:
    """What became of a file; None where the oracle cannot read it either, or it has no joints."""
    name, begin = str(file.relative_to(root)), time.perf_counter()
    if not is_robot(file):
        return None
    try:
        _, robot = load(file, [root])
        row = Row(package, name, len(robot.bodies), len(robot.joints), len(robot.names))
        try:
            if file.suffix.startswith(".usd"):
                row.errors |= on_stage(robot, file)
                if robot.description.loops:
                    row.reason, row.compared = LOOPS, ("frames", "mass")
                    return row
            oracle = oracle_of(robot, file)
            few = postures if len(robot.names) < 60 else max(2, postures // 5) if len(robot.names) < 200 else 1
            row.given = oracle.given
            found = statics(robot, oracle, few)
            row.errors = {key: max(value, row.errors.get(key, 0.0)) for key, value in found.items()}
            row.errors |= motions(file, [root], lambda made: oracle_of(made, file))
            if row.errors.get("response", 0.0) > AGREES["response"]:
                finer = motions(file, [root], lambda made: oracle_of(made, file), dt=DT / 4)["response"]
                row.reason = f"the response is of first order where a target jumps, {finer:.0e} in steps of 0.25 ms"
        except (NotComparedError, DovetailError) as reason:
            row.reason = str(reason).partition(";")[0][:120]
    except DovetailError as error:
        row = Row(package, name, refused=str(error).replace(str(root), "…"))
    row.seconds = time.perf_counter() - begin
    return row


def put(package: str, name: str, line: str) -> None:
    """A row onto the page."""
    tables = lines_of(PAGE.read_text(encoding="utf-8") if PAGE.exists() else "")
    tables.setdefault(package, {})[name] = line
    PAGE.write_text(page(tables), encoding="utf-8")


def compare(package: str, root: Path, file: Path, postures: int) -> None:
    """Put the row of a file onto the page, if it is a robot."""
    try:
        row = row_of(package, root, file, postures)
    except Exception:
        print(f"{file}:\n{traceback.format_exc()}")
        raise
    if row is None:
        return
    told = row.refused or " ".join(f"{key} {value:.0e}" for key, value in row.errors.items()) + " " + row.reason
    print(
        f"{'ok  ' if row.agrees else 'NOT '} {package} {row.name} {row.joints} {told} {row.seconds:.1f} s", flush=True
    )
    put(package, row.name, row.line)


def clock(package: str, root: Path, file: Path) -> None:
    """Put the times of a step onto the page, of a file that has any there."""
    name, tables = str(file.relative_to(root)), lines_of(PAGE.read_text(encoding="utf-8"))
    line = tables.get(package, {}).get(name, "")
    if not line or "| refused: " in line or not line.split(" | ")[-3].strip():
        return
    found = times(file, [root])
    if not found:  # it had them once
        return
    print(f"{package} {name} {1e6 * found['step']:.0f} {1e6 * found['theirs']:.0f} µs", flush=True)
    put(package, name, retimed(line, found))


def clock_with_contact() -> None:
    """Put the times of steps with contact onto the page."""
    import robot_speed

    for name, build in robot_speed.scenes().items():
        least, median, iterations = measured(build())
        rates = " | ".join(f"{1e3 / t:,.0f}" for t in (least, median))
        print(f"with contact: {name} {1e3 * least:.0f} µs", flush=True)
        put(CONTACT, name, f"| {name} | {1e3 * least:.0f} | {1e3 * median:.0f} | {iterations:.1f} | {rates} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--packages", nargs="*", default=PACKAGES, choices=PACKAGES)
    parser.add_argument("--postures", type=int, default=20)
    parser.add_argument("--times", action="store_true", help="only the times of a step, on a quiet machine")
    parser.add_argument("--again", action="store_true", help="also what was compared with the same sources")
    parser.add_argument("--fuzz", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", default="", help="with --fuzz: .urdf, .xml or .usda")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    chosen = [
        (package, root, file)
        for package in options.packages
        for root, files in [files_of(package)]
        for file in files
        if root is not None and options.only in str(file)
    ]
    if options.fuzz:
        small = [file for _, _, file in chosen if file.stat().st_size < 6_000 and file.suffix.startswith(options.kind)]
        texts = [(file.suffix, file.read_text(encoding="utf-8", errors="replace")) for file in small]
        with_joints = [(suffix, text) for suffix, text in texts if suffix != ".usd" and "joint" in text.lower()]
        print(fuzz(with_joints, options.fuzz, options.seed))
        return
    journal, begin = Journal("timed" if options.times else "compared", options.again), time.perf_counter()
    for package, root, file in chosen:
        if file in journal:
            continue
        if options.times:
            clock(package, root, file)
        else:
            compare(package, root, file, options.postures)
        journal.add(file)
    if not options.only and (options.times or options.packages == PACKAGES) and Path(CONTACT) not in journal:
        clock_with_contact()
        journal.add(Path(CONTACT))
    print(f"{len(chosen)} files, {time.perf_counter() - begin:.0f} s; bars: {AGREES}")


if __name__ == "__main__":
    main()
