"""MJCF files that are refused before MuJoCo sees them, which reads all others: these tests do without it."""

from __future__ import annotations

import pytest

from dovetail import Sim
from dovetail.errors import MissingExtra, SceneError

GOOD = '<mujoco>{}<worldbody><body><joint name="j"/><geom size="0.1"/></body></worldbody></mujoco>'


@pytest.fixture
def without_mujoco(monkeypatch):
    monkeypatch.setattr("dovetail.robot.mjcf.find_spec", lambda name: None)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("<robots/>", "line 1: the file begins with <robots>; an MJCF file begins with <mujoco>"),
        ("<mujoco><worldbody><body/></mujoco>", "is not XML"),
        ("<!DOCTYPE m [<!ENTITY a 'b'>]>" + GOOD.format(""), "line 1: it declares a document type"),
        (GOOD.format('<include file="robot.xml"/>'), "line 1: includes go in a circle"),
    ],
)
def test_what_is_no_mjcf_is_refused(tmp_path, without_mujoco, text, match):
    file = tmp_path / "robot.xml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SceneError, match=match):
        Sim(contact=False).robot(file)


def test_files_outside_of_its_folders_are_not_read(tmp_path, without_mujoco):
    """Not even by a link; with the folder given they are, and then MuJoCo is missed."""
    (tmp_path / "secret.xml").write_text("<mujoco><option/></mujoco>", encoding="utf-8")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "link.xml").symlink_to(tmp_path / "secret.xml")
    file = inner / "robot.xml"
    for name in ("../../secret.xml", "link.xml"):
        file.write_text(GOOD.format(f'<include file="{name}"/>'), encoding="utf-8")
        with pytest.raises(SceneError, match=r"line 1: <include> has file=.*is outside of"):
            Sim(contact=False).robot(file)
        with pytest.raises(MissingExtra, match=r"MJCF needs mujoco; pip install 'dovetail\[robots\]'"):
            Sim(contact=False).robot(file, folders=[tmp_path])
