from __future__ import annotations

import numpy as np
import pytest

from dovetail.errors import GeometryError
from dovetail.geometry import (
    apply_region,
    apply_transform,
    label_connected_vertices,
    label_region,
    label_surface,
    merge,
    pointcloud,
    view,
)
from dovetail.geometry.mass import moments
from dovetail.geometry.merge import merge_instances


def test_merged_meshes_keep_their_elements(surface_box, solid_box):
    solid = solid_box((1, 1, 1), (3, 0, 0))
    whole = merge([surface_box(), solid])
    assert whole.vertices.size() == 16 and whole.dim() == 3
    assert whole.tetrahedra.topo.values.min() == 8
    np.testing.assert_array_equal(whole.positions.values[8:], solid_box((1, 1, 1), (3, 0, 0)).positions.values)
    assert whole.instances.size() == 1


def test_merging_unites_attributes_and_fills_with_defaults(surface_box):
    left, right = surface_box(), surface_box()
    left.vertices.create("a", 1.0)
    right.vertices.create("b", "none")
    view(right.vertices.find("b"))[0] = "first"
    left.meta.create("mass", 1.0)
    whole = merge([left, right])
    np.testing.assert_array_equal(whole.vertices["a"], 1.0)
    assert list(whole.vertices["b"])[7:10] == ["none", "first", "none"]
    assert "mass" not in whole.meta


def test_parents_point_to_the_merged_tetrahedra(solid_box):
    parts = [solid_box(), solid_box()]
    for part in parts:
        label_surface(part)
    parents = merge(parts).triangles["parent_id"]
    half = len(parents) // 2
    first, second = parents[:half], parents[half:]
    np.testing.assert_array_equal(np.where(first >= 0, first + 6, -1), second)


def test_merging_nothing_gives_an_empty_mesh():
    empty = merge([])
    assert empty.vertices.size() == 0 and empty.positions.size() == 0 and empty.dim() == 0


def test_attributes_of_different_types_do_not_merge():
    left, right = pointcloud(np.zeros((1, 3))), pointcloud(np.zeros((1, 3)))
    left.vertices.create("x", 1)
    right.vertices.create("x", 1.0)
    with pytest.raises(GeometryError, match="'x' is I32 in one mesh and F64 in another"):
        merge([left, right])


def two_instances(mesh):
    mesh.instances.resize(2)
    mesh.instances.create("kappa", 1.0)
    mesh.instances["kappa"] = [1.0, 2.0]
    mesh.instances["transform"][1, :3, 3] = [10, 0, 0]
    mesh.instances["transform"][1, :3, :3] = np.diag([1.0, 2.0, -1.0])
    return mesh


def test_each_instance_becomes_a_mesh_of_its_own(solid_box):
    mesh = two_instances(solid_box())
    first, second = apply_transform(mesh)
    np.testing.assert_array_equal(first.positions.values, mesh.positions.values)
    np.testing.assert_allclose(second.positions.values.mean(axis=0), [10, 0, 0], atol=1e-14)
    assert [m.instances["kappa"].tolist() for m in (first, second)] == [[1.0], [2.0]]
    np.testing.assert_array_equal(second.transforms.values, [np.eye(4)])
    assert mesh.instances.size() == 2


def test_a_mirrored_instance_is_not_turned_inside_out(solid_box, surface_box):
    for mesh in (two_instances(solid_box()), two_instances(surface_box())):
        assert moments(apply_transform(mesh)[1], 1.0)[1] == pytest.approx(2.0, rel=1e-13)


def test_merging_instances_is_merging_their_meshes(solid_box):
    mesh = two_instances(solid_box())
    label_surface(mesh)
    quick, slow = merge_instances(mesh), merge(apply_transform(mesh))
    assert quick.to_json() == slow.to_json()


def test_regions_are_the_connected_parts_in_order_of_their_first_vertices(surface_box):
    boxes = merge([surface_box((1, 1, 1), (3 * i, 0, 0)) for i in range(3)])
    shuffled = boxes.copy()
    shuffled.vertices.select(np.arange(24)[::-1])
    for level in (shuffled.edges, shuffled.triangles):
        level["topo"] = 23 - level["topo"]
    label_region(shuffled)
    np.testing.assert_array_equal(shuffled.meta["region_count"], [3])
    np.testing.assert_array_equal(shuffled.vertices["region"], np.repeat([0, 1, 2], 8))
    parts = apply_region(shuffled)
    assert [part.positions.values[:, 0].mean() for part in parts] == [6, 3, 0]
    assert all(part.triangles.size() == 12 and part.edges.size() == 18 for part in parts)
    assert all(moments(part, 1.0)[1] == pytest.approx(1.0, rel=1e-13) for part in parts)


def test_points_are_regions_of_their_own():
    slot = label_connected_vertices(pointcloud(np.zeros((3, 3))))
    np.testing.assert_array_equal(slot.values, [0, 1, 2])


def test_parts_of_a_solid_keep_their_parents(solid_box):
    whole = merge([solid_box(), solid_box((1, 1, 1), (3, 0, 0))])
    label_surface(whole)
    label_region(whole)
    alone = solid_box((1, 1, 1), (3, 0, 0))
    label_surface(alone)
    np.testing.assert_array_equal(apply_region(whole)[1].triangles["parent_id"], alone.triangles["parent_id"])


def test_applying_regions_needs_labels(surface_box):
    with pytest.raises(GeometryError, match="call label_region first"):
        apply_region(surface_box())
