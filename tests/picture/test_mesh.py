"""Meshes for drawing."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from dovetail.io.recorded import RecordedShape
from dovetail.picture.mesh import ball, block, cylinder, drawn, is_closed, sector

NONE2, NONE3 = np.zeros((0, 2), np.int32), np.zeros((0, 3), np.int32)


def of(mesh):
    return RecordedShape(np.array(mesh.vertices), mesh.faces.astype(np.int32), NONE2)


def test_a_box_is_drawn_with_three_vertices_at_each_corner_so_that_its_edges_look_sharp():
    mesh = drawn(of(trimesh.creation.box((1, 2, 3))), 0.1)
    assert len(mesh.vertices) == 24 and len(mesh.triangles) == 12
    again = trimesh.Trimesh(mesh.vertices, mesh.triangles, process=False)
    assert again.volume == pytest.approx(6.0)


def test_a_round_body_keeps_its_vertices_so_that_it_looks_round():
    sphere = trimesh.creation.icosphere(3)
    assert len(drawn(of(sphere), 0.1).vertices) == len(sphere.vertices)


def test_a_cylinder_is_round_along_its_side_and_sharp_at_its_rims():
    assert len(cylinder().vertices) == 2 * 12 + 2 * 13  # the side, and two discs with their centres
    np.testing.assert_allclose(cylinder().vertices[:, 2].min(), 0)
    np.testing.assert_allclose(cylinder().vertices[:, 2].max(), 1)


def test_a_rod_is_drawn_as_a_bar_of_its_thickness():
    rod = RecordedShape(np.array([[0.0, 0, 0], [0, 3.0, 0]]), NONE3, np.array([[0, 1]], np.int32), 0.25)
    mesh = drawn(rod, 0.1)
    np.testing.assert_allclose(mesh.vertices.min(axis=0), [-0.25, -0.25, -0.25], atol=1e-9)
    np.testing.assert_allclose(mesh.vertices.max(axis=0), [0.25, 3.25, 0.25], atol=1e-9)


def test_a_box_is_closed_and_a_box_without_a_lid_is_not():
    box = trimesh.creation.box((1, 1, 1))
    assert is_closed(of(box))
    assert not is_closed(RecordedShape(np.array(box.vertices), box.faces[:-2].astype(np.int32), NONE2))


def test_a_body_without_a_surface_is_drawn_as_a_ball():
    nothing = RecordedShape(np.zeros((0, 3)), NONE3, NONE2)
    assert np.ptp(drawn(nothing, 0.1).vertices[:, 0]) == pytest.approx(0.2)


@pytest.mark.parametrize(("lower", "upper", "seen"), [(-0.5, 1.0, 1.5), (0.0, 20.0, 2 * np.pi)])
def test_a_sector_covers_its_angles_and_no_more_than_a_turn(lower, upper, seen):
    mesh = sector(lower, upper)
    corners = mesh.vertices[mesh.triangles]
    area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, 2].sum() / 2
    # a ring between 0.86 and 1; chords of 7.5° cut off (7.5°)²/6 ≈ 0.3 % of it
    assert area == pytest.approx(seen * (1 - 0.86**2) / 2, rel=4e-3)


@pytest.mark.parametrize(("made", "volume"), [(ball, 4 / 3 * np.pi), (block, 1.0), (cylinder, np.pi)])
def test_unit_shapes_are_closed_and_face_outward(made, volume):
    mesh = made()
    # polyhedra inscribed in round bodies: 12 sides lose 4.5 % of a cylinder, 320 triangles 3.5 % of a ball
    assert trimesh.Trimesh(mesh.vertices, mesh.triangles, process=False).volume == pytest.approx(volume, rel=0.05)
