"""Robots from URDF: shapes of links, where joints put them, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail import Scene
from dovetail.errors import GeometryError
from dovetail.io.urdf import UrdfIO

ARM = """<robot name="arm">
  <link name="base"><collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link>
  <link name="upper">
    <visual><geometry><sphere radius="0.05"/></geometry></visual>
    <collision><origin xyz="0 0 0.5" rpy="0 0 0"/><geometry><cylinder radius="0.05" length="1"/></geometry></collision>
  </link>
  <link name="lower"><collision><geometry><sphere radius="0.1"/></geometry></collision></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.1"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/><origin xyz="0 0 1" rpy="0 0 0"/>
    <axis xyz="0 1 0"/><mimic joint="shoulder" multiplier="-1" offset="0.5"/></joint>
</robot>"""


def read(tmp_path, text=ARM, **config):
    (tmp_path / "arm.urdf").write_text(text)
    scene = Scene()
    return UrdfIO(config or None).read(scene.objects.create("robot"), tmp_path / "arm.urdf"), scene


def pose(controller, index):
    return controller.links()[index].geometry.transforms.values[0]


def test_links_stand_upright_in_a_scene_with_y_up(tmp_path):
    robot, _ = read(tmp_path)
    base, lower, upper = (pose(robot, k) for k in range(3))
    np.testing.assert_allclose(base[:3, 3], 0.0, atol=1e-15)
    np.testing.assert_allclose(upper[:3, 3], [0, 0.1, 0], atol=1e-15)
    np.testing.assert_allclose(lower[:3, 3], [0, 1.1, 0], atol=1e-15)
    np.testing.assert_allclose(np.linalg.det(upper[:3, :3]), 1.0)
    shape = robot.links()[2].geometry.positions.values
    assert shape[:, 2].min() == pytest.approx(0.0, abs=1e-12), "the collision's own origin is in its shape"


def test_joints_turn_what_follows_and_mimics_follow_their_leader(tmp_path):
    robot, _ = read(tmp_path)
    robot.rotate_to("shoulder", np.pi / 2)
    robot.rotate_to("elbow", 3.0)  # it mimics the shoulder and keeps to it
    robot.apply_to("transform")
    # up turned about the file's y by 90° is the file's x, which is forward: −z here
    np.testing.assert_allclose(pose(robot, 1)[:3, 3], [0, 0.1, -1.0], atol=1e-12)
    turned = np.pi / 2 - (np.pi / 2 - 0.5)
    np.testing.assert_allclose(pose(robot, 1)[1, 2], np.cos(turned), atol=1e-12)
    robot.move_root([1.0, 0, 0], [0, 0, np.pi])
    robot.apply_to()
    np.testing.assert_allclose(pose(robot, 0)[:3, 3], [0, 0, -1.0], atol=1e-15)


def test_shapes_to_look_at_follow_when_asked(tmp_path):
    robot, scene = read(tmp_path)
    with_visual = len(scene.geometries)
    robot.rotate_to("shoulder", 1.0)
    robot.apply_to("transform")
    robot.sync_visual_mesh()
    sphere = next(
        s.geometry
        for s, _ in scene.geometries
        if s.geometry.meta.find("is_visible") is not None
        and s.geometry.meta["is_visible"][0] == 1
        and s.geometry.meta["name"][0] == "upper"
    )
    np.testing.assert_array_equal(sphere.transforms.values[0], pose(robot, 2))
    assert with_visual == len(read(tmp_path, load_visual_mesh=False)[1].geometries) + 1
    joints = robot.revolute_joints().geometry.instances
    assert list(joints["name"]) == ["shoulder", "elbow"] and joints["limits"].tolist() == [[-2, 2], [1, -1]]


def test_what_makes_no_robot_is_refused(tmp_path):
    for text, match in (
        ("<robot", "cannot be read as URDF"),
        (ARM.replace('<parent link="base"/>', ""), "joint 'shoulder' has no parent link"),
        (ARM.replace("</robot>", '<link name="loose"/></robot>'), "2 root links"),
        (ARM.replace('<sphere radius="0.1"/>', '<mesh filename="none.stl"/>'), "none.stl"),
    ):
        with pytest.raises(GeometryError, match=match):
            read(tmp_path, text)
    robot, _ = read(tmp_path)
    with pytest.raises(GeometryError, match="no joint 'wrist' turns; there are shoulder, elbow"):
        robot.rotate_to("wrist", 1.0)
