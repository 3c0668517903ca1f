"""Shapes that several tests use."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.geometry import SimplicialComplex, tetmesh, trimesh

CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
SIDES = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
# the six tetrahedra around the diagonal from corner 0 to corner 7
TETS = np.array([[0, 4, 6, 7], [0, 6, 2, 7], [0, 2, 3, 7], [0, 3, 1, 7], [0, 1, 5, 7], [0, 5, 4, 7]])


@pytest.fixture
def surface_box():
    """surface_box(size, center, rotation) -> closed trimesh"""

    def make(size=(1, 1, 1), center=(0, 0, 0), rotation=None) -> SimplicialComplex:
        return trimesh(_placed(size, center, rotation), SIDES)

    return make


@pytest.fixture
def solid_box():
    """solid_box(size, center, rotation) -> tetmesh"""

    def make(size=(1, 1, 1), center=(0, 0, 0), rotation=None) -> SimplicialComplex:
        return tetmesh(_placed(size, center, rotation), TETS)

    return make


def _placed(size, center, rotation):
    points = CORNERS * np.asarray(size, float)
    return points @ (np.eye(3) if rotation is None else rotation).T + np.asarray(center, float)
