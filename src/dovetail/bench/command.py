"""The command line of the comparison."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from dovetail.bench.comparison import run, write_json
from dovetail.bench.page import write_page

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write `results.json`, `index.md` and plots into a folder, or write the page of old results again."""
    parser = argparse.ArgumentParser(
        prog="python -m dovetail.bench",
        description="Measures dovetail side by side with other engines that are installed, on the same scenes.",
    )
    parser.add_argument("--quick", action="store_true", help="fewer and smaller scenes: about 3 minutes instead of 15")
    parser.add_argument("--scene", action="append", default=[], help="only scenes whose name contains this; repeatable")
    parser.add_argument(
        "--engine", action="append", default=[], help="only engines whose name contains this; repeatable"
    )
    parser.add_argument("--out", type=Path, default=Path("dovetail-bench"), help="folder for what is written")
    parser.add_argument("--page-only", action="store_true", help="write the page from the results in that folder")
    given = parser.parse_args(arguments)
    results = given.out / "results.json"
    if not given.page_only:
        mode = "quick" if given.quick else "full"
        given.out.mkdir(parents=True, exist_ok=True)
        run(
            mode, given.scene, given.engine, lambda line: print(line, flush=True),
            lambda found: write_json(found, results),
        )  # fmt: skip
    write_page(json.loads(results.read_text(encoding="utf-8")), given.out)
    print(f"wrote {given.out / 'index.md'}")
    return 0
