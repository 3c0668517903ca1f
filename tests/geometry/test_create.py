from __future__ import annotations

import time

import numpy as np
import pytest

from dovetail.errors import GeometryError
from dovetail.geometry import (
    ImplicitGeometry,
    facet_closure,
    ground,
    halfplane,
    linemesh,
    pointcloud,
    tetmesh,
    trimesh,
)
from dovetail.geometry.slot import ImplicitGeometrySlot, SimplicialComplexSlot, make_slot
from dovetail.values import Vector3

CORNERS = np.vstack([np.zeros(3), np.eye(3)])


def test_a_tetrahedron_has_its_faces_in_sorted_order():
    mesh = tetmesh(CORNERS, [[3, 1, 0, 2]])
    assert mesh.dim() == 3
    np.testing.assert_array_equal(mesh.tetrahedra.topo.values, [[3, 1, 0, 2]])
    np.testing.assert_array_equal(mesh.triangles.topo.values, [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]])
    np.testing.assert_array_equal(mesh.edges.topo.values, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])
    facets = [level["is_facet"].sum() for level in (mesh.vertices, mesh.edges, mesh.triangles, mesh.tetrahedra)]
    assert facets == [0, 0, 0, 1]


def test_shapes_and_types_are_those_of_libuipc():
    mesh = trimesh(CORNERS.astype(np.float32), np.array([[0, 2, 1]]))
    assert mesh.positions().view().shape == (4, 3, 1)
    assert mesh.triangles().topo().view().shape == (1, 3, 1)
    assert mesh.triangles().topo().view().dtype == np.int32
    np.testing.assert_array_equal(mesh.transforms().view(), np.eye(4)[None])
    assert [mesh.instances().size(), mesh.dim()] == [1, 2]


def test_positions_and_indices_may_come_from_another_mesh_or_from_lists():
    mesh = trimesh(CORNERS.tolist(), [[0, 2, 1]])
    again = trimesh(mesh.positions().view(), mesh.triangles().topo().view())
    np.testing.assert_array_equal(again.positions.values, CORNERS)


def test_triangles_keep_their_order_and_winding():
    triangles = [[3, 2, 1], [0, 2, 1]]
    np.testing.assert_array_equal(trimesh(CORNERS, triangles).triangles.topo.values, triangles)


def test_quadrilaterals_are_split_in_two():
    mesh = trimesh(CORNERS, [[0, 1, 2, 3]])
    np.testing.assert_array_equal(mesh.triangles.topo.values, [[0, 1, 2], [0, 2, 3]])


def test_lines_and_points():
    lines, points = linemesh(CORNERS, [[1, 0], [1, 2]]), pointcloud(CORNERS)
    assert (lines.dim(), points.dim()) == (1, 0)
    np.testing.assert_array_equal(lines.edges.topo.values, [[1, 0], [1, 2]])
    np.testing.assert_array_equal(lines.vertices["is_facet"], [0, 0, 0, 1])
    np.testing.assert_array_equal(points.vertices["is_facet"], 1)


def test_making_a_mesh_copies_what_it_was_given():
    positions = CORNERS.copy()
    mesh = pointcloud(positions)
    positions[:] = 9.0
    np.testing.assert_array_equal(mesh.positions.values, CORNERS)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: trimesh(CORNERS, [[0, 1, 4]]), r"trimesh: triangle 0 has vertices \[0, 1, 4\]; there are 4"),
        (lambda: tetmesh(CORNERS, [[0, 1, 2, -1]]), r"tetrahedron 0 has vertices \[0, 1, 2, -1\]"),
        (lambda: trimesh(CORNERS, [[0, 1, 2], [0, 1, 1]]), r"triangle 1 .* one of them twice"),
        (lambda: trimesh(CORNERS, [[0, 1]]), r"shape \(1, 2\); \(m, 3\) or \(m, 4\)"),
        (lambda: linemesh(CORNERS, [[0, 1, 2]]), r"\(m, 2\) is needed"),
        (lambda: tetmesh(CORNERS, [0, 1, 2, 3]), r"shape \(4,\)"),
        (lambda: trimesh(CORNERS, [[0.0, 1.0, 2.0]]), "indices are float64"),
        (lambda: trimesh(CORNERS, [[0, 1, 2], [0, 1]]), "different lengths"),
        (lambda: pointcloud(np.zeros((4, 2))), r"shape \(4, 2\)"),
        (lambda: pointcloud("abc"), "not numbers"),
        (lambda: pointcloud([[0, 0, 0], [0, np.nan, 0]]), r"vertex 1 is at \[0.0, nan, 0.0\]"),
        (lambda: ground(0.0, [0, 0, 0]), "ground: N = .* has no direction"),
        (lambda: ground(np.nan), "height = nan"),
        (lambda: halfplane([0, 0, 0], [0, np.inf, 0]), "halfplane: N = "),
        (lambda: halfplane([0, 0], [0, 1, 0]), "halfplane: P = "),
    ],
)
def test_bad_input_is_refused_by_name_and_number(call, message):
    with pytest.raises(GeometryError, match=message):
        call()


def test_the_ground_is_a_fixed_half_plane():
    plane = ground(-1.5)
    assert isinstance(plane, ImplicitGeometry)
    np.testing.assert_array_equal(plane.instances().find("P").view(), [[[0], [-1.5], [0]]])
    np.testing.assert_array_equal(plane.instances["N"], [[0, 1, 0]])
    np.testing.assert_array_equal(plane.instances["is_fixed"], [1])
    assert plane.meta.find("implicit_geometry_uid").type_name() == "U64"
    np.testing.assert_array_equal(plane.meta["implicit_geometry_uid"], [1])


def test_the_normal_of_a_half_plane_is_stored_as_given():
    plane = halfplane(Vector3.Values([1, 2, 3]), Vector3.UnitX() * 2)
    np.testing.assert_array_equal(plane.instances["P"], [[1, 2, 3]])
    np.testing.assert_array_equal(plane.instances["N"], [[2, 0, 0]])


def test_closure_keeps_elements_and_attributes_and_adds_the_missing_ones():
    mesh = linemesh(CORNERS, [[2, 1]])
    mesh.edges.create("x", 1.0)
    mesh.edges["x"] = 5.0
    mesh.triangles.resize(1)
    mesh.triangles["topo"] = [0, 1, 2]
    closed = facet_closure(mesh)
    assert mesh.edges.size() == 1
    np.testing.assert_array_equal(closed.edges.topo.values, [[2, 1], [0, 1], [0, 2]])
    np.testing.assert_array_equal(closed.edges["x"], [5, 1, 1])
    np.testing.assert_array_equal(closed.edges["is_facet"], [0, 0, 0])
    np.testing.assert_array_equal(closed.triangles["is_facet"], [1])


def test_slots_return_the_live_geometry():
    mesh, plane = pointcloud(CORNERS), ground()
    slot = make_slot(3, mesh, "cloud")
    assert isinstance(slot, SimplicialComplexSlot) and isinstance(make_slot(4, plane), ImplicitGeometrySlot)
    assert slot.id() == 3 and slot.object_name == "cloud"
    assert slot.geometry is slot.geometry() is mesh


def test_a_hundred_thousand_triangles_take_a_fraction_of_a_second():
    n = 225
    grid = np.arange(n * n).reshape(n, n)
    quads = np.stack([grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]], axis=-1).reshape(-1, 4)
    positions = np.random.default_rng(0).normal(size=(n * n, 3))
    start = time.perf_counter()
    mesh = trimesh(positions, quads)
    assert time.perf_counter() - start < 1.0  # 0.15 s alone; the rest is for a busy machine
    assert mesh.triangles.size() == 2 * (n - 1) ** 2
    assert mesh.edges.size() == 3 * n * n - 4 * n + 1  # Euler: V − E + F = 1 for a disc
