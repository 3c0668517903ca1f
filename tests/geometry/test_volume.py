"""Points and tetrahedra inside a closed surface."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh as tm

from dovetail.constitution import AffineBodyConstitution
from dovetail.errors import GeometryError
from dovetail.geometry import extract_surface, points_from_volume, tetrahedralize, trimesh


def of(mesh):
    return trimesh(mesh.vertices, mesh.faces)


def test_grid_points_fill_a_body_in_proportion_to_its_volume():
    ball = tm.creation.icosphere(subdivisions=2, radius=1.0)
    points = points_from_volume(of(ball), 0.1).positions.values
    assert (np.linalg.norm(points, axis=1) < 1.0).all()
    # a layer of half a cell on the surface 4πr² may go either way
    assert abs(len(points) * 0.1**3 - ball.volume) < 4 * np.pi * 0.05


def test_no_point_is_placed_in_a_hole():
    ring = of(tm.creation.annulus(0.5, 1.0, 0.4))
    distance = np.linalg.norm(points_from_volume(ring, 0.1).positions.values[:, :2], axis=1)
    assert len(distance) > 100 and distance.min() > 0.45 and distance.max() < 1.0


def test_tetrahedra_fill_a_surface_and_keep_it():
    star = tm.creation.icosphere(subdivisions=2)
    star.vertices *= 1.0 + 0.5 * np.sin(4.0 * star.vertices[:, :1])
    surface = of(star)
    filled, report = tetrahedralize(surface)
    kept = filled.positions.values[: surface.vertices.size()]
    np.testing.assert_array_equal(kept, surface.positions.values)
    assert report["volume"] == pytest.approx(star.volume, rel=1e-12)
    same = {tuple(sorted(t)) for t in extract_surface(filled).triangles.topo.values.tolist()}
    assert same == {tuple(sorted(t)) for t in surface.triangles.topo.values.tolist()}
    solid, hollow = filled.copy(), surface.copy()
    for mesh in (solid, hollow):
        AffineBodyConstitution().apply_to(mesh, 1e8)
    np.testing.assert_allclose(solid.meta["inertia"], hollow.meta["inertia"], rtol=1e-12, atol=1e-9)


def test_what_cannot_be_filled_is_refused_with_advice():
    ring = of(tm.creation.annulus(0.5, 1.0, 0.4))
    with pytest.raises(GeometryError, match="need no tetrahedra, apply AffineBodyConstitution"):
        tetrahedralize(ring)
    box = tm.creation.box()
    with pytest.raises(GeometryError, match="not closed"):
        tetrahedralize(trimesh(box.vertices, box.faces[:-1]))
    with pytest.raises(GeometryError, match="point inward"):
        tetrahedralize(trimesh(box.vertices, box.faces[:, ::-1]))
    with pytest.raises(GeometryError, match="no option 'quality'"):
        tetrahedralize(of(box), {"quality": 1})
