"""Affine transforms as a browser can draw them: rotation, translation and a scale along the axes of the body."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.typing import Array

__all__ = ["Poses", "quaternions", "split"]


class Poses(NamedTuple):
    """Poses of n bodies: rotations (n, 3, 3), positions (n, 3), scales (n, 3)."""

    rotations: Array
    positions: Array
    scales: Array


def split(transforms: Array) -> Poses:
    """The polar part of transforms (n, 4, 4): A ≈ R diag(s), R the rotation nearest to A, s the diagonal of RᵀA.

    A stretch along the body's axes is drawn exactly. Shear is left out; of a stiff body it is too small to be seen.
    """
    A = transforms[:, :3, :3]
    U, _, Vt = np.linalg.svd(A)
    U[:, :, 2] *= np.sign(np.linalg.det(U @ Vt))[:, None]
    R = U @ Vt
    return Poses(R, transforms[:, :3, 3], np.einsum("nij,nij->nj", R, A))


def quaternions(rotations: Array) -> Array:
    """Unit quaternions (n, 4), w first, of rotations (n, 3, 3).

    From 4 q qᵀ, whose entries are sums and differences of those of R: its longest column is q to a factor.
    """
    R = rotations
    xx, yy, zz = R[:, 0, 0], R[:, 1, 1], R[:, 2, 2]
    P = np.empty((len(R), 4, 4))
    P[:, 0, 0], P[:, 1, 1] = 1 + xx + yy + zz, 1 + xx - yy - zz
    P[:, 2, 2], P[:, 3, 3] = 1 - xx + yy - zz, 1 - xx - yy + zz
    P[:, 0, 1] = P[:, 1, 0] = R[:, 2, 1] - R[:, 1, 2]
    P[:, 0, 2] = P[:, 2, 0] = R[:, 0, 2] - R[:, 2, 0]
    P[:, 0, 3] = P[:, 3, 0] = R[:, 1, 0] - R[:, 0, 1]
    P[:, 1, 2] = P[:, 2, 1] = R[:, 0, 1] + R[:, 1, 0]
    P[:, 1, 3] = P[:, 3, 1] = R[:, 0, 2] + R[:, 2, 0]
    P[:, 2, 3] = P[:, 3, 2] = R[:, 1, 2] + R[:, 2, 1]
    longest = np.argmax(np.einsum("nii->ni", P), axis=1)
    q = P[np.arange(len(P)), :, longest]
    normalised: Array = q / np.linalg.norm(q, axis=1, keepdims=True)
    return normalised
