"""Operations on 3×3 blocks in plain loops: the definition, the fallback, and the oracle of the SIMD ones.

A block is a row of an (n, 12) array, its three rows at 0, 4 and 8 with a zero behind each, so that a row is a vector of
four doubles. Every operation takes arrays and indices.
"""

from __future__ import annotations

from dovetail.kernel.kernel import kernel
from dovetail.typing import Array

__all__ = ["product", "subtract_product"]


@kernel
def product(C: Array, c: int, A: Array, a: int, B: Array, b: int) -> None:
    """C[c] ← A[a] B[b]; C is neither of them."""
    for i in range(3):
        for j in range(4):
            C[c, 4 * i + j] = A[a, 4 * i] * B[b, j] + A[a, 4 * i + 1] * B[b, 4 + j] + A[a, 4 * i + 2] * B[b, 8 + j]


@kernel
def subtract_product(C: Array, c: int, A: Array, a: int, B: Array, b: int) -> None:
    """C[c] −= A[a]ᵀ B[b]."""
    for i in range(3):
        for j in range(4):
            C[c, 4 * i + j] -= A[a, i] * B[b, j] + A[a, 4 + i] * B[b, 4 + j] + A[a, 8 + i] * B[b, 8 + j]
