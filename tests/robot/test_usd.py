"""USD robots: small stages, one for each thing that they say, compared with numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from usd_files import CENTI, FLOAT, SOLID, body, cube, joint, stage, told

from dovetail import Sim
from dovetail.robot.usd import read_usd

pytest.importorskip("pxr")


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
