"""The documentation site: what is staged for it is complete, and every page is in the navigation."""

from __future__ import annotations

import re

import pytest
from docs.pages import DOCS, REPOSITORY
from docs.test_generated import script

site = script("site")
_MKDOCS = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
NAVIGATION = re.findall(r"^ +- (?:[^:\n]+: )?([\w/]+\.md)$", _MKDOCS, re.MULTILINE)


@pytest.fixture(scope="module")
def staged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("staged") / "docs"
    return folder, site.stage(folder)


def test_every_page_but_those_of_the_examples_is_in_the_navigation_once(staged):
    folder, pages = staged
    names = [page.relative_to(folder).as_posix() for page in pages]
    assert sorted(NAVIGATION) == sorted(name for name in names if not name.startswith("examples/"))


def test_links_of_staged_pages_lead_to_staged_files(staged):
    folder, pages = staged
    for page in pages:
        text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)\s#]+)[^)\s]*\)", text):
            assert "://" in target or (page.parent / target).exists(), f"{page.relative_to(folder)}: {target}"


def test_the_reference_names_everything_public(staged):
    folder, _ = staged
    text = (folder / "api" / "sim.md").read_text("utf-8")
    assert "::: dovetail.sim.Sim\n" in text and "::: dovetail.sim.RevoluteJoint\n" in text


def test_a_link_out_of_the_documentation_is_turned_to_the_site_or_loses_its_link():
    page = DOCS / "constitutions" / "joints.md"
    text = "[a](../../CONTRIBUTING.md#add-a-joint) [b](../../Makefile) [c](bodies.md)\n```\n[d](../../Makefile)\n```\n"
    turned = site.turned(text, page, site.place(page))
    assert turned == "[a](../contributing.md#add-a-joint) b [c](bodies.md)\n```\n[d](../../Makefile)\n```\n"


def test_broken_links_and_anchors_of_built_pages_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#there">x</a><a href="c.html">x</a><a href="b.html#not">x</a>')
    (tmp_path / "b.html").write_text('<h2 id="there">x</h2><img src="none.png">')
    found = site.broken_links(tmp_path)
    assert len(found) == 3 and all(any(word in line for line in found) for word in ("c.html", "#not", "none.png"))
