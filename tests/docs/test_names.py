"""Symbols and paths that the documentation gives are in the sources."""

from __future__ import annotations

import re

import pytest
from docs.pages import DOCS, PAGES, REPOSITORY

SOURCE = REPOSITORY / "src" / "dovetail"


def rows():
    """(names in code, files) of every row of the notation tables."""
    text = (DOCS / "notation.md").read_text(encoding="utf-8")
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == 6 and "`" in cells[5]:
            yield re.findall(r"`([^`]+)`", cells[1]), re.findall(r"`([^`]+)`", cells[5])


def test_every_name_of_the_notation_is_in_the_file_it_is_said_to_be_in():
    found = list(rows())
    assert len(found) > 40
    for names, files in found:
        text = "".join((SOURCE / file).read_text(encoding="utf-8") for file in files)
        missing = [name for name in names if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)]
        assert not missing, f"{missing} not in {files}"


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(REPOSITORY)) for page in PAGES])
def test_paths_that_a_page_names_exist(page):
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[\w.]+/)*[\w.]+\.(?:py|md|svg)|(?:\w+/)+)`", text))
    named |= set(re.findall(r"(?<![\w/])((?:world|solver|scene|geometry|constitution)/[\w/]+\.py)", text))
    for path in named:
        places = (
            REPOSITORY,
            SOURCE,
            DOCS,
            DOCS / "constitutions",
            SOURCE / "solver" / "articulated",
            SOURCE / "solver" / "contact",
            SOURCE / "solver" / "linear",
            SOURCE / "constitution" / "joint",
            SOURCE / "gradient",
        )
        assert any((place / path).exists() for place in places), f"{page.name} names {path}"
