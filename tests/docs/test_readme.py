"""The first page: its example runs, and what it promises is there."""

from __future__ import annotations

import re

import numpy as np
from docs.pages import REPOSITORY, blocks, run_page

README = REPOSITORY / "README.md"


def test_the_example_of_the_readme_runs_and_the_rod_swings(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run_page(README)
    edges = found["pin"].geometry.edges
    weight = 9.8 * found["rods"].geometry.meta["mass"][0]
    # half a second after the start it is past the lowest point, and implicit Euler has taken some of its speed
    assert -np.pi < edges["angle"][0] < -np.pi / 2
    # between the weight and the 5/2 of it that an undamped rod puts on its hinge at the lowest point
    assert weight < np.linalg.norm(edges["reaction/force"][0]) < 2.5 * weight
    # the stop yields by a milliradian to ten times the weight
    assert 2.0 < max(found["angles"]) < 2.002
    assert capsys.readouterr().out.startswith("<revolute joint")
    assert not any(tmp_path.iterdir())


def test_the_examples_of_the_readme_are_short():
    (short, _), (long, _), *others = blocks(README)
    assert not others
    for code, most in ((short, 6), (long, 15)):
        assert len([line for line in code.splitlines() if line.strip()]) <= most


def test_the_commands_of_the_readme_are_targets_of_the_makefile():
    text = README.read_text(encoding="utf-8")
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    commands = re.findall(r"^    make (\w+)", text, re.MULTILINE)
    assert commands == ["demo", "test"]
    assert all(re.search(rf"^{command}:", makefile, re.MULTILINE) for command in commands)
    # they come before everything else that scrolls
    assert text.index("make demo") < text.index("\n## ")
