"""Every Python block of the documentation runs, page by page from top to bottom."""

from __future__ import annotations

import logging

import pytest
from docs.pages import PAGES, REPOSITORY, blocks, run_page

WITH_CODE = [page for page in PAGES if blocks(page)]
WARNS = {"from_libuipc.md"}
"""Pages that show a warning on purpose."""
LEAVES = {"sim.md": ["pendulum.png"]}
"""Files that pages write on purpose."""


@pytest.mark.long
@pytest.mark.parametrize("page", WITH_CODE, ids=[str(page.relative_to(REPOSITORY)) for page in WITH_CODE])
def test_the_blocks_of_a_page_run_in_order(page, tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    with caplog.at_level(logging.WARNING, logger="dovetail"):
        run_page(page)
    if page.name not in WARNS:
        assert not caplog.messages
    assert [path.name for path in tmp_path.iterdir()] == LEAVES.get(page.name, [])


def test_pages_are_found():
    names = {page.name for page in WITH_CODE}
    assert {"README.md", "CONTRIBUTING.md", "concepts.md", "revolute_joint.md"} <= names
