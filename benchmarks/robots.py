"""Robots of public packages beside the engines that their files are made for: MJCF with MuJoCo, URDF with Pinocchio.

    python benchmarks/robots.py                      # all packages that are installed → docs/robots_compared.md
    python benchmarks/robots.py --packages robosuite # those of some packages
    python benchmarks/robots.py --only panda         # those whose path has the word; other rows of the page stay
    python benchmarks/robots.py --new                # those that the page has no row of: goes on where it was stopped
    python benchmarks/robots.py --fuzz 10000 --kind .urdf   # spoiled files: each is a robot or is refused

At the start and at random postures within limits, with the base fixed: frames of all links [m, –], total mass, mass
matrix, and torques against gravity and Coriolis forces, relative to their largest entry; then 0.5 s of falling, and
the step response of a drive. USD stages are compared with where the stage has their bodies, and with MuJoCo on the same
links and joints. `make robots` installs the packages into an environment of its own and runs it.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import sysconfig
import time
import traceback
from pathlib import Path

from robots_compared.comparing import AGREES, DT, is_robot, load, motions, on_stage, oracle_of, statics
from robots_compared.mutations import fuzz
from robots_compared.oracles import MuJoCo, NotComparedError, rebuilt
from robots_compared.page import PACKAGES, Row, page

from dovetail.errors import DovetailError

PAGE = Path(__file__).parents[1] / "docs" / "robots_compared.md"


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
    return root, sorted(root.rglob("*.xml"))


def row_of(package: str, root: Path, file: Path, postures: int) -> Row | None:
    """What became of a file; None where the oracle cannot read it either, or it has no joints."""
    name, begin = str(file.relative_to(root)), time.perf_counter()
    if not is_robot(file):
        return None
    try:
        _, robot = load(file, [root])
        row = Row(package, name, len(robot.bodies), len(robot.names))
        try:
            if file.suffix.startswith(".usd"):
                row.errors |= on_stage(robot, file)
            oracle = oracle_of(robot, file)
            few = postures if len(robot.names) < 60 else max(2, postures // 5) if len(robot.names) < 200 else 1
            row.given = oracle.given
            found = statics(robot, oracle, few)
            row.errors = {key: max(value, row.errors.get(key, 0.0)) for key, value in found.items()}
            row.errors |= motions(file, [root], lambda made: oracle_of(made, file))
            if "step" in row.errors:
                timed = oracle if isinstance(oracle, MuJoCo) else rebuilt(robot)
                row.errors["theirs"] = timed.seconds_a_step(robot.q, DT, 300)
        except (NotComparedError, DovetailError) as reason:
            row.reason = str(reason).partition(";")[0][:120]
    except DovetailError as error:
        row = Row(package, name, refused=str(error).replace(str(root), "…"))
    row.seconds = time.perf_counter() - begin
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--packages", nargs="*", default=PACKAGES)
    parser.add_argument("--postures", type=int, default=20)
    parser.add_argument("--new", action="store_true", help="only files that the page has no row of")
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
        print(fuzz([(suffix, text) for suffix, text in texts if suffix != ".usd"], options.fuzz, options.seed))
        return
    rows: list[Row] = []
    known = PAGE.read_text(encoding="utf-8") if options.new and PAGE.exists() else ""
    for package, root, file in chosen:
        if f"\n| {file.relative_to(root)} |" in known:
            continue
        try:
            row = row_of(package, root, file, options.postures)
        except Exception:
            print(f"{file}:\n{traceback.format_exc()}")
            raise
        if row is None:
            continue
        rows.append(row)
        told = row.refused or " ".join(f"{key} {value:.0e}" for key, value in row.errors.items()) + " " + row.reason
        print(
            f"{'ok  ' if row.agrees else 'NOT '} {package} {row.name} {row.joints} {told} {row.seconds:.1f} s",
            flush=True,
        )
        before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        PAGE.write_text(page([row], before), encoding="utf-8")
    print(f"{sum(row.agrees for row in rows)} of {len(rows)} agree, {sum(not row.refused for row in rows)} load")
    print(f"bars: {AGREES}")


if __name__ == "__main__":
    main()
