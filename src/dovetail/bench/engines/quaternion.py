"""Unit quaternions as the other engines want them."""

from __future__ import annotations

import numpy as np

from dovetail.typing import Array

__all__ = ["matrices", "xyzw"]


def xyzw(R: Array) -> list[float]:
    """Of a rotation matrix, scalar last."""
    # the largest of the four is found first, so that nothing small is divided by
    K = np.array(
        [
            [R[0, 0] - R[1, 1] - R[2, 2], 0.0, 0.0, 0.0],
            [R[0, 1] + R[1, 0], R[1, 1] - R[0, 0] - R[2, 2], 0.0, 0.0],
            [R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], R[2, 2] - R[0, 0] - R[1, 1], 0.0],
            [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], R[0, 0] + R[1, 1] + R[2, 2]],
        ]
    )
    _, vectors = np.linalg.eigh(K)  # reads the lower triangle; the quaternion is the eigenvector of the largest value
    return [float(x) for x in vectors[:, -1]]


def matrices(q: Array) -> Array:
    """Rotation matrices (n, 3, 3) of quaternions (n, 4), scalar last."""
    x, y, z, w = np.asarray(q, float).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)
