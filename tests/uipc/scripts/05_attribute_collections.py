"""Section 5: attribute collections."""

import json

import numpy as np
import uipc
from shapes import box, solid_box
from uipc import Vector3, view
from uipc.geometry import AttributeCollection


def refused(kind, call, *arguments):
    try:
        call(*arguments)
    except kind as error:
        return str(error)
    raise AssertionError(f"{call} {arguments} was accepted")


sc = solid_box()
for collection in (sc.vertices(), sc.edges(), sc.triangles(), sc.tetrahedra(), sc.instances()):
    assert collection.size() > 0
assert sc.edges().topo().view().shape[1:] == (2, 1) and sc.triangles().topo().view().shape[1:] == (3, 1)
assert sc.tetrahedra().topo().view().dtype == np.int32

color = sc.vertices().create("color", Vector3.Ones())
assert sc.vertices().find("color") is color and sc.vertices().find("none") is None
assert "exist" in refused(uipc.Exception, sc.vertices().create, "color", 1.0)
sc.vertices().destroy("nothing of that name")
for collection, name in ((sc.vertices(), "position"), (sc.instances(), "transform"), (sc.triangles(), "topo")):
    refused(uipc.Exception, collection.destroy, name)
sc.vertices().share("alias", color)
assert color.is_shared()
view(sc.vertices().find("alias"))[:] = 0.0
assert (color.view() == 1.0).all()

mesh = box()
tag = mesh.instances().create("tag", 7)
mesh.instances().resize(3)
mesh.instances().reserve(10)
assert tag.view().tolist() == [7, 7, 7] and mesh.transforms().view().shape == (3, 4, 4)
written = mesh.instances().to_json()["tag"]
assert written["name"] == "tag" and written["attribute"]["values"] == [7, 7, 7]
assert written["attribute"]["default_value"] == 7
mesh.instances().clear()
assert mesh.instances().size() == 0
json.loads(repr(mesh.meta()))

free = mesh["joint"]
assert isinstance(free, AttributeCollection) and free.size() == 0 and mesh["joint"] is free
assert mesh["vertices"].size() == mesh.vertices().size() and mesh["meta"].find("x") is None
free.resize(3)
order = free.create("order", 0)
view(order)[:] = [10, 20, 30]
free.reorder(np.array([2, 0, 1]))
assert order.view().tolist() == [30, 10, 20] and free.attribute_count() == 1

types = {
    "I32": [1, True, np.int64(3), np.array(4, np.int32)],
    "I64": [2**31 + 1],
    "U64": [2**63 + 1],
    "F64": [1.0, np.float64(2), np.array(3.0), np.array([4.0])],
    "string": ["text"],
    "Vector4": [np.zeros(4), np.zeros((4, 1))],
    "Vector6": [np.zeros(6)],
    "Vector9": [np.zeros(9)],
    "Matrix2x2": [np.zeros((2, 2))],
    "Matrix9x9": [np.zeros((9, 9))],
    "Vector2i": [np.zeros(2, np.int32)],
    "Vector4i": [np.zeros(4, np.int32)],
}
for name, values in types.items():
    for k, value in enumerate(values):
        assert sc.edges().create(f"{name} {k}", value).type_name() == name, (name, value)
for value in ([1, 2], (1.0,), None, np.float32(1), np.zeros(3, np.int64)):
    refused(TypeError, sc.edges().create, "x", value)
for value in (np.zeros((1, 3)), np.zeros(5), np.zeros((5, 5))):
    refused(RuntimeError, sc.edges().create, "x", value)
sc.edges().create(name="named", value=1.0)
print("section 5 done")
