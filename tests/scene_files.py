"""A mesh that is awkward to write, and scenes compared."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from dovetail.geometry import SimplicialComplex, label_surface, tetmesh, view
from dovetail.scene import Scene

__all__ = ["assert_equal_scenes", "awkward_mesh", "names"]


def awkward_mesh() -> SimplicialComplex:
    """A mesh with an attribute of every type, and numbers that do not survive careless writing."""
    rng = np.random.default_rng(0)
    mesh = tetmesh(rng.normal(size=(4, 3)), [[0, 1, 2, 3]])
    label_surface(mesh)
    mesh.instances.resize(3)
    view(mesh.transforms)[:] = rng.normal(size=(3, 4, 4))
    mesh.vertices.create("awkward", math.inf)
    mesh.vertices["awkward"] = [math.nan, -math.inf, -0.0, 5e-324]
    mesh.vertices.create("pi", 0.0)
    mesh.vertices["pi"] = math.pi
    mesh.meta.create("large", 2**40)
    mesh.meta.create("uid", np.uint64(2**63 + 1))
    mesh.meta.create("small", np.uint32(7))
    mesh.instances.create("label", 'Tür "1"\n')
    mesh.instances.create("pair", np.array([1, -2], np.int32))
    mesh.instances.create("force", rng.normal(size=12))
    mesh.instances.create("mass", rng.normal(size=(12, 12)))
    mesh.meta.create_uid_list("constraint_uids").insert(2**40)
    mesh["joint"].resize(2)
    mesh["joint"].create("index", 3)
    return mesh


def assert_equal_scenes(a: Scene, b: Scene) -> None:
    """Every array equal bit by bit, every name, number and flag equal."""

    def assert_equal_collections(one, two):
        assert one.size() == two.size() and list(one) == list(two)
        for name in one:
            x, y = one.slot(name), two.slot(name)
            assert (x.type_name(), x.allow_destroy()) == (y.type_name(), y.allow_destroy())
            assert x.values.dtype == y.values.dtype and x.values.strides == y.values.strides, name
            if x.values.dtype == object:
                assert [np.asarray(v).tolist() for v in x.values] == [np.asarray(v).tolist() for v in y.values]
            else:
                assert x.values.tobytes() == y.values.tobytes(), name
        if one.size() != 1:  # defaults appear in new elements
            one_more, two_more = one.copy(), two.copy()
            for more in (one_more, two_more):
                more.resize(one.size() + 1)
            assert str(one_more.to_json()) == str(two_more.to_json())

    assert_equal_collections(a.config.attributes, b.config.attributes)
    for table in ("contact_tabular", "subscene_tabular"):
        one, two = getattr(a, table), getattr(b, table)
        assert [e.name() for e in one.elements] == [e.name() for e in two.elements]
        assert_equal_collections(one.attributes, two.attributes)
    assert a.contact_tabular.default_is_users == b.contact_tabular.default_is_users
    assert [(o.id(), o.name(), o.geometries.ids().tolist()) for o in a.objects] == [
        (o.id(), o.name(), o.geometries.ids().tolist()) for o in b.objects
    ]
    assert a.objects.created_count() == b.objects.created_count()
    assert a.geometries.created_count() == b.geometries.created_count()
    assert len(a.geometries) == len(b.geometries)
    for pair, other_pair in zip(a.geometries, b.geometries, strict=True):
        for slot, other in zip(pair, other_pair, strict=True):
            assert type(slot) is type(other)
            assert (slot.id(), slot.object_name) == (other.id(), other.object_name)
            collections = dict(slot.geometry.collections()), dict(other.geometry.collections())
            assert list(collections[0]) == list(collections[1])
            for name in collections[0]:
                assert_equal_collections(collections[0][name], collections[1][name])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
