"""The pages of the documentation, and how their Python blocks are run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

__all__ = ["DOCS", "PAGES", "REPOSITORY", "blocks", "run_page"]

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
PAGES = sorted([*REPOSITORY.glob("*.md"), *DOCS.rglob("*.md")])


def blocks(page: Path) -> list[tuple[str, int]]:
    """The Python blocks of a page, each with the number of lines above it."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [(match[1], text.count("\n", 0, match.start(1))) for match in found]


def run_page(page: Path) -> dict[str, Any]:
    """Run all blocks from top to bottom in one namespace, which is returned.

    Lines keep their numbers, so that a traceback points into the page.
    """
    namespace: dict[str, Any] = {"__name__": page.stem}
    for code, above in blocks(page):
        exec(compile("\n" * above + code, str(page), "exec"), namespace)
    return namespace
