"""A script for each section of libuipc's Python API, run unchanged and without a window."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from uipc_runner import run_script

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("[01][0-9]_*.py"))


def test_there_is_a_script_for_each_of_the_twelve_sections():
    assert [int(script.name[:2]) for script in SCRIPTS] == list(range(1, 13))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_of_a_section_runs_unchanged(script, tmp_path):
    done = run_script(script, tmp_path, headless=12)
    assert done.returncode == 0, done.stderr
    assert f"section {int(script.name[:2])} done" in done.stdout
    assert re.search(r"^headless: \d+ frames, [\d.]+ steps per second, (world valid|no world)$", done.stdout, re.M)
