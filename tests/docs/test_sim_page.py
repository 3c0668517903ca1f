"""The page of the short form keeps its promise of brevity."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import tomllib

import pytest
from docs.pages import DOCS, REPOSITORY, blocks


def test_a_pendulum_with_limits_and_a_plot_takes_at_most_twelve_lines():
    code, _ = blocks(DOCS / "sim.md")[0]
    lines = [line for line in code.splitlines() if line.strip()]
    assert len(lines) <= 12
    assert "limit=" in code and "plot" in code


def test_the_page_runs_on_what_it_says_to_install():
    text = (DOCS / "sim.md").read_text(encoding="utf-8")
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    there = {re.split(r"[<>=\[]", needed)[0] for needed in project["dependencies"]}
    there |= {"dovetail", *sys.stdlib_module_names, *re.findall(r"pip install (\w+)`", text)}
    for code, _ in blocks(DOCS / "sim.md"):
        for name in re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE):
            assert name in there, f"sim.md imports {name}, and does not say to install it"


@pytest.mark.parametrize("module", ["dovetail.sim", "dovetail.core", "dovetail.extend"])
def test_docstrings_have_tables_and_no_columns_that_a_page_runs_together(module):
    found = importlib.import_module(module)
    for name in found.__all__:
        lines = (inspect.getdoc(getattr(found, name)) or "").splitlines()
        columns = [line for line in lines if re.match(r"^[a-z_]+ {3,}\S", line)]
        assert len(columns) < 2, f"{module}.{name}: {columns}"
