"""Scenes as TOML files: tables are calls of Sim, and mistakes name the table."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from dovetail.errors import SceneError
from dovetail.sim.toml_file import load_toml

SCENE = """
[sim]
dt = 0.005
friction = 0.3
contact = false

[[revolute]]
name = "hinge"
right = "rod"
pos = [0, 0, 1]
axis = [0, 1, 0]
limit = [-0.5, 1.0]

[[prismatic]]
name = "rail"
left = "rod"
right = "bead"
axis = [1, 0, 0]
drive = 0.1

[[box]]
name = "rod"
size = [0.6, 0.05, 0.05]
pos = [0.3, 0, 1]
density = 700

[[sphere]]
name = "bead"
radius = 0.05
pos = [0.3, 0, 1.2]
mass = 0.5
color = "red"

[[mesh]]
name = "stone"
source = "stone.stl"
pos = [0, 5, 0]
fixed = true

[[ground]]
height = -2.0
"""


def test_a_file_makes_bodies_and_joints_in_any_order(tmp_path):
    trimesh.creation.box((0.2, 0.2, 0.2)).export(tmp_path / "stone.stl")
    (tmp_path / "scene.toml").write_text(SCENE)
    sim = load_toml(tmp_path / "scene.toml")
    assert sim.dt == 0.005 and {body.name for body in sim.bodies} == {"rod", "bead", "stone"}
    assert np.isclose(sim["rod"].mass, 700 * 0.6 * 0.05**2) and sim["bead"].mass == pytest.approx(0.5)
    assert sim["stone"].fixed and sim["hinge"].limit == (-0.5, 1.0) and sim["hinge"].left is None
    sim.step(400)
    assert sim["hinge"].angle == pytest.approx(1.0, abs=2e-3)  # at its stop
    assert sim["rail"].distance == pytest.approx(0.1, abs=1e-3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[sim]\ndt =", "it is not TOML"),
        ("[[cube]]\nsize = 1", "there is no table 'cube'; there are sim, box"),
        ("[sim]\ndtt = 1", r"\[sim\] has an unknown 'dtt'; it takes dt, gravity"),
        ("sim = 3", "'sim' is not a table"),
        ("[box]\nsize = 1", r"'box' is not a list of tables; write \[\[box\]\]"),
        ("[[box]]\nname = 'a'", r"\[\[box\]\] 'a' has no 'size'; add it"),
        ("[[box]]\nsize = 1\nside = 2", r"\[\[box\]\] has an unknown 'side'; it takes size, pos"),
        ("[[box]]\nsize = -1", "box 'box 1': size = .*; give lengths from 1e-09 to 1e"),
        ("[[fixed]]\nright = 'nobody'", "there is no 'nobody'; there is nothing yet"),
        ("[[mesh]]\nsource = 'none.stl'", "none.stl.*No such file"),
    ],
)
def test_mistakes_name_the_file_and_the_table(tmp_path, text, message):
    (tmp_path / "scene.toml").write_text(text)
    with pytest.raises(SceneError, match=message) as caught:
        load_toml(tmp_path / "scene.toml")
    assert "scene.toml" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[sim]\ndt = 0.01\ndtt = 1", 3),
        ("[[box]]\nsize = 1\n\n[[box]]\nname = 'b'\npos = [0, 0]\nsize = 1", 6),
        ("[[box]]\nname = 'a'\nsize = 1\n[[fixed]]\nright = 'a'\nleft = 'nobody'", 6),
        ("[[box]]\nsize = 1\n[[box]]\nname = 'a'", 3),
        ("[[box]]\nsize = 1\n[[cube]]\nsize = 1", 3),
    ],
)
def test_mistakes_name_the_line(tmp_path, text, line):
    (tmp_path / "scene.toml").write_text(text)
    with pytest.raises(SceneError, match=f"scene.toml', line {line}: "):
        load_toml(tmp_path / "scene.toml")


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(SceneError, match=r"gone.toml.*No such file"):
        load_toml(tmp_path / "gone.toml")


def test_compounds_and_terrains_are_read(tmp_path):
    file = tmp_path / "hill.toml"
    file.write_text(
        """
        [[compound]]
        name = "hammer"
        pos = [0, 0, 1]
        parts = [
            { shape = "box", size = 0.1, mass = 2 },
            { shape = "sphere", radius = 0.1, pos = [0.2, 0, 0], mass = 1 },
        ]

        [[terrain]]
        heights = [[0, 0], [1, 1]]
        size = [2, 2]
        scale = 0.1
        """
    )
    sim = load_toml(file)
    assert sim["hammer"].mass == pytest.approx(3.0) and sim["hammer"].center == pytest.approx((0.2 / 3, 0, 1))
    assert sim["terrain 1"].vertices[:, 2].max() == pytest.approx(0.1)
    file.write_text('[[compound]]\nparts = [{ shape = "cone" }]')
    with pytest.raises(SceneError, match="has the shape 'cone'; it is one of box, sphere"):
        load_toml(file)
