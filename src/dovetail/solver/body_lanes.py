"""Guess and energy of eight bodies at once, as emitted code; predict.py and assembly/bodies.py say them in loops."""

from __future__ import annotations

import math
from typing import Any

from numba.extending import intrinsic

from dovetail.solver.emit import Emitter, Matrix, emitted
from dovetail.solver.emit_algebra import PAIRS, cross, dot, times

__all__ = ["POLAR_SWEEPS", "energy_of_eight", "guess_of_eight", "polar_of_eight"]

POLAR_SWEEPS = 3
"""Enough for strains up to a tenth."""


def polar_of_eight(a: Matrix, sweeps: int = POLAR_SWEEPS) -> tuple[Matrix, Any]:
    """Rows of the rotation nearest to the rows a, by X ← ½(X + X⁻ᵀ), and the largest change in the last sweep."""
    X, change = a, None
    for _ in range(sweeps):
        C = [cross(X[1], X[2]), cross(X[2], X[0]), cross(X[0], X[1])]
        half = 0.5 / dot(X[0], C[0])
        new = [[0.5 * X[i][e] + half * C[i][e] for e in range(3)] for i in range(3)]
        change = None
        for i in range(3):
            for e in range(3):
                size = (new[i][e] - X[i][e]).size()
                change = size if change is None else change.most(size)
        X = new
    return X, change


def _strain(A: Matrix) -> list[Any]:
    """AᵀA − 1 of the rows a_k = A e_k, symmetric."""
    G = [dot(A[i], A[j]) for i, j in PAIRS]
    return [g - 1.0 for g in G[:3]] + G[3:]


def _emit_guess(e: Emitter) -> None:
    # arguments: first, scale, Q, Q_tilde, A, out, change
    first = e.index(0)
    Q, T, a = (e.neighbours(k, first, 12) for k in (2, 3, 4))
    scale = e.lanes(1, first).at(0)
    X = [t + scale * x for t, x in zip(T, a, strict=True)]
    R, change = polar_of_eight([X[3:6], X[6:9], X[9:12]], sweeps=2)
    G = [0.5 * g for g in _strain([Q[3:6], Q[6:9], Q[9:12]])]
    columns = [times(G, [R[0][x], R[1][x], R[2][x]]) for x in range(3)]
    rows = [R[i][x] + columns[x][i] for i in range(3) for x in range(3)]
    e.put_neighbours(5, first, [*X[:3], *rows])
    e.lanes(6, e.times(first, 0)).put(0, change)


def _emit_energy(e: Emitter) -> None:
    # arguments: first, mass, c, w, Q, Q_tilde, E
    first = e.index(0)
    Q, T, M = e.neighbours(4, first, 12), e.neighbours(5, first, 12), e.neighbours(1, first, 16)
    d = [q - t for q, t in zip(Q, T, strict=True)]
    kinetic: Any = 0.0
    for i in range(4):
        own = dot(d[3 * i : 3 * i + 3], d[3 * i : 3 * i + 3])
        kinetic = kinetic + 0.5 * M[5 * i] * own
        for j in range(i + 1, 4):
            kinetic = kinetic + M[4 * i + j] * dot(d[3 * i : 3 * i + 3], d[3 * j : 3 * j + 3])
    A = [Q[3:6], Q[6:9], Q[9:12]]
    G = _strain(A)
    shape = dot(G[:3], G[:3]) + 2.0 * dot(G[3:], G[3:])
    E = e.lanes(6, first)
    total = e.lanes(2, first).at(0) * kinetic + e.lanes(3, first).at(0) * shape
    E.put(0, E.at(0) + dot(A[0], cross(A[1], A[2])).where_positive(total, math.inf))


guess_of_eight = intrinsic(
    lambda context, first, scale, Q, Q_tilde, A, out, change: emitted(
        _emit_guess, first, scale, Q, Q_tilde, A, out, change
    )
)
energy_of_eight = intrinsic(
    lambda context, first, mass, c, w, Q, Q_tilde, E: emitted(_emit_energy, first, mass, c, w, Q, Q_tilde, E)
)
