"""Where the camera stands."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dovetail.picture.camera import FIELD_OF_VIEW, Bounds, frame


@pytest.mark.parametrize("up", [(0, 0, 1), (0, 1, 0), (1, 0, 0), (0.3, -0.2, 0.9)])
@pytest.mark.parametrize("size", [(1, 1, 1), (10, 0.1, 0.1), (0.01, 0.02, 5)])
def test_the_whole_box_is_seen_and_fills_the_picture(up, size):
    bounds = Bounds(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0]) + size)
    camera = frame(bounds, np.array(up, float))
    forward = camera.look_at - camera.pos
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, camera.up)
    right /= np.linalg.norm(right)
    above = np.cross(right, forward)
    corners = np.array(list(itertools.product(*zip(bounds.lower, bounds.upper, strict=True)))) - camera.pos
    depth = corners @ forward
    high = np.abs(corners @ above) / depth / np.tan(FIELD_OF_VIEW / 2)
    wide = np.abs(corners @ right) / depth / np.tan(FIELD_OF_VIEW / 2) / 1.3
    assert (depth > 0).all()
    # a margin of 12 % is left on the side that decides
    assert 0.8 < max(high.max(), wide.max()) <= 1 / 1.12 + 1e-9
    assert (camera.pos - bounds.centre) @ camera.up > 0


def test_what_flies_away_does_not_make_everything_tiny():
    box = Bounds(np.zeros(3), np.ones(3))
    grown = box.joined(Bounds(np.full(3, -1000.0), np.array([0.0, 0.0, 1.5])))
    assert grown.size < 5 * box.size
    np.testing.assert_allclose(grown.upper, [1.0, 1.0, 1.5])


def test_no_points_and_one_point_have_bounds_too():
    assert Bounds.of(np.zeros((0, 3))).size > 0
    assert np.isfinite(frame(Bounds.of(np.zeros((1, 3))), np.array([0.0, 0, 1])).pos).all()
