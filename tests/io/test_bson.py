"""Binary JSON: what goes in comes out, and what is damaged is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail import Scene, SceneIO
from dovetail.errors import SceneError
from dovetail.geometry import pointcloud
from dovetail.io.bson import from_bson, to_bson

names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | names,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=20,
)


@settings(deadline=None)  # a machine may be busy
@given(st.dictionaries(names, values, max_size=5))
def test_any_document_survives_and_no_part_of_it_passes_for_the_whole(document):
    content = to_bson(document)
    assert from_bson(content) == document
    for cut in {1, len(content) // 2, len(content) - 1}:
        with pytest.raises(ValueError):
            from_bson(content[:cut])


def test_the_bytes_are_those_of_the_standard():
    assert to_bson({"a": 1}) == b"\x0c\0\0\0\x10a\0\x01\0\0\0\0"
    assert math.isnan(from_bson(to_bson({"x": math.nan}))["x"])
    with pytest.raises(ValueError, match="64 bits"):
        to_bson({"x": 2**70})


def test_a_scene_is_saved_and_loaded_bit_by_bit(tmp_path, rng):
    scene = Scene({"dt": 0.02})
    points = rng.normal(size=(5, 3))
    scene.objects.create("dots").geometries.create(pointcloud(points))
    SceneIO(scene).save(tmp_path / "s.bson")
    loaded = SceneIO.load(tmp_path / "s.bson")
    np.testing.assert_array_equal(loaded.geometries[0][0].geometry.positions.values, points)
    assert loaded.config["dt"] == 0.02
    content = bytearray((tmp_path / "s.bson").read_bytes())
    content[content.index(b"dots")] = ord("D")
    (tmp_path / "s.bson").write_bytes(content)
    with pytest.raises(SceneError, match="checksum differs"):
        SceneIO.load(tmp_path / "s.bson")
