"""The exact intersection test that the tests of contact rely on: it must see the smallest overlap, and nothing else."""

from __future__ import annotations

import ipctk
import numpy as np
import pytest
from contact_scenes import BOX, MESHES, Stage, box, random_rotation, scaled
from intersection import assert_apart, crossings, is_inside, orientation, surfaces, touches
from scenes import pose

TRIANGLE = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def touching(p, q, triangle=TRIANGLE) -> bool:
    return bool(touches(*(np.atleast_2d(np.asarray(x, float)) for x in (p, q, *triangle)))[0])


def test_orientation_is_exact_where_floats_are_not():
    """Points on a plane through the origin, one moved by the last bit of a coordinate."""
    a, b, c = np.array([[0.1, 0.2, 0.3], [0.3, 0.1, 0.7], [0.9, 0.4, 0.2]])
    on_plane = a  # a, b, c, a: exactly zero
    up = a.copy()
    up[0] = np.nextafter(a[0], 1)
    down = a.copy()
    down[0] = np.nextafter(a[0], 0)
    signs = orientation(*(np.stack([x, x, x]) for x in (a, b, c)), np.stack([on_plane, up, down]))
    assert signs[0] == 0 and signs[1] == -signs[2] != 0


def test_segments_through_beside_and_on_a_triangle():
    assert touching((0.2, 0.2, -1), (0.2, 0.2, 1))
    assert not touching((0.2, 0.2, 1e-300), (0.2, 0.2, 1))
    assert touching((0.2, 0.2, 0.0), (0.2, 0.2, 1))
    assert not touching((0.9, 0.9, -1), (0.9, 0.9, 1))
    # through a side, and one bit beside it
    assert touching((0.5, 0.5, -1), (0.5, 0.5, 1))
    beside = np.nextafter(0.5, 1)
    assert not touching((beside, 0.5, -1), (beside, 0.5, 1))


def test_segments_in_the_plane_of_a_triangle():
    assert touching((0.1, 0.1, 0), (0.2, 0.2, 0))
    assert touching((-1, 0.2, 0), (2, 0.2, 0))
    assert touching((-1, 0, 0), (0, 0, 0))
    assert touching((0.5, 0.0, 0), (2, 0, 0))
    assert not touching((1.5, 0, 0), (2, 0, 0))
    assert not touching((0.6, 0.6, 0), (1, 0.5, 0))
    assert not touching((-1, -1e-300, 0), (2, -1e-300, 0))


def test_random_pairs_agree_with_ipctk(rng):
    corners = rng.uniform(-1, 1, (5, 3000, 3))
    ours = touches(*corners)
    theirs = [ipctk.is_edge_intersecting_triangle(*points) for points in corners.swapaxes(0, 1)]
    assert 100 < ours.sum() < 2900
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("gap", [1e-15, 0.0, -1e-15])
def test_stacked_boxes_touch_to_the_last_digit(gap):
    stage = Stage()
    stage.add("boxes", BOX, [(0, 0, 0), (0.3, 0.2, 1 + gap)])
    assert bool(crossings(surfaces(stage.scene))) == (1 + gap <= 1)


@pytest.mark.parametrize("name", MESHES)
def test_bodies_that_overlap_are_found_from_any_direction(rng, name):
    mesh = MESHES[name]
    for _ in range(5):
        stage = Stage()
        turned = random_rotation(rng)
        stage.add("body", mesh, [pose((0, 0, 0), turned), pose(1e-3 * rng.normal(size=3), turned)])
        assert crossings(surfaces(stage.scene)) == [("body[0]", "body[1]")]


def test_a_body_inside_another_is_found():
    stage = Stage()
    stage.add("outer", BOX)
    stage.add("inner", scaled(BOX, 0.5), [(0.1, 0, 0)])
    assert not crossings(surfaces(stage.scene))
    with pytest.raises(AssertionError, match=r"inner\[0\]"):
        assert_apart(stage.scene)


@pytest.mark.parametrize("name", MESHES)
def test_inside_and_outside_of_a_body(rng, name):
    stage = Stage()
    stage.add("body", MESHES[name])
    (body,) = surfaces(stage.scene)
    corner, *others = body.points[body.triangles[0]]
    middle = (corner + sum(others)) / 3
    outward = np.cross(others[0] - corner, others[1] - corner)
    outward /= np.linalg.norm(outward)
    assert is_inside(middle - 1e-3 * outward, body)
    assert not is_inside(middle + 1e-3 * outward, body)


def test_a_body_below_a_half_plane_or_mirrored_is_found():
    stage = Stage()
    stage.ground(height=-0.49)
    slot = stage.add("cube", BOX)
    with pytest.raises(AssertionError, match="below 'ground'"):
        assert_apart(stage.scene)
    slot.geometry.instances["transform"][0] = np.diag([1.0, 1.0, -1.0, 1.0])
    with pytest.raises(AssertionError, match="inside out"):
        assert_apart(stage.scene)


def test_pairs_to_be_ignored_are():
    stage = Stage()
    stage.add("one", BOX)
    stage.add("other", box(0.2, 0.2, 3))
    with pytest.raises(AssertionError, match="intersect"):
        assert_apart(stage.scene)
    assert_apart(stage.scene, ignored={frozenset(("one[0]", "other[0]"))})
