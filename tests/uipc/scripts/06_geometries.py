"""Section 6: geometry classes."""

import numpy as np
from shapes import box, solid_box
from uipc import Scene, view
from uipc.geometry import (
    Geometry,
    GeometryAtlas,
    GeometrySlot,
    IGeometry,
    ImplicitGeometry,
    ImplicitGeometrySlot,
    SimplicialComplex,
    SimplicialComplexSlot,
    ground,
    linemesh,
    pointcloud,
)

plain = Geometry()
assert isinstance(plain, IGeometry) and plain.type() == "Geometry" and isinstance(plain.to_json(), dict)
plain.meta().create("mass", 1.0)
assert plain.clone().meta().find("mass").view()[0] == 1.0 and plain.instances().size() == 1
assert plain["joint"].size() == 0 and "mass" in repr(plain)
assert isinstance(ImplicitGeometry(), Geometry)

for sc, dim in ((pointcloud([[0, 0, 0]]), 0), (linemesh(np.eye(3)[:2], [[0, 1]]), 1), (box(), 2), (solid_box(), 3)):
    assert isinstance(sc, SimplicialComplex) and sc.dim() == dim
    assert sc.positions().view().shape[1:] == (3, 1) and sc.transforms().view().shape == (1, 4, 4)
    assert "position*" in repr(sc) and "transform*" in repr(sc)
    copy = sc.copy()
    view(copy.positions())[:] = 1.0
    assert not np.array_equal(copy.positions().view(), sc.positions().view())

scene = Scene()
slot, rest = scene.objects().create("box").geometries().create(box())
assert isinstance(slot, SimplicialComplexSlot) and isinstance(slot, GeometrySlot) and slot.id() == 0
assert slot.geometry() is slot.geometry() and rest.geometry() is not slot.geometry()
view(slot.geometry().transforms())[0, 1, 3] = 2.0  # the scene's own
assert scene.geometries().find(0)[0].geometry().transforms().view()[0, 1, 3] == 2.0
plane, _ = scene.objects().create("ground").geometries().create(ground())
assert isinstance(plane, ImplicitGeometrySlot) and isinstance(plane.geometry(), ImplicitGeometry)

atlas = GeometryAtlas()
assert atlas.create(box()) == 0 and atlas.create(ground(), evolving_only=False) == 1
atlas.create("table", plain["joint"])
assert atlas.geometry_count() == 2 and atlas.attribute_collection_count() == 1
assert list(atlas.attribute_collection_names()) == ["table"]
again = GeometryAtlas()
again.from_json(atlas.to_json())
assert again.geometry_count() == 2
print("section 6 done")
