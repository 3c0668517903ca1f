"""The page of the verification: it has every check, and says so where a number misses its bar."""

from __future__ import annotations

import importlib.util
import re
import sys

import pytest
from docs.pages import DOCS, REPOSITORY


@pytest.fixture
def verify(monkeypatch):
    pytest.importorskip("matplotlib", reason="install matplotlib to test the page of the verification")
    monkeypatch.setattr(sys, "path", [*sys.path])
    spec = importlib.util.spec_from_file_location("verify", REPOSITORY / "benchmarks" / "verify.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_number_that_misses_its_bar_is_printed_as_a_miss(verify):
    finding = sys.modules["verification.case"].Finding
    good, bad = finding("gap", 0.9, 1.0, "m"), finding("gap", 1.1, 1.0, "m")
    near, far = finding("order", 1.95, 0.1, "", 2.0), finding("order", 1.7, 0.1, "", 2.0)
    assert [f.met for f in (good, bad, near, far)] == [True, False, True, False]
    assert not finding("gap", float("nan"), 1.0).met
    case = verify.Case("some", "Some", "Text.", [good, bad])
    page = verify.render([case], quick=True)
    assert "| gap | 1.1 m | ≤ 1 m | **missed** |" in page and "| gap | 0.9 m | ≤ 1 m | met |" in page
    assert "1 of 2 numbers meet their bars, **1 do not**" in page


def test_the_committed_page_has_every_picture_and_misses_nothing():
    text = (DOCS / "verification.md").read_text(encoding="utf-8")
    pictures = {path.stem for path in (DOCS / "verification").glob("*.svg")}
    assert set(re.findall(r"\(verification/(\w+)\.svg\)", text)) == pictures
    assert len(re.findall(r"\| met \|$", text, re.MULTILINE)) > 40
    assert "missed" not in text


@pytest.mark.parametrize(
    "title",
    [
        "IFToMM A03", "IFToMM A04", "IFToMM A05", "A slider-crank", "Friction on a slope", "A stack of 20 cubes",
        "An arch of wedges", "Dominoes", "Heavy on light",
    ],
)  # fmt: skip
def test_mechanisms_and_scenes_of_contact_are_on_the_page(title):
    assert f"\n## {title}" in (DOCS / "verification.md").read_text(encoding="utf-8")


def test_a_check_runs_and_has_a_picture(verify, tmp_path, monkeypatch):
    monkeypatch.setattr(verify, "PICTURES", tmp_path)
    joints = sys.modules["verification.joints"]
    case = joints.limits(True)
    assert all(finding.met for finding in case.findings)
    verify.draw(case)
    assert (tmp_path / "limit.svg").stat().st_size > 1000


def test_what_is_left_out_is_not_on_the_page(verify, monkeypatch):
    kept, other = verify.Case("kept", "Kept", "Text."), verify.Case("other", "Other", "Text.")
    monkeypatch.setattr(verify, "MODULES", (type("module", (), {"cases": lambda quick: [kept, other]}),))
    assert list(verify.run(True, ["other"])) == [kept]
