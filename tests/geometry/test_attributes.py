from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from dovetail.errors import CollectionError
from dovetail.geometry import AttributeSlotFloat, Geometry, StringSpan, linemesh, view
from dovetail.geometry.attribute_type import TYPES
from dovetail.geometry.collection import AttributeCollection
from dovetail.values import Matrix3x3, Matrix4x4, Vector3


@pytest.fixture
def edges():
    return AttributeCollection("edges", 4)


DEFAULTS = [
    (1, "I32"),
    (True, "I32"),
    (np.int64(5), "I32"),
    (np.array(3, np.int32), "I32"),
    (2**31, "I64"),
    (-(2**40), "I64"),
    (2**63, "U64"),
    (np.uint64(1), "U64"),
    (np.uint32(1), "U32"),
    (1.5, "F64"),
    (np.float64(1.5), "F64"),
    (np.array(2.0), "F64"),
    (np.array([2.0]), "F64"),
    ("text", "string"),
    (np.zeros(3), "Vector3"),
    (np.zeros((12, 1)), "Vector12"),
    (np.eye(4), "Matrix4x4"),
    (np.eye(9), "Matrix9x9"),
    (np.zeros(2, np.int32), "Vector2i"),
    (np.zeros((4, 1), np.int32), "Vector4i"),
]


@pytest.mark.parametrize(("default", "name"), DEFAULTS)
def test_the_type_follows_from_the_default(edges, default, name):
    slot = edges.create("x", default)
    assert slot.type_name() == name
    assert slot.size() == 4
    expected = default if isinstance(default, str) else np.asarray(default).reshape(TYPES[name].shape)
    assert all(np.array_equal(value, expected) for value in slot.values)


@pytest.mark.parametrize(
    "default",
    [
        [1.0, 2.0],
        (1, 2, 3),
        None,
        np.float32(1),
        np.zeros(3, np.int64),
        np.zeros((1, 3)),
        np.zeros(5),
        np.zeros((3, 4)),
        np.zeros(3, bool),
        2**64,
    ],
)
def test_defaults_without_a_type_are_refused_with_a_reason(edges, default):
    with pytest.raises(CollectionError, match=r"edges: attribute 'x': .*default"):
        edges.create("x", default)
    assert edges.find("x") is None


def test_views_have_the_shapes_of_libuipc(edges):
    assert view(edges.create("x", 1.0)).shape == (4,)
    assert view(edges.create("v", Vector3.Zero())).shape == (4, 3, 1)
    matrices = view(edges.create("m", Matrix4x4.Identity()))
    assert matrices.shape == (4, 4, 4)
    assert matrices.strides == (128, 8, 32)  # column-major per matrix
    assert edges.slot("m").values.swapaxes(1, 2).flags.c_contiguous
    assert view(edges.create("i", np.zeros(2, np.int32))).dtype == np.int32


def test_the_pythonic_form_has_natural_shapes_of_the_same_memory(edges):
    slot = edges.create("v", Vector3.Zero())
    edges["v"][2] = [1, 2, 3]
    np.testing.assert_array_equal(view(slot)[2], [[1], [2], [3]])
    view(slot)[3] = Vector3.UnitX()
    np.testing.assert_array_equal(edges["v"][3], [1, 0, 0])
    assert edges["v"].shape == (4, 3)


def test_broadcast_idioms_on_views(edges):
    slot = edges.create("v", Vector3.Zero())
    view(slot)[:] += Vector3.UnitY()
    view(slot)[1] += Vector3.UnitZ() * 2
    np.testing.assert_array_equal(slot.values, [[0, 1, 0], [0, 1, 2], [0, 1, 0], [0, 1, 0]])


def test_a_read_view_cannot_be_written(edges):
    slot = edges.create("x", 1.0)
    with pytest.raises(ValueError, match="read-only"):
        slot.view()[0] = 2.0
    with pytest.raises(ValueError, match="read-only"):
        slot.values[0] = 2.0


def test_assigning_broadcasts_and_takes_columns(edges):
    edges.create("x", 0.0)
    edges.create("v", Vector3.Zero())
    edges.create("m", Matrix3x3.Zero())
    edges["x"] = 3
    edges["x"][1] = 4.0
    edges["v"] = Vector3.Values([1, 2, 3])
    edges["m"] = np.arange(9.0).reshape(3, 3)
    np.testing.assert_array_equal(edges["x"], [3, 4, 3, 3])
    np.testing.assert_array_equal(edges["v"], [[1, 2, 3]] * 4)
    np.testing.assert_array_equal(edges["m"][2], [[0, 1, 2], [3, 4, 5], [6, 7, 8]])


def test_a_column_assigned_to_three_elements_is_one_vector_not_three_rows():
    triangles = AttributeCollection("triangles", 3)
    triangles.create("v", Vector3.Zero())
    triangles["v"] = Vector3.Values([1, 2, 3])
    np.testing.assert_array_equal(triangles["v"], [[1, 2, 3]] * 3)


def test_assignment_errors_name_the_attribute_and_the_shapes(edges):
    edges.create("x", 0)
    with pytest.raises(CollectionError, match=r"edges: attribute 'x' \(I32\) has shape \(4,\).*\(3,\)"):
        edges["x"] = [1, 2, 3]
    for value in (1.5, 2**40, np.full(4, 2**31), np.zeros(4), "text", [2**64, 0]):
        with pytest.raises(CollectionError, match=r"edges: attribute 'x': I32 cannot hold"):
            edges["x"] = value
    np.testing.assert_array_equal(edges["x"], 0)


def test_large_unsigned_integers_are_kept_exactly(edges):
    edges.create("uid", np.uint64(0))
    edges["uid"] = [2**64 - 1, 0, 2**53 + 1, 1]
    assert edges["uid"].tolist() == [2**64 - 1, 0, 2**53 + 1, 1]


def test_a_missing_name_suggests_the_nearest_one(edges):
    edges.create("distance", 0.0)
    with pytest.raises(CollectionError, match=r"edges: no attribute 'distnace'; did you mean 'distance'\?"):
        edges["distnace"]
    with pytest.raises(CollectionError, match="did you mean 'distance'"):
        edges["Distance"] = 1.0
    with pytest.raises(CollectionError, match="find"):
        view(edges.find("distnace"))
    assert edges.find("distnace") is None


def test_names_iteration_and_length(edges):
    edges.create("a", 1)
    edges.create("b", 1)
    assert "a" in edges and "c" not in edges
    assert list(edges) == ["a", "b"]
    assert len(edges) == edges.size() == 4
    assert edges.attribute_count() == 2
    assert edges() is edges


def test_a_name_is_used_once(edges):
    edges.create("x", 0)
    with pytest.raises(CollectionError, match="'x' already exists"):
        edges.create("x", 0)
    with pytest.raises(CollectionError, match="'x' already exists"):
        edges.share("x", edges.find("x"))


def test_growth_fills_with_the_default_and_shrinking_forgets(edges):
    slot = edges.create("x", 7.0)
    edges["x"] = [0, 1, 2, 3]
    edges.resize(2)
    edges.resize(5)
    np.testing.assert_array_equal(slot.values, [0, 1, 7, 7, 7])
    edges.clear()
    assert slot.size() == 0 and "x" in edges
    with pytest.raises(CollectionError, match="cannot have -1 elements"):
        edges.resize(-1)


def test_meta_has_one_element_for_ever():
    meta = Geometry().meta
    slot = meta.create("mass", 2.0)
    assert meta["mass"].shape == (1,)
    with pytest.raises(CollectionError, match="one element"):
        meta.resize(2)
    assert slot.size() == 1
    assert '"mass"' in repr(meta)


def test_reorder_permutes_all_attributes(edges):
    edges.create("x", 0)
    edges.create("m", Matrix3x3.Zero())
    edges["x"] = [0, 1, 2, 3]
    edges["m"] = np.arange(4)[:, None, None]
    edges.reorder([3, 1, 0, 2])
    np.testing.assert_array_equal(edges["x"], [3, 1, 0, 2])
    np.testing.assert_array_equal(edges["m"][:, 1, 2], [3, 1, 0, 2])
    with pytest.raises(CollectionError, match=r"permutation of 0\.\.3"):
        edges.reorder([0, 0, 1, 2])


def test_destroyed_slots_stay_usable_and_built_in_ones_stay():
    mesh = linemesh(np.eye(3), [[0, 1], [1, 2]])
    slot = mesh.edges.create("x", 1.0)
    mesh.edges.destroy("x")
    mesh.edges.destroy("never there")
    view(slot)[0] = 5.0
    np.testing.assert_array_equal(slot.values, [5, 1])
    assert mesh.edges.find("x") is None
    for collection, name in (
        (mesh.vertices, "position"),
        (mesh.instances, "transform"),
        (mesh.edges, "topo"),
    ):
        with pytest.raises(CollectionError, match=f"'{name}' is built in"):
            collection.destroy(name)


def test_a_view_of_a_shared_slot_detaches_it(edges):
    slot = edges.create("x", 1.0)
    alias = edges.share("y", slot)
    assert slot.is_shared() and alias.is_shared()
    view(alias)[:] = 2.0
    assert not slot.is_shared() and not alias.is_shared()
    np.testing.assert_array_equal(slot.values, 1.0)
    np.testing.assert_array_equal(alias.values, 2.0)


def test_reading_does_not_detach(edges):
    slot = edges.create("x", 1.0)
    alias = edges.share("y", slot)
    assert np.shares_memory(slot.values, alias.view())
    assert slot.is_shared()


def test_the_last_owner_of_shared_values_writes_in_place(edges):
    slot = edges.create("x", 1.0)
    other = edges.copy()
    memory = slot.values
    del other
    assert not slot.is_shared()
    assert np.shares_memory(view(slot), memory)


def test_a_slot_outlives_its_collection_and_counts_as_owner(edges):
    slot = edges.create("x", 1.0)
    other = edges.copy()
    kept = other.find("x")
    del other
    assert slot.is_shared() and kept.is_shared()
    view(slot)[:] = 3.0
    assert not kept.is_shared()
    np.testing.assert_array_equal(kept.values, 1.0)


def test_a_copy_of_a_copy_is_independent():
    mesh = linemesh(np.eye(3), [[0, 1], [1, 2]])
    first = mesh.copy()
    second = first.copy()
    view(first.positions)[:] = 0.0
    first["joint"].resize(3)
    np.testing.assert_array_equal(mesh.positions.values, np.eye(3))
    np.testing.assert_array_equal(second.positions.values, np.eye(3))
    assert second["joint"].size() == 0
    assert mesh.positions.is_shared() and not first.positions.is_shared()


def test_resizing_a_copy_leaves_the_original(edges):
    slot = edges.create("x", 1.0)
    other = edges.copy()
    other.resize(9)
    assert slot.size() == 4 and other.find("x").size() == 9
    assert not slot.is_shared()


def test_share_needs_equal_sizes(edges):
    other = AttributeCollection("triangles", 3)
    with pytest.raises(CollectionError, match=r"'x' of 4 elements as 'y'; this collection has 3"):
        other.share("y", edges.create("x", 1.0))


def test_copy_and_pickle_keep_values_layout_and_sharing():
    mesh = linemesh(np.eye(3), [[0, 1], [1, 2]])
    slot = mesh.edges.create("x", 1.0)
    mesh.edges.share("y", slot)
    mesh.edges.create("m", np.arange(9.0).reshape(3, 3))
    for twin in (copy.deepcopy(mesh), pickle.loads(pickle.dumps(mesh))):
        assert not mesh.positions.is_shared() and not twin.positions.is_shared()
        assert twin.edges.find("x").is_shared()
        np.testing.assert_array_equal(twin.edges["m"], mesh.edges["m"])
        assert twin.edges.find("m").values.swapaxes(1, 2).flags.c_contiguous
    shallow = copy.copy(mesh)
    assert shallow.positions.is_shared()


def test_strings_are_spans(edges):
    slot = edges.create("name", "none")
    names = view(slot)
    assert isinstance(names, StringSpan)
    names[1] = "knee"
    assert list(edges["name"]) == ["none", "knee", "none", "none"] == slot.view()
    assert len(names) == 4 and names[1] == "knee"
    edges["name"] = "hip"
    edges["name"][1:3] = ["a", "b"]
    assert list(slot.view()) == ["hip", "a", "b", "hip"]
    with pytest.raises(CollectionError, match="cannot hold 3"):
        names[0] = 3
    with pytest.raises(CollectionError, match="has 4 strings; 2 were given"):
        edges["name"] = ["a", "b"]
    with pytest.raises(TypeError):
        slot.view()[0] = "x"


def test_strings_are_copied_on_write(edges):
    slot = edges.create("name", "none")
    twin = edges.copy()
    view(twin.find("name"))[0] = "changed"
    assert slot.view()[0] == "none"


def test_uid_lists_are_sorted_sets_and_copied_on_write():
    meta = Geometry().meta
    slot = meta.create_uid_list("constraint_uids")
    twin = meta.copy()
    for uid in (19, 5, 19, 2**63):
        slot.insert(uid)
    assert slot.values[0].tolist() == [5, 19, 2**63]
    assert slot.values[0].dtype == np.uint64
    assert slot.type_name() == "VectorXu64"
    assert slot.view() is None
    assert twin.find("constraint_uids").values[0].tolist() == []
    assert meta.create_uid_list("constraint_uids") is slot
    with pytest.raises(CollectionError, match="insert"):
        meta["constraint_uids"] = [1]


def test_slots_say_what_they_are(edges):
    slot = edges.create("x", 1.0)
    assert isinstance(slot, AttributeSlotFloat)
    assert slot() is slot
    assert (slot.name(), slot.size(), slot.allow_destroy()) == ("x", 4, True)
    assert repr(slot) == "<AttributeSlotFloat 'x' of 4 F64>"


def test_geometry_prints_its_attributes_and_stars_what_cannot_be_destroyed():
    text = repr(linemesh(np.eye(3), [[0, 1]]))
    assert "<SimplicialComplex>" in text
    assert "transform*" in text and "is_facet" in text and "is_facet*" not in text


def test_collections_survive_their_geometry():
    assert linemesh(np.eye(3), [[0, 1], [1, 2]]).edges().size() == 2
