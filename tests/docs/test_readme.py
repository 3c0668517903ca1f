"""The first page: its example runs, and what it promises is there."""

from __future__ import annotations

import re

from docs.pages import REPOSITORY, blocks, run_page

README = REPOSITORY / "README.md"


def test_the_example_of_the_readme_runs_and_the_rod_swings(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run_page(README)
    # the stop yields by a milliradian to ten times the weight
    assert 2.0 < max(found["angles"]) < 2.002
    assert capsys.readouterr().out.startswith("<revolute joint")
    assert not any(tmp_path.iterdir())


def test_the_example_of_the_readme_has_five_lines():
    ((code, _),) = blocks(README)
    lines = [line for line in code.splitlines() if line.strip()]
    assert len([line for line in lines if not line.startswith("from ")]) == 5


def test_the_commands_of_the_readme_are_targets_of_the_makefile():
    text = README.read_text(encoding="utf-8")
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    commands = re.findall(r"^    make (\w+)", text, re.MULTILINE)
    assert commands == ["demo", "test"]
    assert all(re.search(rf"^{command}:", makefile, re.MULTILINE) for command in commands)
    # they come before everything else that scrolls
    assert text.index("make demo") < text.index("\n## ")
