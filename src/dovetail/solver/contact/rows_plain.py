"""Sums of what contacts add to blocks (rows.py) in plain loops: the definition, the fallback and the oracle."""

from __future__ import annotations

from dovetail.kernel.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["between", "own", "put_own"]


@kernel
def own(xi: Array, bodies: Indices, S: Array, force: Array, first: int, last: int, b: int, T: Array) -> None:
    """T (14, 8) += Σ ξ_i ξ_j S, i ≤ j, then Σ ξ_i force, over some rows; ξ is that of body b, −ξ_b if it is the second.

    Of a body with itself it is ξ_a − ξ_b.
    """
    for k in range(first, last):
        row, is_first, is_second = 0, bodies[k, 0] == b, bodies[k, 1] == b
        for i in range(4):
            left = (xi[k, i] if is_first else 0.0) - (xi[k, 4 + i] if is_second else 0.0)
            for j in range(i, 4):
                right = (xi[k, j] if is_first else 0.0) - (xi[k, 4 + j] if is_second else 0.0)
                for entry in range(6):
                    T[row, entry] += left * right * S[k, entry]
                row += 1
            for x in range(3):
                T[10 + i, x] += left * force[k, x]


@kernel
def put_own(T: Array, D: Array, b: int) -> None:
    """D[b] += Σ (ξ ξᵀ) ⊗ S, of which T has the sums."""
    for i in range(4):
        for j in range(4):
            low, high = min(i, j), max(i, j)
            row = 4 * low - low * (low - 1) // 2 + high - low
            for x in range(3):
                for y in range(3):
                    D[b, 3 * i + x, 3 * j + y] += T[row, x + y + (1 if x > 0 and y > 0 else 0)]


@kernel
def between(xi: Array, bodies: Indices, S: Array, first: int, last: int, b: int, U: Array, block: int) -> None:
    """U[block] −= Σ (ξ ηᵀ) ⊗ S over some rows of body b and another one, to which η belongs."""
    for k in range(first, last):
        mine = 0 if bodies[k, 0] == b else 4
        for i in range(4):
            for j in range(4):
                w = xi[k, mine + i] * xi[k, 4 - mine + j]
                for x in range(3):
                    for y in range(3):
                        U[block, 3 * i + x, 3 * j + y] -= w * S[k, x + y + (1 if x > 0 and y > 0 else 0)]
