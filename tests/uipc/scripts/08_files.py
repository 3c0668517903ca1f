"""Section 8: reading and writing."""

import os

import numpy as np
import uipc
from shapes import box, solid_box
from uipc import Scene, SceneIO, Transform, view
from uipc.constitution import AffineBodyConstitution
from uipc.core import SceneFactory, SceneSnapshot, SceneSnapshotCommit
from uipc.geometry import AttributeIO, SimplicialComplexIO, SpreadSheetIO, UrdfIO, ground


def refused(call, *arguments):
    try:
        call(*arguments)
    except uipc.Exception:
        return
    raise AssertionError(f"{call} {arguments} was accepted")


io = SimplicialComplexIO()
for name, mesh in (("box.obj", box()), ("box.msh", solid_box()), ("box.ply", box()), ("box.stl", box())):
    io.write(name, mesh)
    assert io.read(name).dim() == mesh.dim()
double = Transform.Identity().scale(2.0)
for pre in (double, double.matrix()):
    assert SimplicialComplexIO(pre).read("box.obj").positions().view().max() == 0.2
refused(io.read, "none.obj")
refused(io.read, "box.xyz")

scene = Scene()
mesh = box()
AffineBodyConstitution().apply_to(mesh, 1e8)
slot, _ = scene.objects().create("box").geometries().create(mesh)
scene.objects().create("ground").geometries().create(ground(-1.0))
sio = SceneIO(scene)
sio.write_surface("surface.obj")
refused(sio.write_surface, "surface.ply")
for dim, count in ((-1, 8), (2, 8), (1, 0), (0, 0), (3, 0)):
    assert sio.simplicial_surface(dim).vertices().size() == count, dim
assert sio.simplicial_surface().triangles().topo().view().shape == (12, 3, 1)

for name in ("scene.json", "scene.bson"):
    sio.save(name)
    loaded = SceneIO.load(name)
    assert isinstance(loaded, Scene) and loaded.objects().find("box")[0].name() == "box"
    assert np.array_equal(
        loaded.geometries().find(0)[0].geometry().positions().view(), slot.geometry().positions().view()
    )
assert SceneIO.from_json(sio.to_json()).objects().size() == 2
written = sio.to_json()
assert "type" in written["__meta__"]
assert {"contact_tabular", "subscene_tabular", "geometry_atlas", "geometry_slots", "object_collection"} <= written[
    "__data__"
].keys()

before = SceneSnapshot(scene)
view(slot.geometry().transforms())[0, 1, 3] = 3.0
after = SceneSnapshot(scene)
assert isinstance(after - before, SceneSnapshotCommit)
sio.commit(before, "change.json")
other = SceneIO.load("scene.json")
SceneIO(other).update("change.json")
assert other.geometries().find(0)[0].geometry().transforms().view()[0, 1, 3] == 3.0
third = SceneIO.load("scene.json")
SceneIO(third).update_from_json(sio.commit_to_json(before))
assert third.geometries().find(0)[0].geometry().transforms().view()[0, 1, 3] == 3.0
factory = SceneFactory()
assert isinstance(factory.from_snapshot(factory.from_json(factory.to_json(after))), Scene)

sheet = SpreadSheetIO("./")
sheet.write_json(mesh)
sheet.write_csv("box", mesh)
sheet.write_json("box", mesh)
assert os.path.exists("box.vertices.csv")
blank = box()
view(blank.positions())[:] = 0.0
AttributeIO("box.vertices.csv").read("position", blank.positions())
assert np.array_equal(blank.positions().view(), mesh.positions().view())

with open("arm.urdf", "w") as file:
    file.write(
        """<robot name="arm">
  <link name="base"><collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
  <link name="rod"><collision><origin xyz="0 0 0.5"/><geometry><mesh filename="box.obj"/></geometry></collision></link>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="rod"/><origin xyz="0 0 0.1"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>"""
    )
robot = UrdfIO(config={"load_visual_mesh": False}).read(scene.objects().create("robot"), "arm.urdf")
assert len(robot.links()) == 2 and robot.revolute_joints().geometry().instances().find("name").view()[0] == "hinge"
rod = robot.links()[1].geometry()
np.testing.assert_allclose(rod.transforms().view()[0][:3, 3], [0, 0.1, 0], atol=1e-15)
robot.rotate_to("hinge", np.pi / 2)
robot.move_root([0, 0, 1.0], [0, 0, 0])
robot.apply_to("transform")
robot.sync_visual_mesh()
# z up in the file is y up in the scene, x forward is −z: the rod, which pointed up, now points forward
tip = rod.transforms().view()[0] @ [0, 0, 0.5, 1]
np.testing.assert_allclose(tip[:3], [0, 1.1, -0.5], atol=1e-12)
print("section 8 done")
