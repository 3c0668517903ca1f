"""Tables in the documentation that a script writes or prints are what the script gives now."""

from __future__ import annotations

import importlib.util

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


@pytest.mark.parametrize(("name", "page"), [("joint_gap", "concepts.md"), ("spin_decay", "choosing.md"), ("integrators", "integrators.md")])
def test_a_measured_table_is_what_its_script_prints(name, page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert script(name).render() in (DOCS / page).read_text(encoding="utf-8"), f"run: python docs/scripts/{name}.py"
