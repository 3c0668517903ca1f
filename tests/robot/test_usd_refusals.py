"""USD files: what is told by name, what is refused, and what is read of damaged files."""

from __future__ import annotations

import re

import numpy as np
import pytest
from usd_files import CENTI, FLOAT, SOLID, body, cube, d6, joint, stage, told

from dovetail import Sim
from dovetail.errors import SceneError
from dovetail.robot.usd import read_usd

pytest.importorskip("pxr")


# --- what is told and refused -------------------------------------------------------------------------------


def test_what_is_not_honoured_is_told_by_name(tmp_path):
    content = body(
        "b",
        content=cube("c", 0.2),
        more="vector3f physics:velocity = (1, 0, 0)\nfloat physxRigidBody:sleepThreshold = 1",
    )
    content += 'def Plumbus "strange" { }\n' + joint("Joint", "free", ["", "b"], "float limit:rotX:physics:low = 3")
    content += joint(
        "RevoluteJoint",
        "hinge",
        ["b", "d"],
        "float physxJoint:maxJointVelocity = 90",
        '"PhysxJointAPI", "PhysxMimicJointAPI:rotX", "NewtonMimicAPI"',
    )
    content += body("d", content=cube("c", 0.2))
    robot = read_usd(stage(tmp_path, content))
    for words in (
        "physxJoint:… attributes are not read (/r/hinge)",
        "PhysxMimicJointAPI:rotX are not read (/r/hinge)",
        "NewtonMimicAPI are not read (/r/hinge)",
        "/r/b begins with a velocity",
        "physxRigidBody:… attributes",
        "Plumbus prims",
        "/r/free has limits or drives of rotX without",
    ):
        assert len(told(robot, words)) == 1, words


MESH = "point3f[] points = [(0, 0, 0)]\nint[] faceVertexCounts = [3]\nint[] faceVertexIndices = [0, 1, 2]"
DRIVE = ("float drive:angular:physics:stiffness = -4", '"PhysicsDriveAPI:angular"')


REFUSED = {
    "itself": (body("b", content=cube()) + joint("RevoluteJoint", "j", ["b", "b"]), "/r/j: it joins b with itself"),
    "nothing": ("", "there is no enabled rigid body"),
    "size": (body("b", content=cube("c", 0)), "/r/b/c: it is a cube of the size"),
    "mesh": (body("b", content=f'def Mesh "m" ({SOLID}) {{\n{MESH}\n}}'), "faces do not fit"),
    "gains": (body("b", content=cube()) + joint("RevoluteJoint", "j", ["", "b"], *DRIVE), "a gain of rx = -4"),
    "bounds": (body("b", content=cube()) + d6(rotX=(10, 20), rotY=None, rotZ=None), "it limits rx to"),
    "inertia": (
        body("b", mass="float physics:mass = 1\nfloat3 physics:diagonalInertia = (-1, 1, 1)"),
        "diagonal inertia",
    ),
}


@pytest.mark.parametrize("flaw", REFUSED)
def test_nonsense_is_refused_with_prim_and_file(tmp_path, flaw):
    content, words = REFUSED[flaw]
    with pytest.raises(SceneError, match=words) as refusal:
        read_usd(stage(tmp_path, content))
    assert str(tmp_path / "r.usda") in str(refusal.value)


def test_a_file_that_is_no_usd_is_refused(tmp_path):
    for text in ("", "#usda 1.0\ndef Xform {", "PXR-USDC" + "x" * 100):
        file = tmp_path / "r.usda"
        file.write_text(text)
        with pytest.raises(SceneError, match=r"r\.usda"):
            read_usd(file)


def test_layers_are_read_from_the_folder_of_the_file_alone(tmp_path):
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    inner.mkdir()
    outer.mkdir()
    part = stage(outer, body("b", content=cube()), name="part.usda")
    (inner / "own.usda").write_text(part.read_text())
    (inner / "link.usda").symlink_to(part)

    def using(words, header=""):
        (inner / "r.usda").write_text(f'#usda 1.0\n(\n{header}\n)\ndef Xform "x" ({words}) {{ }}\n')
        return read_usd(inner / "r.usda")

    assert list(using("prepend references = @./own.usda@</r>").links) == ["b"]
    assert list(using("prepend payload = @./own.usda@</r>\ninstanceable = true").links) == ["b"]
    for words in (
        f"prepend references = @{part}@</r>",
        "prepend payload = @../outer/part.usda@</r>",
        "prepend references = @./link.usda@</r>",
    ):
        with pytest.raises(SceneError, match="outside of"):
            using(words)
    with pytest.raises(SceneError, match="outside of"):
        using("", "subLayers = [@../outer/part.usda@]")
    with pytest.raises(SceneError, match=r"is a https:// address|was not found|outside of"):
        using("prepend references = @https://example.org/part.usda@</r>")
    (inner / "r.usda").write_text('#usda 1.0\ndef Xform "x" (prepend references = @../outer/part.usda@</r>) { }\n')
    assert list(read_usd(inner / "r.usda", [outer]).links) == ["b"]


def test_binary_files_are_read_by_another_process_and_damaged_ones_are_refused(tmp_path):
    from pxr import Sdf

    hinge = joint("RevoluteJoint", "j", ["", "b"], "float physics:upperLimit = 30\nfloat physics:lowerLimit = -3")
    text = stage(tmp_path, body("b", content=cube()) + hinge)
    Sdf.Layer.FindOrOpen(str(text)).Export(str(tmp_path / "r.usdc"))
    binary = tmp_path / "r.usdc"
    assert read_usd(binary).joints["j"].limit == read_usd(text).joints["j"].limit
    binary.write_bytes(binary.read_bytes()[:200])
    with pytest.raises(SceneError, match=r"r\.usdc': it is damaged"):
        read_usd(binary)


def test_mutated_files_are_refused_or_make_a_robot(tmp_path):
    """Words and numbers of a good file swapped, dropped and doubled: never another error than ours."""
    rng = np.random.default_rng(5)
    drive = "float drive:rotX:physics:stiffness = 40\nfloat drive:rotX:physics:targetPosition = 20"
    good = stage(
        tmp_path,
        body("a", (0, 0, 1), cube("c", 0.2))
        + body("b", (1, 0, 1), f'def Capsule "k" ({SOLID}) {{\ndouble radius = 0.1\n}}')
        + joint(
            "RevoluteJoint", "j", ["a", "b"], "point3f physics:localPos0 = (1, 0, 0)\nfloat physics:upperLimit = 30"
        )
        + d6("k", ("", "a"), drive, '"PhysicsDriveAPI:rotX"', rotX=None, transZ=(-0.25, 0.5)),
        CENTI,
    ).read_text()
    numbers, words = (re.split(pattern, good) for pattern in (r"(?<![\w.])(-?\d+\.?\d*)(?![\w.])", r"([\w:]+)"))
    spoilt = ("nan", "-1", "1e38", "0", "inf", "1e-30", "90", '"Q"', "(1, 2)", "[]", "</nowhere>", "}", "def", "")
    made = 0
    for k in range(150):
        chosen = list(words if k % 5 == 0 else numbers)
        for place in 2 * rng.integers(0, len(chosen) // 2, 1 + k % 3) + 1:
            chosen[place] = spoilt[rng.integers(7 if k % 5 else len(spoilt))]
        (tmp_path / "m.usda").write_text("".join(chosen))
        try:
            robot = read_usd(tmp_path / "m.usda")
            for link in robot.links.values():
                assert link.inertia is None or np.isfinite(link.inertia.tensor).all()
            assert all(np.isfinite(joint.pose).all() for joint in (*robot.joints.values(), *robot.loops.values()))
            made += 1
        except SceneError as error:
            assert "m.usda" in str(error)
    assert 20 < made < 140


def test_a_ball_is_three_entries_of_q(tmp_path):
    """Along the joint's axes on body 1, whichever body carries the other; frames by Rodrigues' formula."""
    frames = """point3f physics:localPos0 = (0, 0, 0)
      point3f physics:localPos1 = (0, 0, 0.5)
      quatf physics:localRot0 = (0.70710678, 0, 0.70710678, 0)
      quatf physics:localRot1 = (0.70710678, 0, 0.70710678, 0)"""
    for ends in (["a", "b"], ["b", "a"]):
        swapped = frames if ends[0] == "a" else frames.replace("(0, 0, 0)", "x").replace("(0, 0, 0.5)", "(0, 0, 0)")
        file = stage(
            tmp_path,
            body("a", content=cube()) + body("b", (0, 0, -0.5), cube("c", 0.1))
            + joint("FixedJoint", "base", ["", "a"])
            + joint("SphericalJoint", "j", ends, swapped.replace("x", "(0, 0, 0.5)")),
        )  # fmt: skip
        robot = Sim(contact=False).robot(file)
        assert robot.names == ["j.rotation_x", "j.rotation_y", "j.rotation_z"]
        assert robot.q == pytest.approx([0, 0, 0], abs=FLOAT)
        robot.q = [0.0, 0.0, 0.4]  # the joint's z is x of both bodies
        turn = 0.4 if ends[0] == "a" else -0.4
        want = [0, 0.5 * np.sin(turn), -0.5 * np.cos(turn)]
        assert robot.bodies["b"].pos == pytest.approx(want, abs=FLOAT)
        robot.q = w = [0.3, -0.6, 1.1]
        assert robot.q == pytest.approx(w, abs=1e-12)
