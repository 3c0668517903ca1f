"""Joints of USD robots: where they start, their axes, limits and drives, and those that close loops."""

from __future__ import annotations

import numpy as np
import pytest
from usd_files import FLOAT, body, cube, d6, joint, stage, told

from dovetail import Sim
from dovetail.robot.usd import read_usd

pytest.importorskip("pxr")


# --- joints -------------------------------------------------------------------------------------------------


def test_a_joint_from_child_to_parent_is_turned_round_and_counts_as_before(tmp_path):
    """Body 0 is what moves: it is carried by body 1, and the angle is still that of body 1 in body 0."""
    file = stage(
        tmp_path,
        body("arm", content=cube("c", 0.2))
        + joint("RevoluteJoint", "j", ["arm", ""], 'uniform token physics:axis = "Z"'),
    )
    sim = Sim(contact=False, gravity=(0, 0, 0))
    robot = sim.robot(file)
    robot.q = [0.3]
    # the world has turned by 0.3 in the arm, so the arm by −0.3 in the world
    assert robot.bodies["arm"].transform[1, 0] == pytest.approx(-np.sin(0.3), abs=1e-6)


def test_joints_start_where_the_bodies_lie(tmp_path):
    """A body turned by 90° about x and one 0.25 m along a slider, both on the world."""
    turned = body("t", (0, 0, 0), cube("c", 0.2), more="quatf xformOp:orient = (0.70710678, 0.70710678, 0, 0)")
    slid = body("s", (0, 0.25, 3), cube("c", 0.2))
    content = joint("RevoluteJoint", "hinge", ["", "t"]) + joint(
        "PrismaticJoint",
        "slider",
        ["", "s"],
        'uniform token physics:axis = "Y"\npoint3f physics:localPos0 = (0, 0, 3)\n'
        "float physics:lowerLimit = -1\nfloat physics:upperLimit = 1",
    )
    robot = Sim(contact=False).robot(stage(tmp_path, turned + slid + content))
    assert robot.q == pytest.approx((np.pi / 2, 0.25), abs=FLOAT)
    assert robot.limits[1] == pytest.approx((-1, 1))
    assert robot.frames["s"].pos == pytest.approx((0, 0.25, 3), abs=FLOAT)
    assert robot.frames["t"].transform[2, 1] == pytest.approx(1.0, abs=FLOAT)


def test_a_d6_joint_keeps_its_axes_limits_and_drives(tmp_path):
    drive = "float drive:rotX:physics:stiffness = 40\nfloat drive:rotX:physics:damping = 4\n"
    drive += "float drive:rotX:physics:targetPosition = 20"
    content = d6(more=drive, schemas='"PhysicsDriveAPI:rotX"', rotX=None, transZ=(-0.25, 0.5))
    file = stage(tmp_path, body("b", content=cube("c", 0.2)) + content)
    sim = Sim(contact=False, gravity=(0, 0, 0))
    robot = sim.robot(file)
    assert robot.names == ["j.z", "j.rx"]
    assert robot.limits == pytest.approx(np.array([[-0.25, 0.5], [-np.inf, np.inf]]))
    motor = robot.joints["j"].coordinates["rx"].drive
    assert (motor.stiffness, motor.target) == pytest.approx((40 * 180 / np.pi, np.radians(20)), rel=FLOAT)
    sim.step(100)
    assert robot.q[1] == pytest.approx(np.radians(20), abs=1e-3)


def test_axes_of_a_d6_joint_start_where_the_bodies_lie(tmp_path):
    """The body is 0.3 m along x of the world's frame and turned by 90° about x; its own anchor is at −0.1 m."""
    turned = body("b", (0.4, 0, 0), cube("c", 0.2), more="quatf xformOp:orient = (0.70710678, 0.70710678, 0, 0)")
    for k, ends, sign in ((1, ("", "b"), 1), (0, ("b", ""), -1)):
        content = d6(ends=ends, transX=(-1, 1), rotX=None, more=f"point3f physics:localPos{k} = (-0.1, 0, 0)")
        sim = Sim(contact=False, gravity=(0, 0, 0))
        robot = sim.robot(stage(tmp_path, turned + content))
        assert not told(robot, "is open by")
        assert robot.q == pytest.approx((sign * 0.3, sign * np.pi / 2), abs=FLOAT)
        robot.q = (0.0, 0.0)
        assert robot.bodies["b"].transform == pytest.approx(
            np.array([[1, 0, 0, 0.1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]), abs=1e-5
        )


@pytest.mark.parametrize(
    ("free", "kind"),
    [
        ({}, "fixed"),
        ({"rotY": (-30, 60)}, "revolute"),
        ({"transX": None}, "prismatic"),
        (dict.fromkeys(("rotX", "rotY", "rotZ")), "ball"),
    ],
)
def test_a_d6_joint_that_is_another_becomes_that(tmp_path, free, kind):
    robot = read_usd(stage(tmp_path, body("b", content=cube("c", 0.2)) + d6(**free)))
    assert robot.joints["j"].kind == kind
    if kind == "revolute":
        assert robot.joints["j"].limit == pytest.approx(np.radians((-30, 60)), rel=FLOAT)
        assert robot.joints["j"].axis == pytest.approx((0, 1, 0))


def test_the_cone_of_a_ball_bounds_where_its_axis_points(tmp_path):
    cone = 'uniform token physics:axis = "Z"\nfloat physics:coneAngle0Limit = 20\nfloat physics:coneAngle1Limit = 40'
    file = stage(
        tmp_path,
        body("b", (0, 0, -0.5), cube("c", 0.2))
        + joint("SphericalJoint", "j", ["", "b"], cone + "\npoint3f physics:localPos1 = (0, 0, 0.5)"),
    )
    # gravity to the side pulls the pendulum, whose axis is z, into the bound towards x, the axis next to z, then to y
    for gravity, tilt in (((9.81, 0, 0), 20), ((0, 9.81, 0), 40)):
        sim = Sim(contact=False, gravity=gravity)
        robot = sim.robot(file)
        assert told(robot, "the cone of joint /r/j")
        for coordinate in robot.joints["j"].coordinates.values():
            coordinate.damping = 2.0
        sim.step(300)
        z = robot.bodies["b"].transform[:3, 2]
        assert np.degrees(np.arccos(z[2])) == pytest.approx(tilt, abs=0.5)


def test_a_joint_that_is_left_over_closes_a_loop(tmp_path):
    """Four bars in a square of 1 m: the loop holds while the machine moves, with one degree of freedom."""
    places = {"a": (-0.5, 0, 0.5), "b": (0, 0, 1), "c": (0.5, 0, 0.5)}
    bars = "".join(body(name, place, cube("c", 0.1)) for name, place in places.items())

    def pin(name, ends, p0, p1, more=""):
        where = (
            f'uniform token physics:axis = "Y"\npoint3f physics:localPos0 = {p0}\npoint3f physics:localPos1 = {p1}\n'
        )
        return joint("RevoluteJoint", name, ends, where + more)

    pins = (
        pin("p", ["", "a"], (-0.5, 0, 0), (0, 0, -0.5))
        + pin("q", ["a", "b"], (0, 0, 0.5), (-0.5, 0, 0))
        + pin("s", ["b", "c"], (0.5, 0, 0), (0, 0, 0.5))
        + pin("t", ["", "c"], (0.5, 0, 0), (0, 0, -0.5), "bool physics:excludeFromArticulation = 1")
    )
    sim = Sim(contact=False, dt=0.005)
    robot = sim.robot(stage(tmp_path, bars + pins))
    assert list(robot.description.loops) == ["t"]
    assert robot.names == ["p", "q", "s"]
    robot.joints["p"].torque = 5.0
    sim.step(20)
    a, c = robot.bodies["a"], robot.bodies["c"]
    assert abs(a.transform[0, 2]) > 0.005  # it swings
    assert a.transform[0, 2] == pytest.approx(c.transform[0, 2], abs=1e-5)  # a parallelogram
    assert robot.joints["t"].gap < 1e-9


def test_distances_drives_of_accelerations_and_what_is_switched_off(tmp_path):
    """A rod; a motor whose effort is an acceleration; joints and bodies that are off or held."""
    rod = "point3f physics:localPos0 = (0, 0, 3)\nfloat physics:minDistance = 1\nfloat physics:maxDistance = 1"
    motor = 'float drive:linear:physics:stiffness = 5\nuniform token drive:linear:physics:type = "acceleration"\n'
    motor += "float physics:breakForce = 5"
    content = (
        body("hung", (0, 0, 2), cube("c", 0.1))
        + body("slider", (3, 0, 0), cube("c", 0.1))
        + body("held", (6, 0, 0), cube("c", 0.1), more="bool physics:kinematicEnabled = 1")
        + body("still", (9, 0, 0), cube("c", 0.1), more="bool physics:rigidBodyEnabled = 0")
        + joint("DistanceJoint", "rod", ["", "hung"], rod)
        + joint("DistanceJoint", "rope", ["", "hung"], "float physics:maxDistance = 9")
        + joint(
            "PrismaticJoint",
            "push",
            ["", "slider"],
            motor + "\npoint3f physics:localPos0 = (3, 0, 0)",
            '"PhysicsDriveAPI:linear"',
        )
        + joint("FixedJoint", "off", ["", "slider"], "bool physics:jointEnabled = 0")
        + joint(
            "FixedJoint",
            "touch",
            ["hung", "slider"],
            "bool physics:excludeFromArticulation = 1\nbool physics:jointEnabled = 0",
        )
    )
    sim = Sim(contact=False)
    robot = sim.robot(stage(tmp_path, content))
    assert robot.joints["push"].drive.stiffness == pytest.approx(2.0 * 5, rel=FLOAT)  # 2 kg
    assert "held" not in robot.bodies  # it is part of the world
    for words in (
        "joint /r/rope keeps a distance",
        "joint /r/off is not enabled",
        "joint /r/push may break",
        "/r/held is kinematic",
        "/r/still is a rigid body that is not enabled",
    ):
        assert len(told(robot, words)) == 1, words
    robot.bodies["hung"].velocity = (0.3, 0, 0)
    sim.step(50)
    assert np.linalg.norm(robot.bodies["hung"].pos - (0, 0, 3)) == pytest.approx(1.0, abs=1e-6)


def test_filtered_pairs_and_groups_keep_bodies_apart(tmp_path):
    def group(name, links, filtered):
        paths = ", ".join(f"</r/{link}/c>" for link in links)
        targets = ", ".join(f"</r/{other}>" for other in filtered)
        return (
            f'def PhysicsCollisionGroup "{name}" (prepend apiSchemas = ["CollectionAPI:colliders"]) {{\n'
            f"rel collection:colliders:includes = [{paths}]\nrel physics:filteredGroups = [{targets}]\n}}\n"
        )

    pairs = 'prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsFilteredPairsAPI"]'
    first = f'def Xform "a" ({pairs}) {{\nrel physics:filteredPairs = [</r/b>]\n{cube("c", 0.1)}\n}}\n'
    rest = "".join(body(name, (k, 0, 0), cube("c", 0.1)) for k, name in enumerate("bcd", 1))
    content = first + rest + group("g", "cd", ["h"]) + group("h", "b", [])
    robot = read_usd(stage(tmp_path, content))
    assert robot.apart == {frozenset("ab"), frozenset("bc"), frozenset("bd")}
