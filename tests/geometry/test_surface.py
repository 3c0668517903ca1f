from __future__ import annotations

import numpy as np
import pytest

from dovetail.errors import GeometryError
from dovetail.geometry import (
    extract_surface,
    flip_inward_triangles,
    is_trimesh_closed,
    label_open_edge,
    label_surface,
    label_triangle_orient,
    linemesh,
    pointcloud,
    tetmesh,
    trimesh,
    view,
)
from dovetail.geometry.mass import moments

CORNERS = np.vstack([np.zeros(3), np.eye(3), np.ones(3)])


def test_triangles_of_one_tetrahedron_are_surface():
    mesh = tetmesh(CORNERS, [[0, 1, 2, 3], [1, 2, 3, 4]])
    label_surface(mesh)
    inner = mesh.triangles.topo.values.tolist().index([1, 2, 3])
    assert mesh.triangles["is_surf"].sum() == 6
    assert mesh.triangles["is_surf"][inner] == 0
    assert mesh.triangles["parent_id"][inner] == -1
    np.testing.assert_array_equal(mesh.tetrahedra["is_surf"], 1)
    assert mesh.vertices["is_surf"].all() and mesh.edges["is_surf"].all()
    assert mesh.triangles.find("is_surf").type_name() == "I32"


def test_parents_are_the_tetrahedra_of_the_triangles():
    mesh = tetmesh(CORNERS, [[0, 1, 2, 3], [1, 2, 3, 4]])
    label_surface(mesh)
    for triangle, parent in zip(mesh.triangles.topo.values, mesh.triangles["parent_id"], strict=True):
        if parent >= 0:
            assert set(triangle) < set(mesh.tetrahedra.topo.values[parent])


def test_the_inside_of_a_solid_is_not_surface():
    """A star of tetrahedra: a vertex in the middle of an octahedron."""
    points = np.vstack([np.zeros(3), np.eye(3), -np.eye(3)])
    tets = [[0, a, b, c] for a in (1, 4) for b in (2, 5) for c in (3, 6)]
    mesh = tetmesh(points, tets)
    label_surface(mesh)
    np.testing.assert_array_equal(mesh.vertices["is_surf"], [0, 1, 1, 1, 1, 1, 1])
    np.testing.assert_array_equal(mesh.edges["is_surf"], (mesh.edges.topo.values > 0).all(axis=1))
    assert mesh.triangles["is_surf"].sum() == 8


def test_surfaces_lines_and_points_are_surface_everywhere():
    for mesh in (trimesh(CORNERS[:3], [[0, 1, 2]]), linemesh(CORNERS[:2], [[0, 1]]), pointcloud(CORNERS)):
        label_surface(mesh)
        assert all(level["is_surf"].all() for level in (mesh.vertices, mesh.edges, mesh.triangles))


def test_points_that_no_element_uses_are_not_surface():
    mesh = trimesh(CORNERS, [[0, 1, 2]])
    label_surface(mesh)
    np.testing.assert_array_equal(mesh.vertices["is_surf"], [1, 1, 1, 0, 0])


def test_labelling_twice_changes_nothing():
    mesh = tetmesh(CORNERS, [[0, 1, 2, 3]])
    label_surface(mesh)
    before = mesh.to_json()
    label_surface(mesh)
    assert mesh.to_json() == before


def test_three_tetrahedra_on_a_triangle_are_refused():
    points = np.vstack([CORNERS, [[2.0, 2, 2]]])
    mesh = tetmesh(points, [[0, 1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 5]])
    with pytest.raises(GeometryError, match=r"vertices \[1, 2, 3\] belongs to 3 tetrahedra"):
        label_surface(mesh)


def test_missing_faces_ask_for_closure():
    mesh = trimesh(CORNERS, [[0, 1, 2]])
    mesh.edges.resize(2)
    with pytest.raises(GeometryError, match="facet_closure"):
        label_surface(mesh)


def outward_volume(mesh, triangles):
    x = mesh.positions.values[triangles]
    return np.einsum("ei,ei->", np.cross(x[:, 0], x[:, 1]), x[:, 2]) / 6.0


def test_flipped_triangles_enclose_the_volume(solid_box):
    mesh = solid_box((1, 2, 3), (5, 0, 0))
    label_surface(mesh)
    orient = label_triangle_orient(mesh)
    assert set(orient.values.tolist()) == {-1, 0, 1}
    before = mesh.triangles.topo.values.copy()
    flipped = flip_inward_triangles(mesh)
    on_surface = flipped.triangles["is_surf"] == 1
    np.testing.assert_array_equal(mesh.triangles.topo.values, before)
    np.testing.assert_array_equal(flipped.triangles["orient"], on_surface)
    enclosed = outward_volume(flipped, flipped.triangles.topo.values[on_surface])
    assert enclosed == pytest.approx(6.0, rel=1e-13)  # one sum of 12 exact products
    np.testing.assert_array_equal(label_triangle_orient(flipped).values, on_surface)


def test_orientation_needs_a_labelled_tetmesh():
    with pytest.raises(GeometryError, match="call label_surface first"):
        label_triangle_orient(tetmesh(CORNERS, [[0, 1, 2, 3]]))
    with pytest.raises(GeometryError, match="a tetmesh is needed"):
        label_triangle_orient(trimesh(CORNERS, [[0, 1, 2]]))
    with pytest.raises(GeometryError, match="label_triangle_orient first"):
        flip_inward_triangles(tetmesh(CORNERS, [[0, 1, 2, 3]]))


def test_a_flat_tetrahedron_has_no_outside():
    flat = tetmesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], [[0, 1, 2, 3]])
    label_surface(flat)
    with pytest.raises(GeometryError, match=r"tetrahedron 0, vertices \[0, 1, 2, 3\], is flat"):
        label_triangle_orient(flat)


def test_the_surface_of_a_solid_is_closed_faces_outward_and_keeps_attributes(solid_box):
    solid = solid_box((1, 2, 3))
    view(solid.vertices.create("number", 0))[:] = np.arange(8)
    solid.meta.create("kind", "box")
    surface = extract_surface(solid)
    assert surface.dim() == 2 and surface.triangles.size() == 12 and is_trimesh_closed(surface)
    assert moments(surface, 1.0)[1] == pytest.approx(6.0, rel=1e-13)
    np.testing.assert_array_equal(surface.vertices["number"], np.arange(8))
    assert surface.meta["kind"][0] == "box"
    assert solid.triangles.find("is_surf") is None
    assert surface.triangles.find("parent_id") is None


def test_the_surface_of_several_solids_is_one_mesh_in_the_world(solid_box):
    two = solid_box()
    two.instances.resize(2)
    two.instances["transform"][1, :3, 3] = [3, 0, 0]
    surface = extract_surface([two, solid_box((2, 2, 2), (0, 9, 0))])
    assert surface.vertices.size() == 24 and surface.instances.size() == 1
    m_hat, volume = moments(surface, 1.0)
    assert volume == pytest.approx(1 + 1 + 8, rel=1e-13)
    np.testing.assert_allclose(m_hat[1:, 0], [3, 72, 0], atol=1e-12)


def test_inner_vertices_do_not_appear_in_the_surface():
    points = np.vstack([np.zeros(3), np.eye(3), -np.eye(3)])
    surface = extract_surface(tetmesh(points, [[0, a, b, c] for a in (1, 4) for b in (2, 5) for c in (3, 6)]))
    np.testing.assert_array_equal(surface.positions.values, points[1:])


def test_closedness_and_open_edges(surface_box):
    box = surface_box()
    assert is_trimesh_closed(box)
    assert not label_open_edge(box).values.any()
    opened = trimesh(box.positions.values, box.triangles.topo.values[1:])
    assert not is_trimesh_closed(opened)
    assert label_open_edge(opened).values.sum() == 3
    with pytest.raises(GeometryError, match="a trimesh is needed"):
        is_trimesh_closed(pointcloud(CORNERS))
    with pytest.raises(GeometryError, match="a trimesh is needed"):
        label_open_edge(pointcloud(CORNERS))
