"""Tables in the documentation that a script writes or prints are what the script gives now."""

from __future__ import annotations

import importlib.util
import json

import pytest
from docs.pages import DOCS


def script(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_the_configuration_is_up_to_date():
    page = script("config_page")
    assert page.PAGE.read_text(encoding="utf-8") == page.render(), "run: python docs/scripts/config_page.py"


def test_the_figures_of_the_readme_are_those_of_the_benchmarks():
    page = script("readme_figures")
    assert page.README.read_text(encoding="utf-8") == page.render(), "run: python docs/scripts/readme_figures.py"


def test_the_page_of_the_benchmarks_is_that_of_its_results():
    from dovetail.bench.page import render

    folder = DOCS / "benchmarks"
    found = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    pictures = {name: f"{name}.svg" for name in ("scaling", "energy", "overlap")}
    text = (folder / "index.md").read_text(encoding="utf-8")
    assert text == render(found, pictures, folder), "run: python -m dovetail.bench --page-only --out docs/benchmarks"


MEASURED = [
    ("joint_gap", "concepts.md"), ("spin_decay", "choosing.md"), ("stiffness", "choosing.md"),
    ("integrators", "integrators.md"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "page"), MEASURED)
def test_a_measured_table_is_what_its_script_prints(name, page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert script(name).render() in (DOCS / page).read_text(encoding="utf-8"), f"run: python docs/scripts/{name}.py"


def test_every_example_is_in_the_gallery_with_a_picture_and_the_page_is_up_to_date():
    gallery = script("gallery")
    examples = sorted(path.stem for path in gallery.EXAMPLES.glob("[0-9][0-9]_*.py"))
    assert sorted(gallery.GALLERY) == examples
    missing = [stem for stem in examples if not (gallery.PICTURES / f"{stem}.webp").exists()]
    assert not missing, f"run: python docs/scripts/gallery.py {' '.join(missing)}"
    assert gallery.PAGE.read_text(encoding="utf-8") == gallery.render(), "run: python docs/scripts/gallery.py"
