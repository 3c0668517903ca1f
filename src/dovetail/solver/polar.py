"""Polar decomposition of a body's linear part: the rotation nearest to it."""

from __future__ import annotations

from dovetail.kernel.kernel import kernel
from dovetail.typing import Array

__all__ = ["determinant", "polar"]


@kernel
def determinant(Q: Array, b: int) -> float:
    """det A of body b: positive unless the body is turned inside out."""
    return (
        Q[b, 1, 0] * (Q[b, 2, 1] * Q[b, 3, 2] - Q[b, 2, 2] * Q[b, 3, 1])
        + Q[b, 1, 1] * (Q[b, 2, 2] * Q[b, 3, 0] - Q[b, 2, 0] * Q[b, 3, 2])
        + Q[b, 1, 2] * (Q[b, 2, 0] * Q[b, 3, 1] - Q[b, 2, 1] * Q[b, 3, 0])
    )


@kernel
def polar(Q: Array, b: int, R: Array, tolerance: float) -> None:
    """R (3×3, row i = image of e_i) ← rotation of body b, by Newton's iteration X ← ½(X + X⁻ᵀ).

    Quadratic near a rotation: two or three sweeps for bodies that hardly stretch. det A must be positive.
    """
    for i in range(3):
        for a in range(3):
            R[i, a] = Q[b, 1 + i, a]
    for _ in range(30):
        c00 = R[1, 1] * R[2, 2] - R[1, 2] * R[2, 1]
        c01 = R[1, 2] * R[2, 0] - R[1, 0] * R[2, 2]
        c02 = R[1, 0] * R[2, 1] - R[1, 1] * R[2, 0]
        c10 = R[2, 1] * R[0, 2] - R[2, 2] * R[0, 1]
        c11 = R[2, 2] * R[0, 0] - R[2, 0] * R[0, 2]
        c12 = R[2, 0] * R[0, 1] - R[2, 1] * R[0, 0]
        c20 = R[0, 1] * R[1, 2] - R[0, 2] * R[1, 1]
        c21 = R[0, 2] * R[1, 0] - R[0, 0] * R[1, 2]
        c22 = R[0, 0] * R[1, 1] - R[0, 1] * R[1, 0]
        half = 0.5 / (R[0, 0] * c00 + R[0, 1] * c01 + R[0, 2] * c02)
        change = 0.0
        for i, a, cofactor in (
            (0, 0, c00),
            (0, 1, c01),
            (0, 2, c02),
            (1, 0, c10),
            (1, 1, c11),
            (1, 2, c12),
            (2, 0, c20),
            (2, 1, c21),
            (2, 2, c22),
        ):
            new = 0.5 * R[i, a] + half * cofactor
            change = max(change, abs(new - R[i, a]))
            R[i, a] = new
        if change < tolerance:
            break
