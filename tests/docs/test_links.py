"""Links, anchors and pictures of the documentation lead somewhere."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest
from docs.pages import DOCS, PAGES, REPOSITORY

IMAGES = sorted((DOCS / "images").glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"
SCREENSHOTS = sorted((DOCS / "images").glob("*.jpg"))
GALLERY = sorted((DOCS / "images" / "gallery").iterdir())
LARGEST = 8_000  # bytes; the pictures are drawn by hand
LARGEST_SCREENSHOT = 200_000
LARGEST_IN_GALLERY = 80_000


def without_code(page):
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def links(page):
    """Target and anchor of every relative link and picture."""
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page)):
        if "://" not in target:
            path, _, anchor = target.partition("#")
            yield (page.parent / path).resolve() if path else page, anchor


def anchors(page):
    """Headings as anchors: lower case, spaces to hyphens, other marks dropped."""
    headings = re.findall(r"^#+ (.*)$", without_code(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(REPOSITORY)) for page in PAGES])
def test_links_of_a_page_lead_to_files_and_headings(page):
    for target, anchor in links(page):
        assert target.exists(), f"{page.name} links to {target}, which is not there"
        if anchor:
            assert anchor in anchors(target), f"{page.name} links to {target.name}#{anchor}; it has {anchors(target)}"


def test_every_page_can_be_reached_from_the_readme():
    seen, todo = set(), [REPOSITORY / "README.md"]
    while todo:
        page = todo.pop()
        if page not in seen and page.suffix == ".md":
            seen.add(page)
            todo += [target for target, _ in links(page)]
    assert set(PAGES) - seen == set()


@pytest.mark.parametrize("image", IMAGES, ids=[image.name for image in IMAGES])
def test_a_picture_is_small_titled_and_used(image):
    root = ElementTree.parse(image).getroot()
    assert root.tag == f"{SVG}svg" and root.find(f"{SVG}title").text
    assert image.stat().st_size < LARGEST
    assert any(target == image for page in PAGES for target, _ in links(page))


@pytest.mark.parametrize("image", SCREENSHOTS, ids=[image.name for image in SCREENSHOTS])
def test_a_screenshot_is_small_and_used(image):
    assert image.stat().st_size < LARGEST_SCREENSHOT
    assert any(target == image for page in PAGES for target, _ in links(page))


@pytest.mark.parametrize("image", GALLERY, ids=[image.name for image in GALLERY])
def test_a_picture_of_the_gallery_is_small_and_belongs_to_an_example(image):
    assert 500 < image.stat().st_size < LARGEST_IN_GALLERY
    assert (REPOSITORY / "examples" / f"{image.stem}.py").exists()
