"""URDF files: what is read, what is told, what is refused, and where meshes may be."""

from __future__ import annotations

import numpy as np
import pytest
from robots import ARM

from dovetail.errors import SceneError
from dovetail.robot.paths import Folders
from dovetail.robot.urdf import read_urdf


@pytest.fixture
def read(tmp_path):
    def read(text, folders=()):
        file = tmp_path / "robot.urdf"
        file.write_text(text, encoding="utf-8")
        return read_urdf(file, folders)

    return read


def test_all_that_a_file_says_is_in_the_description(read):
    arm = read(ARM)
    assert arm.name == "arm" and arm.root == "world" and not arm.findings
    shoulder, wrist, finger = (arm.joints[name] for name in ("shoulder", "wrist", "finger_joint"))
    assert (shoulder.kind, shoulder.parent, shoulder.child) == ("revolute", "base", "upper")
    assert (shoulder.limit, shoulder.effort, shoulder.velocity) == ((-1.5, 2.0), 50.0, 3.0)
    assert (shoulder.damping, shoulder.friction) == (0.7, 0.2)
    assert np.allclose(shoulder.axis, (0, 1, 0))
    assert wrist.kind == "revolute" and wrist.limit is None and np.isinf([wrist.effort, wrist.velocity]).all()
    assert (finger.mimic.leader, finger.mimic.ratio, finger.mimic.offset) == ("wrist", -0.05, 0.02)
    upper = arm.links["upper"]
    assert upper.inertia.mass == 2.0 and np.allclose(upper.inertia.center, (0.2, 0.01, -0.02))
    assert (upper.collisions[0].kind, upper.collisions[0].size.tolist()) == ("cylinder", [0.03, 0.3])
    assert np.allclose(arm.links["base"].visuals[0].color, (0.2, 0.4, 0.6))
    assert arm.links["tool"].collisions == [] and arm.links["world"].inertia is None


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("</robot>", "<gazebo/>\n<gazebo/></robot>", r"<gazebo> is not read \(lines 49, 50\): settings of another"),
        ("</robot>", "<transmission/></robot>", r"<transmission> is not between one joint and one .* \(line 49\)"),
        ("</robot>", '<transmission><joint name="wrist"/><actuator/></transmission></robot>',
         r"<transmission> gives no rotorInertia \(line 49\): no rotor's inertia is added"),
        ("</robot>", '<transmission><joint name="stand"/><actuator><rotorInertia>1</rotorInertia></actuator>'
         "</transmission></robot>", r"<transmission> is on a joint that does not turn or slide"),
        ("</robot>", "<spaceship/></robot>", r"<spaceship> in <robot> is not read \(line 49\)"),
        ('<mass value="4"/>', '<mass value="4" unit="g"/>', r"unit of <mass> is not read \(line 7\)"),
        ('effort="50"', 'effort="50" current="3"', r"current of <limit> is not read \(line 13\)"),
        ('effort="50"', 'effort="0"', r"""'shoulder' has effort="0" \(line 13\), taken for no limit"""),
        ('<dynamics damping="0.7" friction="0.2"/>', '<safety_controller k_velocity="1" soft_lower_limit="-1"/>',
         r"the safety controller from -1 to 0 of joint 'shoulder' \(line 13\) is not enforced"),
        ('<axis xyz="0 0 1"/>', '<axis xyz="0 0 1"/><calibration rising="0.3"/>',
         r"the calibration of joint 'wrist' \(line 30\) is for its controller"),
        ('<box size="0.1 0.1 0.1"/>', '<sphere radius="0.0"/>',
         r"the visual of link 'base' \(line 8\) has no extent, and is not shown"),
        ('xyz="0 2 0"', 'xyz="0, 2, 0"', r"xyz of <axis> has commas \(line 12\), taken for spaces"),
        ("</robot>", '<drake:joint name="x"/></robot>', r"<drake:joint> in <robot> is not read \(line 49\)"),
        ('<axis xyz="0 0 1"/>', '<axis xyz="0 0 1"/><limit lower="-1" upper="1"/>',
         r"'wrist' is continuous, and its limits"),
        ('lower="-0.1" upper="0.3"', 'lower="-1e16" upper="1e16"', r"limits -1e\+16 to 1e\+16, taken for none"),
        ('<sphere radius="0.04"/>', '<mesh filename="gone.stl"/>',
         r"the collision mesh 'gone.stl' of link 'hand' was not found"),
        ('type="fixed"><parent link="world"/>', 'type="fixed"><mimic joint="wrist"/><parent link="world"/>',
         r"'stand' mimics 'wrist' and is fixed \(line 5\)"),
        ('<mass value="0.1"/>', '<mass value="0"/>',
         r"link 'finger' has inertia and no mass \(line 47\); both are left out"),
    ],
)  # fmt: skip
def test_what_is_not_honoured_is_told_with_its_line(read, before, after, told):
    import re

    assert before in ARM
    findings = read(ARM.replace(before, after, 1)).findings
    assert len(findings) == 1 and re.search(told, findings[0].text), findings


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [
        ("<robot", "<!DOCTYPE r [<!ENTITY a 'b'>]><robot", "line 2: it declares a document type"),
        ("</robot>", "", "it is not XML"),
        ('<robot name="arm">', '<robot name="arm"><xacro:if value="1"/>', "line 2: <xacro:if> is xacro; expand"),
        ('value="4"', 'value="${m}"', r'line 7: value="\$\{m\}" of <mass> is xacro'),
        ('value="4"', 'value="heavy"', 'line 7: <mass> has value="heavy"; give a finite number'),
        ('value="4"', 'value="nan"', 'line 7: <mass> has value="nan"; give a finite number'),
        ('value="4"', 'value="1_0"', 'give a finite number'),
        ('value="4"', 'value="-4"', 'line 7: <mass> has value="-4"; give a number ≥ 0'),
        ('<mass value="4"/>', "", "line 7: <inertial> has no <mass>; it needs one"),
        ('<mass value="4"/>', '<mass value="4"/><mass value="5"/>', "<inertial> has 2 <mass>; give one"),
        ('xyz="0 2 0"', 'xyz="0 0 0"', "joint 'shoulder' has the axis .*, which has no direction"),
        ('xyz="0 2 0"', 'xyz="0 2"', 'has xyz="0 2"; give 3 finite numbers'),
        ('<box size="0.1 0.1 0.1"/>', "<cone/>", "the visual of link 'base' is <cone>; give one of box, sphere"),
        ('size="0.1 0.1 0.1"', 'size="0.1 0 0.1"', "the box of link 'base' has the size .* edges > 0"),
        ('radius="0.03"', 'radius="0"', 'line 19: <cylinder> has radius="0"; give a number > 0'),
        ('type="revolute"', 'type="ball"', "joint 'shoulder' is of type 'ball'; there are revolute, continuous"),
        ('<limit lower="-1.5" upper="2" effort="50" velocity="3"/>', "", "is revolute and has no <limit>"),
        ('<child link="upper"/>', '<child link="uper"/>', "'shoulder' has the child 'uper'; there is no such link"),
        ('<child link="fore"/>', '<child link="upper"/>', "'upper' is the child of joint 'shoulder' and of joint"),
        ('<parent link="world"/>', '<parent link="hand"/>', "link 'base' hangs on itself by a circle of joints"),
        ('<link name="tool">', '<link name="hand">', "line 39: there is already a link 'hand', in line 32"),
        ('mimic joint="wrist"', 'mimic joint="elbow"', "'finger_joint' mimics 'elbow', and there is no such joint"),
        ('mimic joint="wrist"', 'mimic joint="finger_joint"', "joint 'finger_joint' mimics itself"),
        ('<link name="world"/>', '<link name=""/>', "a link has an empty name"),
        ('<robot name="arm">', "<mujoco>", "not XML"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_with_its_line(read, before, after, refused):
    assert before in ARM
    with pytest.raises(SceneError, match=refused):
        read(ARM.replace(before, after, 1))


def test_limits_upside_down_and_spherical_joints_are_read_as_bullet_does(read):
    upside = read(ARM.replace('lower="-1.5" upper="2"', 'lower="2" upper="-1.5"'))
    assert upside.joints["shoulder"].limit is None
    assert any("limits 2 to -1.5, upside down, taken for none (line" in str(found) for found in upside.findings)
    ball = read(ARM.replace('type="revolute"', 'type="spherical"', 1))
    assert ball.joints["shoulder"].kind == "ball" and ball.joints["shoulder"].limit is None
    assert any("'shoulder' is spherical, and its limits in line" in str(found) for found in ball.findings)


def test_of_two_axes_the_first_counts(read):
    twice = read(ARM.replace('<axis xyz="0 2 0"/>', '<axis xyz="0 2 0"/><axis xyz="1 0 0"/>', 1))
    assert twice.joints["shoulder"].axis.tolist() == [0, 1, 0]
    assert any("'shoulder' has 2 <axis>; the first counts (line" in str(found) for found in twice.findings)


def test_empty_lines_may_be_before_the_declaration_and_zeros_at_the_end(read):
    """Which XML forbids; lines are counted as editors do."""
    assert read("\n\n \n" + ARM + "\0\0").links["base"].where == "line 9"


def test_a_file_that_is_no_robot_is_refused(read):
    for text, why in (
        ("<sdf/>", "begins with <sdf>"),
        ("<robot/>", "has no links"),
        ("", "not XML"),
        ("\0", "not XML"),
    ):
        with pytest.raises(SceneError, match=why):
            read(text)
    deep = "<a>" * 300 + "</a>" * 300
    with pytest.raises(SceneError, match="nested more than 200 deep"):
        read(f"<robot>{deep}</robot>")


def test_entities_are_not_expanded(read, tmp_path):
    (tmp_path / "secret").write_text("3")
    bomb = '<!DOCTYPE r [<!ENTITY a "1111111111"><!ENTITY b "&a;&a;&a;&a;&a;">]>'
    for declaration in (
        bomb,
        f'<!DOCTYPE r [<!ENTITY b SYSTEM "file://{tmp_path}/secret">]>',
        '<!DOCTYPE r SYSTEM "x.dtd">',
    ):
        with pytest.raises(SceneError, match="declares a document type"):
            read(declaration + ARM.replace('<?xml version="1.0"?>\n', "").replace('value="4"', 'value="&b;"'))


def test_meshes_are_looked_for_in_the_robot_s_package_and_in_given_folders_only(tmp_path):
    for name in ("pkg/urdf/a.urdf", "pkg/meshes/a.stl", "other/m.stl", "share/lib/b.stl", "secret.stl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "pkg/meshes/out.stl").symlink_to(tmp_path / "secret.stl")
    own = Folders(tmp_path / "pkg/urdf/a.urdf")
    mesh = tmp_path / "pkg/meshes/a.stl"
    for uri in (
        "../meshes/a.stl",
        "package://pkg/meshes/a.stl",
        "package:///pkg/meshes/a.stl",
        f"file://{mesh}",
        str(mesh),
    ):
        assert own.find(uri) == mesh.resolve()
    outside = {
        "../../secret.stl": "is outside of",
        "../meshes/out.stl": "is outside of",
        "/etc/hostname": "is outside of",
        "file:///etc/hostname": "is outside of",
        "package://pkg/../secret.stl": "was not found",
        "package://other/m.stl": "was not found; give folders",  # not without a package.xml
        "package://../secret.stl": "names no package",
        "https://example.com/a.stl": "only files of this machine",
        "": "names no file",
        "a\0b": "names no file",
        "../meshes/b.stl": "was not found: there is no",
    }
    for uri, why in outside.items():
        with pytest.raises(ValueError, match=why):
            own.find(uri)
    given = Folders(tmp_path / "pkg/urdf/a.urdf", [tmp_path / "share"])
    assert (
        given.find("package://lib/b.stl") == given.find("package://share/lib/b.stl") == (tmp_path / "share/lib/b.stl")
    )
    (tmp_path / "pkg/package.xml").write_text("<package/>")
    assert Folders(tmp_path / "pkg/urdf/a.urdf").find("package://other/m.stl") == (tmp_path / "other/m.stl").resolve()
    with pytest.raises(SceneError, match="there is no folder"):
        Folders(tmp_path / "pkg/urdf/a.urdf", [tmp_path / "nowhere"])


@pytest.mark.parametrize(
    "actuator",
    [
        "<mechanicalReduction> -50 </mechanicalReduction><rotorInertia>2e-5</rotorInertia>",
        '<drake:gear_ratio value="50"/><drake:rotor_inertia value="2e-5"/>',
        '<rotor_inertia value="0.05"/>',
    ],
)
def test_rotors_behind_gears_are_inertia_of_their_joints(read, actuator):
    """N²J, with N = 50 or 1; interfaces of controllers are not told of."""
    hardware = "<hardwareInterface>effort</hardwareInterface>"
    added = (
        f'<transmission><joint name="wrist">{hardware}</joint><actuator>{hardware}{actuator}</actuator></transmission>'
    )
    arm = read(ARM.replace("</robot>", f"{added}</robot>"))
    assert arm.joints["wrist"].armature == pytest.approx(0.05) and arm.joints["shoulder"].armature == 0.0
    assert not arm.findings


@pytest.mark.parametrize("inertia, ratio", [("-1", "2"), ("1", "0"), ("x", "1"), ("", "1")])
def test_rotors_that_cannot_be_are_refused(read, inertia, ratio):
    added = (
        f"<actuator><rotorInertia>{inertia}</rotorInertia><mechanicalReduction>{ratio}</mechanicalReduction></actuator>"
    )
    with pytest.raises(SceneError, match="line 49"):
        read(ARM.replace("</robot>", f'<transmission><joint name="wrist"/>{added}</transmission></robot>'))
