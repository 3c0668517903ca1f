"""Bodies to apply constitutions to."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import numpy as np
import pytest

from dovetail.constitution import AffineBodyConstitution
from dovetail.geometry import SimplicialComplex, SimplicialComplexSlot
from dovetail.geometry.create import trimesh

CUBE_V = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
CUBE_F = np.array(
    [
        [0, 1, 3],
        [0, 3, 2],
        [4, 6, 7],
        [4, 7, 5],
        [0, 4, 5],
        [0, 5, 1],
        [2, 3, 7],
        [2, 7, 6],
        [0, 2, 6],
        [0, 6, 4],
        [1, 5, 7],
        [1, 7, 3],
    ]
)


@pytest.fixture
def box() -> Callable[..., SimplicialComplex]:
    """box(size, center): a closed box without a constitution."""

    def build(size=(1.0, 1.0, 1.0), center=(0.0, 0.0, 0.0)):
        return trimesh(CUBE_V * np.asarray(size) + center, CUBE_F)

    return build


@pytest.fixture
def body(box) -> Callable[..., SimplicialComplexSlot]:
    """body(name, transforms, fixed): a slot that holds a cube with an instance per transform."""
    ids = count()

    def build(name="body", transforms=None, fixed=()):
        sc = box()
        AffineBodyConstitution().apply_to(sc, 1e8)
        poses = np.eye(4)[None] if transforms is None else np.asarray(transforms).reshape(-1, 4, 4)
        sc.instances.resize(len(poses))
        sc.instances["transform"] = poses
        sc.instances["is_fixed"][list(fixed)] = 1
        return SimplicialComplexSlot(next(ids), sc, name)

    return build


@pytest.fixture
def pose() -> Callable[..., np.ndarray]:
    """pose(position, rotation): a 4×4 transform."""

    def build(position=(0.0, 0.0, 0.0), rotation=None):
        T = np.eye(4)
        T[:3, 3] = position
        if rotation is not None:
            T[:3, :3] = rotation
        return T

    return build
