from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dovetail.errors import GeometryError
from dovetail.geometry import (
    AttributeCollection,
    GeometryAtlas,
    geometry_from_json,
    geometry_to_json,
    ground,
    linemesh,
    view,
)
from dovetail.geometry.attribute import Buffer
from dovetail.geometry.attribute_type import TYPES
from dovetail.geometry.geometry import Geometry


def through_text(written):
    return json.loads(json.dumps(written, allow_nan=False))


def assert_equal_geometries(left, right):
    assert left.type() == right.type()
    names = [name for name, _ in left.collections()]
    assert names == [name for name, _ in right.collections()]
    for name in names:
        one, two = left[name], right[name]
        assert one.size() == two.size() and list(one) == list(two)
        for attribute in one:
            assert_equal_slots(one.slot(attribute), two.slot(attribute))


def assert_equal_slots(one, two):
    assert one.type_name() == two.type_name() and one.allow_destroy() == two.allow_destroy()
    if one.values.dtype == object:
        assert [np.asarray(v).tolist() for v in one.values] == [np.asarray(v).tolist() for v in two.values]
        assert np.array_equal(one.buffer.default, two.buffer.default)
    else:
        assert np.ascontiguousarray(one.values).tobytes() == np.ascontiguousarray(two.values).tobytes()
        assert np.asarray(one.buffer.default).tobytes() == np.asarray(two.buffer.default).tobytes()


def rich_geometry():
    geometry = linemesh(np.random.default_rng(0).normal(size=(3, 3)), [[0, 1], [1, 2]])
    for name, kind in TYPES.items():
        if kind.dtype != object:
            geometry.edges.insert_buffer(name, Buffer.filled(kind, 2, np.ones(kind.shape)))
    geometry.edges["F64"] = [np.nan, -np.inf]
    geometry.edges["U64"] = [2**64 - 1, 0]
    geometry.edges["I64"] = [-(2**63), 2**63 - 1]
    geometry.edges["Matrix3x3"] = np.random.default_rng(1).normal(size=(2, 3, 3))
    view(geometry.edges.create("name", "ü"))[1] = 'knee "left"'
    geometry.meta.create_uid_list("constraint_uids").insert(2**63)
    geometry["joint"].resize(2)
    geometry["joint"].create("mass", 5e-324)
    return geometry


@pytest.mark.parametrize("make", [rich_geometry, ground, Geometry])
def test_a_geometry_comes_back_bit_by_bit(make):
    geometry = make()
    back = geometry_from_json(through_text(geometry_to_json(geometry)))
    assert type(back) is type(geometry)
    assert_equal_geometries(geometry, back)


@settings(max_examples=50, deadline=None)
@given(values=arrays.arrays(np.float64, st.integers(0, 5), elements=st.floats(allow_nan=False)))
def test_every_float_comes_back(values):
    geometry = Geometry()
    geometry["free"].resize(len(values))
    geometry["free"].create("x", -0.0)
    geometry["free"]["x"] = values
    assert_equal_geometries(geometry, geometry_from_json(through_text(geometry_to_json(geometry))))


def test_an_atlas_writes_shared_attributes_once_and_shares_them_again():
    geometry = rich_geometry()
    twin = geometry.copy()
    view(twin.positions)[:] = 0.0
    atlas = GeometryAtlas()
    assert (atlas.create(geometry), atlas.create(twin)) == (0, 1)
    extra = AttributeCollection("config", 1)
    extra.create("dt", 0.01)
    atlas.create("config", extra)
    alone = GeometryAtlas()
    alone.create(geometry)
    written = through_text(atlas.to_json())
    # beyond the first geometry: the twin's own positions, and dt
    assert len(written["attributes"]) == len(alone.to_json()["attributes"]) + 2
    back = GeometryAtlas()
    back.from_json(written)
    assert back.geometry_count() == 2 and back.attribute_collection_names() == ["config"]
    assert back.attribute_collection_count() == 1
    assert_equal_geometries(back.find(0), geometry)
    assert_equal_geometries(back.find(1), twin)
    assert back.find(0).transforms.is_shared() and not back.find(0).positions.is_shared()
    np.testing.assert_array_equal(back.find("config")["dt"], [0.01])
    assert back.find(2) is None and back.find("nothing") is None


def test_an_atlas_keeps_what_was_put_in():
    geometry = ground()
    atlas = GeometryAtlas()
    atlas.create(geometry)
    geometry.instances["P"] = 5.0
    np.testing.assert_array_equal(atlas.find(0).instances["P"], 0.0)


def broken(change):
    written = through_text(geometry_to_json(rich_geometry()))
    change(written)
    return written


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w.update(type="Blob"), "'type' is not one of Geometry"),
        (lambda w: w.pop("type"), "'type' is not one of"),
        (lambda w: w.pop("collections"), "'collections' is missing"),
        (lambda w: w["collections"]["edges"].pop("size"), "edges: a missing or wrong entry"),
        (lambda w: w["collections"]["edges"]["attributes"]["F64"].update(type="F16"), "unknown type 'F16'"),
        (
            lambda w: w["collections"]["edges"]["attributes"]["F64"]["attribute"]["values"].pop(),
            "attribute 'F64' of edges: .*1 values for 2 elements",
        ),
        (
            lambda w: w["collections"]["edges"]["attributes"]["I32"]["attribute"].update(values=[1.5, 2]),
            r"I32 cannot hold \[1\.5, 2\]",
        ),
        (
            lambda w: w["collections"]["edges"]["attributes"]["I32"]["attribute"].update(values=[2**40, 2]),
            "attribute 'I32' of edges",
        ),
        (
            lambda w: w["collections"]["edges"]["attributes"]["name"]["attribute"].update(values=[1, "a"]),
            "not all values are text",
        ),
        (
            lambda w: w["collections"]["edges"]["attributes"]["Vector3"]["attribute"].update(values=[[1], [2]]),
            "attribute 'Vector3' of edges",
        ),
    ],
)
def test_damaged_json_is_refused_with_the_place(change, message):
    with pytest.raises(GeometryError, match=message):
        geometry_from_json(broken(change))


def test_a_damaged_atlas_changes_nothing():
    atlas = GeometryAtlas()
    atlas.create(ground())
    written = through_text(atlas.to_json())
    written["attributes"].pop()
    with pytest.raises(GeometryError, match="missing or wrong"):
        atlas.from_json(written)
    with pytest.raises(GeometryError, match="missing or wrong"):
        atlas.from_json({})
    assert atlas.geometry_count() == 1
    with pytest.raises(GeometryError, match="exists already"):
        atlas.create("name", None)
