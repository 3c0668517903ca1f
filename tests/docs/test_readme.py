"""The first page: its example runs, and what it promises is there."""

from __future__ import annotations

import re

import numpy as np
from docs.pages import REPOSITORY, blocks, run_page

README = REPOSITORY / "README.md"


def test_the_example_of_the_readme_runs_and_the_stop_catches_the_rod(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run_page(README)
    edges = found["hinge"].geometry.edges
    mass = found["rods"].geometry.meta["mass"][0]
    # the rod rests on the stop, so the hinge carries its weight; 1e-2: the last swings have not died out
    assert -1.3 < edges["angle"][0] < -1.2
    assert np.allclose(edges["reaction/force"][0], [0.0, mass * 9.8, 0.0], atol=1e-2 * mass * 9.8)
    assert capsys.readouterr().out.startswith("[-1.2")
    assert not any(tmp_path.iterdir())


def test_the_example_of_the_readme_is_short():
    (code, _), *others = blocks(README)
    assert not others
    statements = [line for line in code.splitlines() if line.strip() and not re.match(r"\s", line)]
    assert len(statements) <= 18


def test_the_commands_of_the_readme_are_targets_of_the_makefile():
    text = README.read_text(encoding="utf-8")
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    commands = re.findall(r"^    make (\w+)", text, re.MULTILINE)
    assert commands == ["demo", "test"]
    assert all(re.search(rf"^{command}:", makefile, re.MULTILINE) for command in commands)
    # they come before everything else that scrolls
    assert text.index("make demo") < text.index("\n## ")
