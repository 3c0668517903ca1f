"""Best rigid motions, and which vertices are near to triangles and edges."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail import AngleAxis
from dovetail.errors import GeometryError
from dovetail.geometry import (
    closest_vertex_edge_pairs,
    closest_vertex_triangle_pairs,
    linemesh,
    optimal_transform,
    pointcloud,
    trimesh,
)


def test_the_motion_between_moved_points_is_found_exactly(rng):
    points = rng.normal(size=(9, 3))
    R, t = AngleAxis(2.0, rng.normal(size=3)).matrix(), rng.normal(size=3)
    T = optimal_transform(points, points @ R.T + t)
    np.testing.assert_allclose(T[:3, :3], R, atol=1e-14)  # rounding of a 3×3 SVD
    np.testing.assert_allclose(T[:3, 3], t, atol=1e-14)
    np.testing.assert_array_equal(optimal_transform(pointcloud(points), pointcloud(points @ R.T + t)), T)


def test_mirrored_points_give_a_proper_rotation(rng):
    points = rng.normal(size=(9, 3))
    T = optimal_transform(points, points * [1, 1, -1])
    assert np.linalg.det(T[:3, :3]) == pytest.approx(1.0)


def test_points_that_do_not_correspond_are_refused():
    with pytest.raises(GeometryError, match="src has 2 points and dst 3"):
        optimal_transform(np.zeros((2, 3)), np.zeros((3, 3)))


TRIANGLES = trimesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [5, 0, 0], [6, 0, 0], [5, 1, 0]], [[0, 1, 2], [3, 4, 5]])


def topo(found):
    return found.instances["topo"].tolist()


def test_each_vertex_meets_the_nearest_triangle_within_reach():
    vertices = pointcloud([[0.2, 0.2, 0.3], [5.2, 0.2, -0.1], [3.0, 0.0, 0.0]])
    assert topo(closest_vertex_triangle_pairs(vertices, TRIANGLES, 0.5)) == [[0, 0], [1, 1]]
    assert topo(closest_vertex_triangle_pairs(vertices, TRIANGLES, 0.2)) == [[1, 1]]
    assert topo(closest_vertex_triangle_pairs(vertices, TRIANGLES, 2.0)) == [[0, 0], [1, 1], [2, 0]]


def test_reach_and_choice_can_be_given_by_attributes():
    vertices = pointcloud([[0.2, 0.2, 0.3], [0.2, 0.2, 0.3]])
    vertices.vertices.create("reach", 0.1)
    vertices.vertices["reach"] = [0.4, 0.1]
    assert topo(closest_vertex_triangle_pairs(vertices, TRIANGLES, 9.0, max_distance_attr="reach")) == [[0, 0]]
    triangles = TRIANGLES.copy()
    vertices.vertices.create("chosen", 1)
    triangles.triangles.create("chosen", 0)
    triangles.triangles["chosen"] = [0, 1]
    assert topo(closest_vertex_triangle_pairs(vertices, triangles, 9.0, group="chosen")) == [[0, 1], [1, 1]]


def test_the_nearest_edge_is_measured_to_the_segment_and_not_to_its_line():
    edges = linemesh([[0, 0, 0], [1, 0, 0], [3, 1, 0], [4, 1, 0]], [[0, 1], [2, 3]])
    assert topo(closest_vertex_edge_pairs(pointcloud([[2.5, 0.0, 0.0]]), edges, 2.0)) == [[0, 1]]
    with pytest.raises(GeometryError, match="max_distance = -1"):
        closest_vertex_edge_pairs(pointcloud([[0, 0, 0]]), edges, -1.0)
