"""Two bodies side by side, and joints between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dovetail.constitution import EdgeJoint
from dovetail.geometry import SimplicialComplex


@pytest.fixture
def pair(body, pose):
    """A slot 'left' and a slot 'right', unit cubes 2 m apart along x."""
    return body("left", pose((-1, 0, 0))), body("right", pose((1, 0, 0)))


@pytest.fixture
def world_joint(pair) -> Callable[..., SimplicialComplex]:
    """world_joint(cls, n, strengths): n equal joints at the origin, with an axis along z if they have one."""

    def build(cls: type[Any], n: int = 1, strengths: Any = 100.0) -> SimplicialComplex:
        points = {name: np.zeros((n, 3)) for name in cls.world_points}
        if issubclass(cls, EdgeJoint):
            points["position1s"] = points["position1s"] + [0, 0, 1]
        left, right = pair
        return cls().create_geometry(*points.values(), [left] * n, [0] * n, [right] * n, [0] * n, strengths)

    return build


@pytest.fixture
def local_joint(pair) -> Callable[..., SimplicialComplex]:
    """local_joint(cls, n): the same joints, given in the frames of the bodies."""

    def build(cls: type[Any], n: int = 1) -> SimplicialComplex:
        points = {name: np.tile([1.0 if name[0] == "l" else -1.0, 0, 0], (n, 1)) for name in cls.local_points}
        for name in ("l_position1", "r_position1"):
            if name in points:
                points[name] = points[name] + [0, 0, 1]
        left, right = pair
        return cls().create_geometry(*points.values(), [left] * n, [0] * n, [right] * n, [0] * n, [100.0] * n)

    return build
