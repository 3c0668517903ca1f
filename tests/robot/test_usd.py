"""USD robots: small stages, one for each thing that they say, compared with numbers worked out by hand."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dovetail import Sim
from dovetail.errors import SceneError
from dovetail.robot.usd import read_usd

pytest.importorskip("pxr")

BODY = 'prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]'
SOLID = 'prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMassAPI"]'
FLOAT = 2e-6  # numbers of the format are single floats, and angles of 100° have some 1e-7 of that


def at(x, y, z, more=""):
    order = ", ".join(f'"xformOp:{name}"' for name in ("translate", *(["orient"] if "orient" in more else [])))
    return f"double3 xformOp:translate = ({x}, {y}, {z})\n{more}\nuniform token[] xformOpOrder = [{order}]\n"


def body(name, place=(0, 0, 0), content="", mass="float physics:mass = 2", more=""):
    return f'def Xform "{name}" ({BODY}) {{\n{at(*place, more)}{mass}\n{content}\n}}\n'


def cube(name="c", size=1.0, place=(0, 0, 0), more=""):
    return f'def Cube "{name}" ({SOLID}) {{\n{at(*place)}double size = {size}\n{more}\n}}\n'


def joint(kind, name, ends, content="", schemas=""):
    rels = "\n".join(f"rel physics:body{k} = </r/{end}>" for k, end in enumerate(ends) if end)
    wanted = f"(prepend apiSchemas = [{schemas}])" if schemas else ""
    return f'def Physics{kind} "{name}" {wanted} {{\n{rels}\n{content}\n}}\n'


def stage(tmp_path, content, header='metersPerUnit = 1\nupAxis = "Z"', name="r.usda"):
    file = tmp_path / name
    file.write_text(f'#usda 1.0\n(\ndefaultPrim = "r"\n{header}\n)\ndef Xform "r" {{\n{content}\n}}\n')
    return file


def told(robot, words):
    return [f"{f.text}; {f.advice}" for f in robot.findings if words in f.text]


# --- units, bodies, masses ----------------------------------------------------------------------------------

CENTI = 'metersPerUnit = 0.01\nkilogramsPerUnit = 0.5\nupAxis = "Y"'


def test_units_and_the_axis_that_is_up_are_honoured(tmp_path):
    """A hinge about y, 30 cm up, with a box of 20 cm; the drive's gains are per degree."""
    mass = """float physics:mass = 4
        point3f physics:centerOfMass = (10, 0, 0)
        float3 physics:diagonalInertia = (100, 200, 300)
        quatf physics:principalAxes = (0.70710678, 0, 0, 0.70710678)"""
    drive = """uniform token physics:axis = "Y"
        point3f physics:localPos0 = (0, 30, 0)
        float physics:lowerLimit = -90
        float physics:upperLimit = 45
        float drive:angular:physics:stiffness = 8
        float drive:angular:physics:damping = 2
        float drive:angular:physics:targetPosition = 30
        float drive:angular:physics:maxForce = 5000"""
    hinge = joint("RevoluteJoint", "hinge", ["", "arm"], drive, '"PhysicsDriveAPI:angular"')
    robot = read_usd(stage(tmp_path, body("arm", (0, 30, 0), cube("c", 20, (10, 0, 0)), mass) + hinge, CENTI))
    arm, made = robot.links["arm"], robot.joints["hinge"]
    assert arm.inertia.mass == pytest.approx(2.0, rel=FLOAT)
    assert arm.inertia.center == pytest.approx((0.1, 0, 0), abs=FLOAT)
    # x and y swap by the principal axes; 0.5 kg · 1e-4 m²
    assert arm.inertia.tensor == pytest.approx(np.diag([200, 100, 300]) * 0.5e-4, abs=1e-8)
    assert made.limit == pytest.approx((-np.pi / 2, np.pi / 4), rel=FLOAT)
    newton_metre = 0.5 * 1e-4
    motor = made.motor
    assert motor.stiffness == pytest.approx(8 * newton_metre * 180 / np.pi, rel=FLOAT)
    assert motor.damping == pytest.approx(2 * newton_metre * 180 / np.pi, rel=FLOAT)
    assert (motor.target, motor.effort) == pytest.approx((np.pi / 6, 5000 * newton_metre), rel=FLOAT)
    sim = Sim(contact=False)
    robot = sim.robot(tmp_path / "r.usda", pos=(1, 0, 0))
    assert robot.frames["arm"].pos == pytest.approx((1, 0, 0.3), abs=FLOAT)  # y of the file is z
    assert robot.joints["hinge"].axis == pytest.approx((0, 0, 1), abs=FLOAT)
    assert robot.bodies["arm"].center == pytest.approx((1.1, 0, 0.3), abs=FLOAT)


def test_mass_is_that_of_the_body_or_of_its_colliders_by_the_nearest_density(tmp_path):
    ball = f'def Sphere "s" ({SOLID}) {{\ndouble radius = 0.5\nfloat physics:density = 10\n}}\n'
    given = f'def Capsule "k" ({SOLID}) {{\ndouble radius = 0.5\ndouble height = 1\nfloat physics:mass = 7\n}}\n'
    content = (
        body("whole", content=cube() + ball)
        + body(
            "parts",
            (9, 0, 0),
            cube() + cube("d", 1, (2, 0, 0), "float physics:density = 50") + given,
            "float physics:density = 100",
        )
        + body("water", (0, 9, 0), cube("c", 0.1), "")
    )
    links = read_usd(stage(tmp_path, content)).links
    assert links["whole"].inertia.mass == 2.0
    assert links["parts"].inertia.mass == pytest.approx(100 + 50 + 7, rel=FLOAT)
    assert links["parts"].inertia.center == pytest.approx((2 * 50 / 157, 0, 0), rel=FLOAT)
    assert links["water"].inertia.mass == pytest.approx(1.0, rel=FLOAT)
    assert links["water"].inertia.tensor == pytest.approx(np.eye(3) * 0.1**2 / 6, rel=FLOAT)


SHAPES = {
    "Cube": ("double size = 2", 8.0, (2, 2, 2)),
    "Sphere": ("double radius = 0.5", 4 / 3 * np.pi * 0.5**3, (1, 1, 1)),
    "Capsule": ("double radius = 0.5\ndouble height = 3", np.pi * 0.25 * 3 + np.pi / 6, (4, 1, 1)),
    "Cylinder": ("double radius = 0.5\ndouble height = 3", np.pi * 0.25 * 3, (1, 3, 1)),
    # a pyramid of 32 sides
    "Cone": ("double radius = 0.5\ndouble height = 3", 0.5 * 32 * np.sin(np.pi / 16) * 0.25, (1, 1, 3)),
}


@pytest.mark.parametrize("kind", SHAPES)
def test_shapes_have_their_size_and_axis(tmp_path, kind):
    words, volume, size = SHAPES[kind]
    axis = {"Capsule": "X", "Cylinder": "Y", "Cone": "Z"}.get(kind)
    words += f'\nuniform token axis = "{axis}"' if axis else ""
    file = stage(tmp_path, body("b", content=f'def {kind} "s" ({SOLID}) {{\n{words}\n}}\n', mass=""))
    robot = Sim().robot(file)
    assert robot.mass == pytest.approx(1000 * volume, rel=1e-5)
    # what is round touches as a polyhedron inside of it, beside others and in pictures
    assert np.ptp(robot.bodies["b"].vertices, axis=0) == pytest.approx(size, rel=0.02)


def test_meshes_touch_as_the_file_wants_and_are_scaled(tmp_path):
    tetrahedron = """point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
        int[] faceVertexCounts = [3, 3, 3, 3]
        int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]
        double3 xformOp:scale = (1, 2, 3)
        uniform token[] xformOpOrder = ["xformOp:scale"]"""
    for fit, kind in (("convexHull", "hull"), ("boundingCube", "boxes"), ("boundingSphere", "sphere"), ("sdf", "")):
        api = 'prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"]'
        mesh = f'def Mesh "m" ({api}) {{\n{tetrahedron}\nuniform token physics:approximation = "{fit}"\n}}\n'
        robot = read_usd(stage(tmp_path, body("b", content=mesh, mass="")))
        (shape,) = robot.links["b"].collisions
        assert kind in (shape.fit, shape.kind)
        assert bool(told(robot, f"asks for the approximation {fit}")) == (fit == "sdf")
        if fit == "convexHull":
            assert robot.links["b"].inertia.mass == pytest.approx(1000, rel=FLOAT)  # 1·2·3/6
            assert robot.links["b"].inertia.center == pytest.approx((0.25, 0.5, 0.75), rel=FLOAT)


def test_static_shapes_and_planes_are_the_world_and_a_free_body_lands_on_them(tmp_path):
    plane = 'def Plane "p" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {\nuniform token axis = "Z"\n}\n'
    file = stage(
        tmp_path,
        body("b", (0, 0, 0.06), cube("c", 0.1), "float physics:mass = 1") + plane + cube("s", 0.1, (1, 0, 0.2)),
    )
    sim = Sim(dt=0.005)
    robot = sim.robot(file)
    assert list(robot.bodies) == ["world", "b"]
    assert robot.bodies["world"].fixed
    sim.step(60)
    assert robot.bodies["b"].pos[2] == pytest.approx(0.05, abs=2e-3)  # on the plane, d̂ = 1 mm above it


def test_a_robot_that_hangs_on_nothing_has_a_free_base_where_the_file_has_it(tmp_path):
    hinge = joint("RevoluteJoint", "j", ["a", "b"], "point3f physics:localPos0 = (1, 0, 0)")
    file = stage(tmp_path, body("a", (0, 0, 5), cube("c", 0.2)) + body("b", (1, 0, 5), cube("c", 0.2)) + hinge)
    robot = Sim().robot(file)
    assert (robot.description.root, robot.base.fixed) == ("a", False)
    assert robot.pos == pytest.approx((0, 0, 5))
    assert Sim().robot(file, fixed_base=True).base.fixed


def test_the_articulation_root_is_the_base(tmp_path):
    """Whichever body the joints begin with."""
    hinge = joint("RevoluteJoint", "j", ["a", "b"], "point3f physics:localPos0 = (1, 0, 0)")
    bodies = body("a", (0, 0, 5), cube("c", 0.2)) + body("b", (1, 0, 5), cube("c", 0.2))
    assert read_usd(stage(tmp_path, bodies + hinge)).root == "a"
    first = 'def Xform "b" (prepend apiSchemas = ['
    rooted = bodies.replace(first, f'{first}"PhysicsArticulationRootAPI", ')
    assert read_usd(stage(tmp_path, rooted + hinge)).root == "b"


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


def limits(**bounds):
    return "\n".join(
        f"float limit:{dof}:physics:low = {lo}\nfloat limit:{dof}:physics:high = {hi}"
        for dof, (lo, hi) in bounds.items()
    )


LOCKED = dict.fromkeys(("transX", "transY", "transZ", "rotX", "rotY", "rotZ"), (1, -1))


def d6(name="j", ends=("", "b"), more="", schemas="", **free):
    bounds = {dof: span for dof, span in {**LOCKED, **free}.items() if span is not None}
    listed = ", ".join([f'"PhysicsLimitAPI:{dof}"' for dof in bounds] + ([schemas] if schemas else []))
    return joint("Joint", name, ends, limits(**bounds) + "\n" + more, listed)


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
