"""Writes docs/verification.md: python benchmarks/verify.py [--quick] [--without NAME …]

Runs every check of `verification/`, prints its numbers with their bars, and writes the page with a picture for each. A
number that misses its bar is printed as a miss, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from verification import (
    conservation,
    contact,
    drives,
    impacts,
    joints,
    mechanisms,
    parity,
    published,
    rolling,
    scenes,
    stiffness,
    touching,
)
from verification.case import REPOSITORY, Case

from dovetail.files import atomic_write

PAGE = REPOSITORY / "docs" / "verification.md"
PICTURES = REPOSITORY / "docs" / "verification"
MODULES = (
    parity, published, mechanisms, joints, drives, impacts, contact, stiffness, rolling, touching, scenes, conservation,
)  # fmt: skip


def table(case: Case) -> str:
    rows = [finding.cells() for finding in case.findings]
    lines = ["| | measured | bar | |", "|---|---:|---:|---|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def render(cases: list[Case], quick: bool) -> str:
    """The page as Markdown."""
    findings = [finding for case in cases for finding in case.findings]
    missed = [finding for finding in findings if not finding.met]
    run = "a **quick** run, with fewer steps than a full one" if quick else "a full run"
    parts = [
        "# Verification",
        "<!-- Written by python benchmarks/verify.py; do not edit. -->",
        "dovetail against another program's trajectories, published solutions and closed forms. Run it yourself: "
        f"`make verify`. This page is from {run}: {len(findings) - len(missed)} of {len(findings)} numbers meet their "
        "bars" + (f", **{len(missed)} do not**." if missed else "."),
    ]
    for case in cases:
        parts += [f"## {case.title}", case.text, table(case)]
        if case.draw is not None:
            parts.append(f"![{case.title}](verification/{case.name}.svg)")
    return "\n\n".join(parts) + "\n"


def draw(case: Case) -> None:
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "dovetail", "font.size": 8})
    figure = Figure(figsize=(4.2, 2.7))
    axes = figure.subplots()
    case.draw(axes)
    axes.grid(alpha=0.3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    PICTURES.mkdir(exist_ok=True)
    figure.savefig(PICTURES / f"{case.name}.svg", metadata={"Date": None}, bbox_inches="tight")


def run(quick: bool, without: list[str]) -> Iterator[Case]:
    for module in MODULES:
        begin = time.process_time()
        for case in (case for case in module.cases(quick) if case.name not in without):
            print(f"\n{case.title}")
            for finding in case.findings:
                what, value, bar, verdict = finding.cells()
                print(f"    {what:60s} {value:>16s}   {bar:24s} {verdict}")
            yield case
        print(f"({module.__name__.split('.')[-1]}: {time.process_time() - begin:.0f} s)", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer steps")
    parser.add_argument("--without", nargs="*", default=[], metavar="NAME", help="checks that are left out of the page")
    given = parser.parse_args()
    cases = list(run(given.quick, given.without))
    for case in cases:
        if case.draw is not None:
            draw(case)
    atomic_write(PAGE, render(cases, given.quick))
    print(f"\nwrote {PAGE.relative_to(REPOSITORY)}")
    return int(any(not finding.met for case in cases for finding in case.findings))


if __name__ == "__main__":
    sys.exit(main())
