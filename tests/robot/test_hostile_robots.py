"""Robots' files that are traps: small ones that ask for all time and memory are refused in a sentence, and soon."""

from __future__ import annotations

import re
import time
from importlib.util import find_spec

import pytest
import trimesh

from dovetail import Sim
from dovetail.errors import SceneError
from dovetail.robot import limited
from dovetail.robot.read import read_robot

SOON = 10.0  # s on a busy machine; what is refused before anything is compiled takes milliseconds


@pytest.fixture
def refused(tmp_path):
    """How a file with this text is refused, and that it is so soon."""

    def refused(text: str, match: str, name: str = "robot.xml", within: float = SOON) -> str:
        file = tmp_path / name
        file.write_text(text)
        begin = time.monotonic()
        with pytest.raises(SceneError, match=match) as refusal:
            Sim(contact=False).robot(file)
        assert time.monotonic() - begin < within
        assert "\n" not in str(refusal.value) and str(tmp_path) in str(refusal.value)
        return str(refusal.value)

    return refused


def mjcf(world: str, more: str = "") -> str:
    return f"<mujoco>{more}<worldbody><body><joint/><geom size='0.1'/></body>{world}</worldbody></mujoco>"


def test_files_that_include_each_other_are_read_once_each(tmp_path, refused):
    """Nine files, each of which includes the next one ten times, would be 10⁸."""
    for k in range(1, 9):
        inner = "".join(f'<include file="part{k + 1}.xml"/>' for _ in range(10)) if k < 8 else ""
        (tmp_path / f"part{k}.xml").write_text(f"<mujocoinclude>{inner}</mujocoinclude>")
    refused(mjcf("", '<include file="part1.xml"/>'), "MuJoCo refuses it|takes more than")


def test_includes_in_a_circle_of_several_files_are_refused(tmp_path, refused):
    (tmp_path / "part.xml").write_text('<mujocoinclude><include file="robot.xml"/></mujocoinclude>')
    refused(mjcf("", '<include file="part.xml"/>'), "line 1: includes go in a circle")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (mjcf('<replicate count="1000000000"><body/></replicate>'), "<replicate> makes 1e.09 copies"),
        (mjcf('<replicate count="1000">' * 4 + "<body/>" + "</replicate>" * 4), "<replicate> makes 1e.06 copies"),
        (
            mjcf("", '<asset><hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>'),
            "<hfield> has more than 25000000 heights",
        ),
        (mjcf("", "".join(f'<compiler meshdir="m{k}"/>' for k in range(100))), "more than 10 folders"),
    ],
)
def test_elements_that_are_large_when_they_are_compiled_are_refused_before_that(refused, text, match):
    refused(text, match)


@pytest.mark.parametrize(
    "text",
    [
        mjcf("", '<asset><texture name="t" type="2d" builtin="flat" width="200000" height="200000"/></asset>'),
        mjcf("", '<size nuserdata="2000000000" nuser_body="2000000000"/>'),
        mjcf('<composite type="cable" count="30000000 1 1" size="1"><geom size=".1"/></composite>'),
    ],
)
def test_whatever_else_asks_for_too_much_is_ended_by_limits(refused, tmp_path, monkeypatch, text):
    """This process neither waits for it nor gives it memory; the next file is read as ever."""
    monkeypatch.setattr(limited, "_MOST_SECONDS", 5.0)
    refused(text, r"refuses it|that needs more than 4 GB|takes more than 5 s|it is damaged", within=SOON + 5.0)
    (tmp_path / "good.xml").write_text(mjcf(""))
    assert len(Sim(contact=False).robot(tmp_path / "good.xml").joints) == 1


# --- stages of USD ------------------------------------------------------------------------------------------


def doubling(levels: int, more: str = "") -> str:
    """Prims each of which refers to the next one ten times: 10ⁿ of them, in some kilobytes of text."""
    classes = "".join(
        f'class "p{k}" {{\n'
        + "".join(f'def "a{n}" (prepend references = </p{k + 1}>{more}) {{ }}\n' for n in range(10))
        + "}\n"
        for k in range(levels)
    )
    root = '#usda 1.0\n(defaultPrim = "r")\ndef "r" (prepend references = </p0>) { }\n'
    return f'{root}{classes}class "p{levels}" {{ }}\n'


@pytest.mark.long
@pytest.mark.parametrize("more", ["", "\ninstanceable = true"])
def test_prims_that_refer_to_each_other_many_times_are_not_all_made(refused, monkeypatch, more):
    pytest.importorskip("pxr")
    monkeypatch.setattr(limited, "_MOST_SECONDS", 8.0)
    text = doubling(9, more)
    assert len(text) < 10_000
    refused(text, r"more than 100,000 prims|takes more than 8 s|needs more than 4 GB", "robot.usda", SOON + 8.0)


def test_prims_that_are_nested_very_deep_are_refused(refused):
    """USD's parser calls itself at each; where that is too much for it, it is another process that ends."""
    pytest.importorskip("pxr")
    for depth in (1_000, 100_000):
        refused("#usda 1.0\n" + 'def "a" {\n' * depth + "}\n" * depth, r"reading '.*robot\.usda'", "robot.usda", 40.0)


# --- paths --------------------------------------------------------------------------------------------------

URDF = """<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
<collision><geometry><mesh filename="loop.stl" scale="{}"/></geometry></collision></link></robot>"""


def test_a_link_to_itself_is_told_in_a_sentence(tmp_path, refused):
    """As a mesh, as an include, as a layer, as a folder, as the file itself."""
    (tmp_path / "loop.stl").symlink_to("loop.stl")
    (tmp_path / "r.urdf").write_text(URDF.format("1 1 1"))
    robot = Sim(contact=False).robot(tmp_path / "r.urdf", pos=(0, 0, 1))
    words = "is a link that leads to itself|was not found"
    assert [f for f in robot.findings if re.search(f"the collision mesh 'loop.stl' of link 'a' ({words})", f.text)]
    with pytest.raises(SceneError, match=f"a folder that was given ({words})|there is no folder"):
        Sim(contact=False).robot(tmp_path / "r.urdf", folders=[tmp_path / "loop.stl"])
    with pytest.raises(SceneError, match="there is no file"):
        Sim(contact=False).robot((tmp_path / "loop.urdf").symlink_to("loop.urdf") or tmp_path / "loop.urdf")
    refused(mjcf("", '<include file="loop.stl"/>'), "MuJoCo refuses it")
    if find_spec("pxr"):
        text = '#usda 1.0\ndef "r" (prepend references = @./loop.stl@) { }\n'
        refused(text, f"the layer './loop.stl' ({words})", "robot.usda")


# --- XML ----------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_more_elements_than_any_robot_has_are_refused(refused):
    for text in ("<x/>" * 600_000, "t<x/>" * 600_000):
        refused(f"<robot>{text}</robot>", "it has more than 500,000 elements", "r.urdf", 3 * SOON)


def test_a_number_of_many_megabytes_is_refused(refused):
    text = URDF.format("1 " * 20_000_000)
    refused(text, r'has scale="1 1 1 .* give 3 finite numbers', "r.urdf")


@pytest.mark.parametrize("code", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1"])
def test_robots_are_read_in_every_code_and_with_zeros_at_the_end(tmp_path, code):
    text = URDF.format("1 1 1").replace("loop", "lööp")
    if code == "latin-1":
        text = '<?xml version="1.0" encoding="iso-8859-1"?>' + text
    elif code in ("utf-16-le", "utf-16-be"):
        text = "\ufeff" + text
    for zeros in ("", "\0", "\0" * 9):
        (tmp_path / "r.urdf").write_bytes((text + zeros).encode(code))
        assert "'lööp.stl' of link 'a'" in Sim(contact=False).robot(tmp_path / "r.urdf").findings[0].text


@pytest.mark.parametrize("scale", ["1e39 1e39 1e39", "1 1 1e-30", "-1e10 1 1", "0 1 1"])
def test_scales_of_meshes_that_no_robot_has_are_refused(refused, scale):
    refused(URDF.format(scale), r"the mesh of link 'a' has the scale .*; give numbers from 1e-09 to 1e\+09", "r.urdf")


def test_meshes_of_mjcf_that_reach_beyond_any_planet_are_refused(tmp_path, refused):
    box = trimesh.creation.box((1, 1, 1))
    box.export(tmp_path / "m.stl")
    asset = '<asset><mesh name="m" file="m.stl" scale="{} 1 1"/></asset>'
    refused(
        mjcf('<body><joint/><geom type="mesh" mesh="m" mass="1"/></body>', asset.format("1e12")),
        "a mesh reaches|refuses it",
    )


@pytest.mark.long
@pytest.mark.parametrize("is_chain", [True, False])
def test_ten_thousand_links_are_read_in_seconds(tmp_path, is_chain):
    """And what is asked of them before their bodies are made takes no longer for each where there are many."""
    limit = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
    links = "".join(f'<link name="l{k}"/>' for k in range(10_000))
    joints = "".join(
        f'<joint name="j{k}" type="revolute"><parent link="l{parent}"/><child link="l{k}"/>{limit}</joint>'
        for k, parent in enumerate(range(9_999) if is_chain else [0] * 9_999, 1)
    )
    (tmp_path / "r.urdf").write_text(f'<robot name="r">{links}{joints}</robot>')
    begin = time.monotonic()
    robot = read_robot(tmp_path / "r.urdf")
    assert len(robot.poses({})) == len(robot.bearers()) == 10_000
    assert time.monotonic() - begin < 4 * SOON
