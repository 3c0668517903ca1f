"""Vectors and small matrices of emitted numbers, as Python lists; symmetric 3×3 as xx, yy, zz, xy, xz, yz."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.kernel.emit import Matrix, Vector3

__all__ = ["PAIRS", "SYMMETRIC", "cross", "difference", "dot", "full", "inverse", "product", "times", "transposed"]

SYMMETRIC = {(0, 0): 0, (1, 1): 1, (2, 2): 2, (0, 1): 3, (1, 0): 3, (0, 2): 4, (2, 0): 4, (1, 2): 5, (2, 1): 5}
PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


def dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Σ aᵢ bᵢ, from the first on."""
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total


def cross(a: Vector3, b: Vector3) -> list[Any]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def inverse(s: Vector3) -> list[Any]:
    """Inverse of a symmetric matrix xx, yy, zz, xy, xz, yz, likewise."""
    x, y, z, xy, xz, yz = s
    c0, c1, c2 = y * z - yz * yz, xz * yz - xy * z, xy * yz - xz * y
    d = 1.0 / (x * c0 + xy * c1 + xz * c2)
    return [c0 * d, (x * z - xz * xz) * d, (x * y - xy * xy) * d, c1 * d, c2 * d, (xy * xz - x * yz) * d]


def full(s: Vector3) -> Matrix:
    return [[s[SYMMETRIC[i, j]] for j in range(3)] for i in range(3)]


def times(s: Vector3, v: Vector3) -> list[Any]:
    """Symmetric matrix times a vector."""
    M = full(s)
    return [dot(M[i], v) for i in range(3)]


def product(A: Matrix, B: Matrix) -> Matrix:
    return [[dot(row, column) for column in transposed(B)] for row in A]


def difference(A: Matrix, B: Matrix, C: Matrix, symmetric: bool) -> Matrix:
    """A − B C; of a symmetric result one half is computed."""
    out: Matrix = [[None] * len(A[0]) for _ in A]
    for i in range(len(A)):
        for j in range(i if symmetric else 0, len(A[0])):
            out[i][j] = A[i][j] - dot(B[i], [row[j] for row in C])
            if symmetric:
                out[j][i] = out[i][j]
    return out


def transposed(A: Matrix) -> Matrix:
    return [list(column) for column in zip(*A, strict=True)]
