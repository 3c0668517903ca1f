from __future__ import annotations

import numpy as np
import pytest

from dovetail.errors import GeometryError
from dovetail.geometry import compute_mesh_d_hat, constitution_type, label_surface


def test_d_hat_is_the_shortest_surface_edge(surface_box):
    box = surface_box((0.02, 1, 1))
    label_surface(box)
    slot = compute_mesh_d_hat(box, 0.1)
    assert slot is box.meta.find("d_hat")
    assert slot.values[0] == pytest.approx(0.02, rel=1e-15)


def test_d_hat_is_at_most_the_given_one(surface_box):
    box = surface_box()
    label_surface(box)
    np.testing.assert_array_equal(compute_mesh_d_hat(box, 0.1).view(), [0.1])
    with pytest.raises(GeometryError, match="exists already"):
        compute_mesh_d_hat(box, 0.1)


def test_d_hat_of_an_unlabelled_mesh_is_not_set(surface_box):
    box = surface_box()
    with pytest.warns(UserWarning, match="call label_surface first"):
        assert compute_mesh_d_hat(box, 0.1) is None
    assert box.meta.find("d_hat") is None
    with pytest.raises(GeometryError, match="max_d_hat = -1"):
        compute_mesh_d_hat(box, -1.0)


def test_the_type_of_a_geometry_is_that_of_its_constitution(surface_box):
    box = surface_box()
    assert constitution_type(box) == "None"
    box.meta.create("constitution_uid", np.uint64(1))
    assert constitution_type(box) == "AffineBody"


def test_d_hat_of_a_mesh_with_positions_that_are_not_finite_is_refused(surface_box):
    box = surface_box()
    label_surface(box)
    box.vertices["position"][:] = np.inf
    with pytest.raises(GeometryError, match="compute_mesh_d_hat: vertex 0"):
        compute_mesh_d_hat(box, 0.01)
