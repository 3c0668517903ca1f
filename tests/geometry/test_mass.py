"""Mass moments against closed forms; 1e-10 is asked for, sums of a few hundred terms give about 1e-13."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.errors import GeometryError
from dovetail.geometry import (
    AngleAxis,
    extract_surface,
    label_surface,
    label_triangle_orient,
    linemesh,
    merge,
    pointcloud,
    tetmesh,
    trimesh,
)
from dovetail.geometry.mass import moments, rod_moments, shell_moments

EXACT = 1e-10


def moment_matrix(m, center, second_about_center):
    """M̂ from mass, centre and ∫ρ (x−c)(x−c)ᵀ by the parallel-axis theorem"""
    c = np.asarray(center, float)
    m_hat = np.empty((4, 4))
    m_hat[0, 0] = m
    m_hat[0, 1:] = m_hat[1:, 0] = m * c
    m_hat[1:, 1:] = second_about_center + m * np.outer(c, c)
    return m_hat


def assert_moments(found, expected):
    np.testing.assert_allclose(found, expected, rtol=EXACT, atol=EXACT * np.abs(expected).max())


@pytest.mark.parametrize("kind", ["solid_box", "surface_box"])
@pytest.mark.parametrize("center", [(0, 0, 0), (0.3, -2.0, 5.0), (1e4, 0, 0)])
@pytest.mark.parametrize("angle", [0.0, 1.1])
def test_a_box_anywhere(request, kind, center, angle):
    size, density = np.array([0.4, 1.0, 2.5]), 730.0
    rotation = AngleAxis(angle, [1, 2, 3]).matrix()
    found, volume = moments(request.getfixturevalue(kind)(size, center, rotation), density)
    m = density * size.prod()
    second = rotation @ np.diag(m * size**2 / 12) @ rotation.T
    assert volume == pytest.approx(1.0, rel=EXACT)
    assert_moments(found, moment_matrix(m, center, second))
    np.testing.assert_array_equal(found, found.T)


def test_a_distant_body_keeps_its_inertia(surface_box):
    """10 km away, the moment about the centre is 1e-9 of that about the origin: 7 digits are left."""
    m_hat, _ = moments(surface_box((1, 2, 3), (1e4, 0, 0)), 1.0)
    c = m_hat[1:, 0] / m_hat[0, 0]
    about_center = m_hat[1:, 1:] - m_hat[0, 0] * np.outer(c, c)
    np.testing.assert_allclose(about_center, np.diag([0.5, 2.0, 4.5]), atol=1e-6)


def test_the_unit_tetrahedron():
    """∫ 1, x, x², xy over x, y, z ≥ 0, x + y + z ≤ 1 are 1/6, 1/24, 1/60, 1/120."""
    corners = np.vstack([np.zeros(3), np.eye(3)])
    expected = np.full((4, 4), 1 / 120)
    np.fill_diagonal(expected, 1 / 60)
    expected[0, :] = expected[:, 0] = 1 / 24
    expected[0, 0] = 1 / 6
    surface = trimesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    for mesh in (tetmesh(corners, [[0, 1, 2, 3]]), surface):
        found, volume = moments(mesh, 2.0)
        assert volume == pytest.approx(1 / 6, rel=EXACT)
        assert_moments(found, 2.0 * expected)


def sphere_mesh(subdivisions):
    import trimesh as library

    ball = library.creation.icosphere(subdivisions=subdivisions)
    return np.asarray(ball.vertices), np.asarray(ball.faces)


def test_a_ball_is_the_sum_of_its_cones():
    """The cones from an inner point to the triangles fill the ball: surface and solid must agree."""
    points, faces = sphere_mesh(2)
    solid = tetmesh(
        np.vstack([points, [[0.1, 0.2, -0.1]]]),
        np.column_stack([np.full(len(faces), len(points)), faces]),
    )
    found, volume = moments(trimesh(points, faces), 1000.0)
    expected, solid_volume = moments(solid, 1000.0)
    assert volume == pytest.approx(solid_volume, rel=EXACT)
    assert_moments(found, expected)


def test_finer_balls_approach_the_sphere():
    """Edges halve with each subdivision, so the missing volume falls by about four."""
    missing = [4 / 3 * math.pi - moments(trimesh(*sphere_mesh(n)), 1.0)[1] for n in (2, 3, 4)]
    ratios = np.array(missing[:-1]) / missing[1:]
    np.testing.assert_allclose(ratios, 4.0, rtol=0.03)


def test_parts_add_up(solid_box):
    left, right = solid_box((1, 1, 1), (-0.5, 0, 0)), solid_box((2, 1, 1), (1, 0, 0))
    whole = moments(solid_box((3, 1, 1), (0.5, 0, 0)), 3.0)[0]
    assert_moments(moments(left, 3.0)[0] + moments(right, 3.0)[0], whole)
    assert_moments(moments(merge([left, right]), 3.0)[0], whole)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_surface_and_solid_of_any_convex_body_agree(seed):
    from scipy.spatial import Delaunay

    points = np.random.default_rng(seed).normal(size=(12, 3))
    tets = Delaunay(points).simplices
    edges = points[tets[:, 1:]] - points[tets[:, :1]]
    inverted = np.linalg.det(edges) < 0
    tets[inverted] = tets[inverted][:, [0, 1, 3, 2]]
    solid = tetmesh(points, tets)
    label_surface(solid)
    label_triangle_orient(solid)
    assert_moments(moments(extract_surface(solid), 7.0)[0], moments(solid, 7.0)[0])


def test_inward_triangles_marked_by_orient_count_as_outward(surface_box):
    box = surface_box()
    expected, _ = moments(box, 1.0)
    orient = box.triangles.create("orient", 1)
    box.triangles["topo"][3] = box.triangles["topo"][3][[0, 2, 1]]
    orient.edit()[3] = -1
    assert_moments(moments(box, 1.0)[0], expected)


def test_transforms_do_not_enter(surface_box):
    box = surface_box()
    expected, _ = moments(box, 1.0)
    box.instances["transform"] = 2 * np.eye(4)
    np.testing.assert_array_equal(moments(box, 1.0)[0], expected)


def test_a_shell_is_a_thin_box():
    """A plate a × b of half-thickness r is a box a × b × 2r."""
    a, b, r, density = 2.0, 3.0, 0.05, 400.0
    rotation = AngleAxis(0.9, [1, -1, 2]).matrix()
    corners = np.array([[-a, -b, 0], [a, -b, 0], [a, b, 0], [-a, b, 0]]) / 2
    found, volume = shell_moments(trimesh(corners @ rotation.T + [1, 2, 3], [[0, 1, 2, 3]]), density, r)
    m = density * a * b * 2 * r
    second = rotation @ np.diag([a**2, b**2, (2 * r) ** 2]) @ rotation.T * m / 12
    assert volume == pytest.approx(a * b * 2 * r, rel=EXACT)
    assert_moments(found, moment_matrix(m, [1, 2, 3], second))


def test_a_rod_is_a_cylinder():
    length, r, density = 2.0, 0.1, 7800.0
    rotation = AngleAxis(0.9, [1, -1, 2]).matrix()
    ends = np.array([[0, 0, -1.0], [0, 0, 0.25], [0, 0, 1.0]]) @ rotation.T + [1, 2, 3]
    found, volume = rod_moments(linemesh(ends, [[0, 1], [1, 2]]), density, r)
    m = density * length * math.pi * r**2
    second = rotation @ np.diag([r**2 / 4, r**2 / 4, length**2 / 12]) @ rotation.T * m
    assert volume == pytest.approx(length * math.pi * r**2, rel=EXACT)
    assert_moments(found, moment_matrix(m, [1, 2, 3], second))


def inside_out(mesh):
    level = mesh.tetrahedra if mesh.dim() == 3 else mesh.triangles
    level["topo"] = level["topo"][:, [0, 2, 1, 3][: level["topo"].shape[1]]]
    return mesh


def with_one_inverted(mesh):
    mesh.tetrahedra["topo"][2] = mesh.tetrahedra["topo"][2][[1, 0, 2, 3]]
    return mesh


def with_nan(mesh):
    mesh.vertices["position"][5, 1] = np.nan
    return mesh


def one_turned(mesh):
    mesh.triangles["topo"][0] = mesh.triangles["topo"][0][[1, 0, 2]]
    return mesh


def test_bad_solids_are_refused_with_what_to_do(surface_box, solid_box):
    box = surface_box()
    opened = trimesh(box.positions.values, box.triangles.topo.values[1:])
    cases = [
        (opened, r"open at 3 edges, the first between vertices 0 and 1; close it"),
        (pointcloud(np.zeros((3, 3))), "a mesh of points encloses no volume"),
        (linemesh(np.eye(3), [[0, 1]]), "a mesh of lines encloses no volume"),
        (inside_out(surface_box()), r"the volume is -1 m³; the triangles face inward"),
        (inside_out(solid_box()), r"the volume is -1 m³; the tetrahedra are inverted"),
        (with_one_inverted(solid_box()), r"tetrahedron 2 is inverted, its volume is -0\.166667 m³"),
        (with_nan(solid_box()), r"vertex 5 is at .*nan"),
        (one_turned(surface_box()), "wind in opposite senses"),
        (surface_box((1, 1, 0)), "the mesh is flat"),
        (solid_box((1, 0, 1)), "the mesh is flat"),
    ]
    for mesh, message in cases:
        with pytest.raises(GeometryError, match=message):
            moments(mesh, 1000.0)


def test_bad_densities_radii_and_dimensions_are_refused(surface_box):
    box, line = surface_box(), linemesh(np.eye(3), [[0, 1]])
    cases = [
        (lambda: moments(box, 0.0), r"density = 0\.0 \[kg/m³\]"),
        (lambda: moments(box, math.nan), "density = nan"),
        (lambda: shell_moments(box, 1.0, -0.1), r"thickness = -0\.1 \[m\]"),
        (lambda: shell_moments(line, 1.0, 0.1), "dimension 1; a trimesh is needed"),
        (lambda: rod_moments(box, 1.0, 0.1), "dimension 2; a linemesh is needed"),
        (lambda: rod_moments(line, 1.0, math.inf), "radius = inf"),
        (lambda: rod_moments(linemesh(np.zeros((2, 3)), [[0, 1]]), 1.0, 0.1), "edges have no length"),
        (lambda: shell_moments(trimesh(np.zeros((3, 3)), [[0, 1, 2]]), 1.0, 0.1), "triangles have no area"),
    ]
    for call, message in cases:
        with pytest.raises(GeometryError, match=message):
            call()
