"""The 12×12 block operations in plain loops: the definition, the fallback, and the oracle of the SIMD ones.

Blocks are slices of C-contiguous (n, 12, 12) arrays, vectors of (n, 12) arrays; every operation takes the array and
the index. The factor of a diagonal block is A = UᵀU with U upper triangular, stored over A; only the upper triangle
of A is read. R holds the reciprocals of U's diagonal.
"""

from __future__ import annotations

import math

from dovetail.kernel.kernel import kernel
from dovetail.typing import Array

__all__ = [
    "add_dyad",
    "add_gram",
    "cholesky",
    "signed_cholesky",
    "subtract_gram",
    "subtract_product",
    "subtract_times",
    "subtract_transposed_times",
    "upper_solve",
    "upper_transposed_solve",
    "upper_transposed_solve_block",
]


@kernel
def cholesky(D: Array, k: int, R: Array, r: int) -> float:
    """D[k] ← U with UᵀU = D[k]; R[r] ← 1/diag U. Returns the smallest pivot; NaN counts as smallest."""
    smallest = math.inf
    for p in range(12):
        pivot = D[k, p, p]
        if not pivot >= smallest:
            smallest = pivot
        inverse = 1.0 / math.sqrt(pivot) if pivot > 0.0 else math.nan
        R[r, p] = inverse
        for j in range(p, 12):
            D[k, p, j] *= inverse
        for i in range(p + 1, 12):
            for j in range(i, 12):
                D[k, i, j] -= D[k, p, i] * D[k, p, j]
    return smallest


@kernel
def signed_cholesky(D: Array, k: int, R: Array, r: int, G: Array, g: int) -> float:
    """D[k] ← U with Uᵀ diag(G[g]) U = D[k], which may be indefinite: G are the signs of the pivots.

    R[r] ← 1/diag U. Returns the smallest pivot without its sign; NaN counts as smallest.
    """
    smallest = math.inf
    for p in range(12):
        size = abs(D[k, p, p])
        if not size >= smallest:
            smallest = size
        G[g, p] = math.copysign(1.0, D[k, p, p])
        inverse = 1.0 / math.sqrt(size) if size > 0.0 else math.nan
        R[r, p] = inverse
        for j in range(p, 12):
            D[k, p, j] *= inverse * G[g, p]
        for i in range(p + 1, 12):
            for j in range(i, 12):
                D[k, i, j] -= G[g, p] * D[k, p, i] * D[k, p, j]
    return smallest


@kernel
def upper_transposed_solve_block(D: Array, k: int, R: Array, r: int, X: Array, x: int) -> None:
    """X[x] ← U⁻ᵀ X[x], U the factor in D[k]."""
    for p in range(12):
        for j in range(12):
            X[x, p, j] *= R[r, p]
        for i in range(p + 1, 12):
            for j in range(12):
                X[x, i, j] -= D[k, p, i] * X[x, p, j]


@kernel
def subtract_product(C: Array, c: int, A: Array, a: int, B: Array, b: int) -> None:
    """C[c] −= A[a]ᵀ B[b]."""
    for p in range(12):
        for i in range(12):
            for j in range(12):
                C[c, i, j] -= A[a, p, i] * B[b, p, j]


@kernel
def subtract_gram(C: Array, c: int, A: Array, a: int) -> None:
    """C[c] −= A[a]ᵀ A[a], upper triangle only (entries below may change too)."""
    for p in range(12):
        for i in range(12):
            for j in range(i, 12):
                C[c, i, j] -= A[a, p, i] * A[a, p, j]


@kernel
def add_dyad(C: Array, c: int, X: Array, x: int, Y: Array, y: int) -> None:
    """C[c] += X[x] Y[y]ᵀ."""
    for i in range(12):
        for j in range(12):
            C[c, i, j] += X[x, i] * Y[y, j]


@kernel
def add_gram(C: Array, c: int, A: Array, a: int) -> None:
    """C[c] += A[a]ᵀ A[a], upper triangle only (entries below may change too)."""
    for p in range(12):
        for i in range(12):
            for j in range(i, 12):
                C[c, i, j] += A[a, p, i] * A[a, p, j]


@kernel
def subtract_transposed_times(Y: Array, y: int, A: Array, a: int, X: Array, x: int) -> None:
    """Y[y] −= A[a]ᵀ X[x]."""
    for p in range(12):
        for i in range(12):
            Y[y, i] -= A[a, p, i] * X[x, p]


@kernel
def subtract_times(Y: Array, y: int, A: Array, a: int, X: Array, x: int) -> None:
    """Y[y] −= A[a] X[x]."""
    for i in range(12):
        total = 0.0
        for p in range(12):
            total += A[a, i, p] * X[x, p]
        Y[y, i] -= total


@kernel
def upper_transposed_solve(D: Array, k: int, R: Array, r: int, Y: Array, y: int) -> None:
    """Y[y] ← U⁻ᵀ Y[y]."""
    for p in range(12):
        Y[y, p] *= R[r, p]
        for i in range(p + 1, 12):
            Y[y, i] -= D[k, p, i] * Y[y, p]


@kernel
def upper_solve(D: Array, k: int, R: Array, r: int, Y: Array, y: int) -> None:
    """Y[y] ← U⁻¹ Y[y]."""
    for p in range(11, -1, -1):
        Y[y, p] *= R[r, p]
        for i in range(p):
            Y[y, i] -= D[k, i, p] * Y[y, p]
