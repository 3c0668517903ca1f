"""What robots look like, apart from what touches: in pictures, recordings, exports and the viewer."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from dovetail import Camera, Sim
from dovetail.export import export
from dovetail.io import Recording
from dovetail.io.describe import describe

RED, BLUE = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)

URDF = """<robot name="r">
  <link name="foot">
    <inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial>
    <visual><origin xyz="0 0 0.5"/><geometry><box size="0.1 0.2 0.3"/></geometry>
      <material name="m"><color rgba="1 0 0 1"/></material></visual>
    <visual><origin xyz="1 0 0"/><geometry><sphere radius="0.25"/></geometry>
      <material name="n"><color rgba="0 0 1 1"/></material></visual>
    <visual><geometry><mesh filename="lost.stl"/></geometry></visual>
    <collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision>
  </link>
</robot>"""
MJCF = """<mujoco model="r"><asset><mesh name="wedge" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset><worldbody>
  <body name="foot" pos="0 0 1"><freejoint/>
    <geom type="box" size="0.1 0.1 0.1" group="0"/>
    <geom type="mesh" mesh="wedge" contype="0" conaffinity="0" group="1" rgba="1 0 0 1"/>
    <geom type="sphere" size="0.2" contype="0" conaffinity="0" group="1" rgba="0 0 1 1"/>
    <geom type="sphere" size="0.3" contype="0" conaffinity="0" group="4"/>
    <geom type="sphere" size="0.4" contype="0" conaffinity="0" rgba="0 0 1 0"/></body>
  <body name="bare" pos="0 0 3"><joint/><geom type="capsule" size="0.1 0.1" rgba="1 0 0 1"/></body>
</worldbody></mujoco>"""
USDA = """#usda 1.0
(
  metersPerUnit = 0.01
  upAxis = "Z"
)
def Xform "foot" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
{
  float physics:mass = 1
  def Cube "touches" (prepend apiSchemas = ["PhysicsCollisionAPI"])
  {
    double size = 20
    uniform token purpose = "guide"
  }
  def Mesh "seen"
  {
    point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
    int[] faceVertexCounts = [4]
    int[] faceVertexIndices = [0, 1, 2, 3]
    color3f[] primvars:displayColor = [(1, 0, 0)]
    double3 xformOp:scale = (-200, 100, 100)
    uniform token[] xformOpOrder = ["xformOp:scale"]
  }
  def Sphere "painted" (prepend apiSchemas = ["MaterialBindingAPI"])
  {
    double radius = 25
    rel material:binding = </paint>
  }
  def Sphere "hidden"
  {
    double radius = 50
    token visibility = "invisible"
  }
}
def Material "paint"
{
  token outputs:surface.connect = </paint/shader.outputs:surface>
  def Shader "shader"
  {
    uniform token info:id = "UsdPreviewSurface"
    color3f inputs:diffuseColor = (0, 0, 1)
    token outputs:surface
  }
}
"""


def spans(body):
    """Colour and box of each of the looks of a recorded body."""
    found = []
    for shape, color in body.looks:
        low, high = shape.vertices.min(axis=0), shape.vertices.max(axis=0)
        found.append((color or body.color, np.round([*low, *high], 2).tolist()))
    return found


def made(tmp_path, name, text):
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    sim = Sim(dt=0.01)
    sim.ground()
    return sim, sim.robot(file, pos=(0, 0, 0.15), fixed_base=False if name.endswith("urdf") else None)


@pytest.fixture
def urdf(tmp_path):
    return made(tmp_path, "r.urdf", URDF)


SEEN = [(RED, [-0.05, -0.1, 0.35, 0.05, 0.1, 0.65]), (BLUE, [0.75, -0.25, -0.25, 1.25, 0.25, 0.25])]


def test_what_touches_is_not_what_is_seen(urdf):
    sim, robot = urdf
    foot = robot.bodies["foot"]
    assert np.ptp(foot.vertices, axis=0) == pytest.approx([0.2, 0.2, 0.2])
    assert len(foot.looks) == 2
    assert any("lost.stl" in finding.text for finding in robot.findings)
    assert spans(describe(sim.world).cast().bodies[0]) == SEEN
    sim.step(60)
    # it stands on its collision box, and not on the ball beside it, which reaches through the ground
    assert foot.pos[2] == pytest.approx(0.1, abs=2e-3)
    bodies = sim.picture(width=80, height=60, camera=Camera((1, -3, 0.3), look_at=(1, 0, 0.3)), kind="bodies")
    assert bodies[30, 40] == 0  # the ball, 0.9 m beside all that touches
    picture = sim.picture(width=80, height=60, camera=Camera((1, -3, 0.3), look_at=(1, 0, 0.3)))
    assert picture[28, 40].argmax() == 2
    foot.color = (0.0, 1.0, 0.0)  # repaints what has the body's colour
    assert sim.picture(width=80, height=60, camera=Camera((0, -3, 0.6), look_at=(0, 0, 0.6)))[30, 40].argmax() == 1


def test_recordings_and_exports_show_it(urdf, tmp_path):
    pygltflib = pytest.importorskip("pygltflib")
    sim, _ = urdf
    with sim.record(tmp_path / "r.dove"):
        sim.step(3)
    with Recording(tmp_path / "r.dove") as recording:
        assert spans(recording.bodies[0]) == SEEN
        assert len(recording.bodies[0].vertices) == 8  # what touches is kept beside it
    export(tmp_path / "r.dove", tmp_path / "r.glb")
    meshes = pygltflib.GLTF2().load(str(tmp_path / "r.glb")).meshes
    assert [len(mesh.primitives) for mesh in meshes] == [2, 1]  # of the foot and of the ground
    export(tmp_path / "r.dove", tmp_path / "frames")
    lines = (tmp_path / "frames" / "frame_00000.obj").read_text(encoding="utf-8").splitlines()
    corners = np.array([line.split()[1:] for line in lines if line.startswith("v ")], float)
    faces = np.array([line.split()[1:] for line in lines if line.startswith("f ")], int)
    assert np.ptp(corners, axis=0) == pytest.approx([1.3, 0.5, 0.9], abs=0.01)
    assert faces.min() == 1
    assert faces.max() == len(corners)


def test_the_viewer_shows_every_colour(urdf):
    viser = pytest.importorskip("viser")
    from dovetail.viewer.stage import Stage

    sim, _ = urdf
    server = viser.ViserServer(port=0, verbose=False)
    try:
        stage = Stage(server, describe(sim.world).cast(), sim.bodies[0].transform[None], np.zeros(0))
        colours = [tuple(batch.handle.batched_colors.reshape(-1)) for batch in stage.batches]
        assert colours == [(255, 0, 0), (0, 0, 255)]
        stage.selected = 0
        stage.restyle()
        assert all(batch.handle.batched_colors.reshape(-1)[1] > 30 for batch in stage.batches)  # both are lit
    finally:
        server.stop()


def test_visuals_can_be_left_alone(tmp_path):
    (tmp_path / "r.urdf").write_text(URDF, encoding="utf-8")
    sim = Sim()
    robot = sim.robot(tmp_path / "r.urdf", visuals=False)
    assert robot.bodies["foot"].looks == []
    assert len(describe(sim.world).cast().bodies[0].looks[0].shape.triangles) == 12


@pytest.mark.skipif(importlib.util.find_spec("mujoco") is None, reason="needs mujoco, which is 100 MB")
def test_mjcf_shows_meshes_of_a_group_of_their_own_and_hides_what_mujoco_hides(tmp_path):
    sim, robot = made(tmp_path, "r.xml", MJCF)
    cast = {body.name: body for body in describe(sim.world).cast().bodies}
    assert [color for color, _ in spans(cast["r/foot"])] == [RED, BLUE]
    assert spans(cast["r/foot"])[1][1] == [-0.2] * 3 + [0.2] * 3
    assert np.ptp(robot.bodies["foot"].vertices, axis=0) == pytest.approx([0.2] * 3)
    assert robot.bodies["bare"].looks == []  # what touches, in one colour
    assert cast["r/bare"].color == RED


def test_usd_shows_what_renderers_show(tmp_path):
    pytest.importorskip("pxr")
    sim, robot = made(tmp_path, "r.usda", USDA)
    (body,) = describe(sim.world).cast().bodies
    assert spans(body) == [(RED, [-2, 0, 0, 0, 1, 0]), (BLUE, [-0.25] * 3 + [0.25] * 3)]
    a, b, c = body.looks[0].shape.vertices[body.looks[0].shape.triangles[0]]
    assert np.cross(b - a, c - a)[2] > 0.0  # mirrored, and still counter-clockwise from above
    assert np.ptp(robot.bodies["foot"].vertices, axis=0) == pytest.approx([0.2] * 3)


def test_a_colour_of_an_unknown_type_is_taken_for_that_of_its_schema(tmp_path):
    pytest.importorskip("pxr")
    sim, _ = made(tmp_path, "r.usda", USDA.replace("color3f[] primvars:displayColor", "colour[] primvars:displayColor"))
    (body,) = describe(sim.world).cast().bodies
    assert [color for color, _ in spans(body)] == [RED, BLUE]
