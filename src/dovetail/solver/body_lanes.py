"""Guess, energy and start of eight bodies at once, as emitted code; the modules that use it say the same in loops.

They are bodies `first` … `last` at most; where there are fewer than eight, the last one is taken again. So every body
is computed by the same instructions, whatever its neighbours are: a mechanism has the same bits alone and in company.
"""

from __future__ import annotations

import math
from typing import Any

from dovetail.kernel.emit import Emitter, Matrix, emitted
from dovetail.kernel.emit_algebra import PAIRS, cross, dot, full, inverse, product, times

__all__ = ["POLAR_SWEEPS", "energy_of_eight", "guess_of_eight", "polar_of_eight", "start_of_eight", "turn_of_eight"]

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


@emitted("first, last, scale, Q, Q_tilde, A, out, change")
def guess_of_eight(e: Emitter) -> None:
    eight = e.neighbours(e.index(0), e.index(1))
    Q, T, a = (e.of(k, eight, 12) for k in (3, 4, 5))
    scale = e.one_of(2, eight)
    X = [t + scale * x for t, x in zip(T, a, strict=True)]
    R, change = polar_of_eight([X[3:6], X[6:9], X[9:12]], sweeps=2)
    G = [0.5 * g for g in _strain([Q[3:6], Q[6:9], Q[9:12]])]
    columns = [times(G, [R[0][x], R[1][x], R[2][x]]) for x in range(3)]
    rows = [R[i][x] + columns[x][i] for i in range(3) for x in range(3)]
    e.put_of(6, eight, [*X[:3], *rows])
    e.lanes(7, e.integer(0)).put(0, change)


@emitted("first, last, mass, c, w, Q, Q_tilde, found")
def energy_of_eight(e: Emitter) -> None:
    eight = e.neighbours(e.index(0), e.index(1))
    Q, T, M = e.of(5, eight, 12), e.of(6, eight, 12), e.of(2, eight, 16)
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
    total = e.one_of(3, eight) * kinetic + e.one_of(4, eight) * shape
    e.lanes(7, e.integer(0)).put(0, dot(A[0], cross(A[1], A[2])).where_positive(total, math.inf))


def _uncoupled(S: Matrix, k: Any, A: Matrix, r: Matrix, w: list[Any]) -> Matrix:
    """What is to be added to forces r on the rows of A, with J⁻¹τ = w, so that uncoupled bodies move by them as theirs.

    The equations are those of assembly/start.py.
    """
    columns = [cross(w, [S[0][y], S[1][y], S[2][y]]) for y in range(3)]
    sigma = [0.5 * (columns[y][x] + columns[x][y]) for x, y in PAIRS]
    n = [
        0.5 * (dot([row[x] for row in r], [row[y] for row in A]) + dot([row[y] for row in r], [row[x] for row in A]))
        for x, y in PAIRS
    ]
    soft = 1.0 / k
    couple = product(S, full([soft * (a - b) for a, b in zip(n, sigma, strict=True)]))
    sigma = full(sigma)
    X = [[0.5 * (couple[x][y] - couple[y][x]) - sigma[x][y] for y in range(3)] for x in range(3)]
    return [[dot(X[x], row) for x in range(3)] for row in A]


def _inertia(M: list[Any], A: Matrix) -> tuple[Matrix, list[Any], Any, list[Any]]:
    """Second moments in material and in world axes, trace of these, and the inverse of the inertia of turns."""
    light = 1.0 / M[0]
    S = full([M[5 + 4 * i + j] - light * (M[1 + i] * M[1 + j]) for i, j in PAIRS])
    weighed = product(S, A)
    moments = [dot([A[0][i], A[1][i], A[2][i]], [weighed[0][j], weighed[1][j], weighed[2][j]]) for i, j in PAIRS]
    trace = moments[0] + moments[1] + moments[2]
    return S, moments, trace, inverse([trace - m for m in moments[:3]] + [-m for m in moments[3:]])


def _turned(yields: list[Any], A: Matrix, r: Matrix) -> list[Any]:
    """ω = J⁻¹τ, τ the torque of r on the rows of A."""
    turns = [cross(row, force) for row, force in zip(A, r, strict=True)]
    return times(yields, [turns[0][x] + turns[1][x] + turns[2][x] for x in range(3)])


@emitted("first, last, mass, filtered, squared, a, Q, V, found")
def turn_of_eight(e: Emitter) -> None:
    eight = e.neighbours(e.index(0), e.index(1))
    a, Q, V = (e.of(k, eight, 12) for k in (5, 6, 7))
    M, squared = e.of(2, eight, 16), e.wide(e.scalars(4, e.integer(0)).at(0))
    A, rates = [Q[3:6], Q[6:9], Q[9:12]], [V[3:6], V[6:9], V[9:12]]
    S, _, _, yields = _inertia(M, A)
    omega = _turned(yields, A, product(S, rates))
    along, speed, bend = [dot(omega, row) for row in A], dot(omega, omega), 2.0 * e.one_of(3, eight)
    C = full([bend * (speed * dot(A[i], A[j]) - along[i] * along[j]) for i, j in PAIRS])
    found = []
    for i in range(4):
        for x in range(3):
            curved = dot(C[i - 1], [row[x] for row in A]) if i else 0.0
            pushed = M[4 * i] * a[x] + M[4 * i + 1] * a[3 + x] + M[4 * i + 2] * a[6 + x] + M[4 * i + 3] * a[9 + x]
            found.append(squared * (curved - pushed))
    e.put_of(8, eight, found)


@emitted("first, last, mass, stiffness, filtered, lengths, a, Q, V, aims, push")
def start_of_eight(e: Emitter) -> None:
    eight = e.neighbours(e.index(0), e.index(1))
    Q, V, a, M = e.of(7, eight, 12), e.of(8, eight, 12), e.of(6, eight, 12), e.of(2, eight, 16)
    squared, scale = (e.wide(e.scalars(5, e.integer(0)).at(k)) for k in range(2))
    A, rates = [Q[3:6], Q[6:9], Q[9:12]], [V[3:6], V[6:9], V[9:12]]
    S, moments, trace, yields = _inertia(M, A)
    light = 1.0 / M[0]
    centre, spread = [light * M[1 + i] for i in range(3)], full(inverse([S[i][j] for i, j in PAIRS]))

    def caused(r: Matrix) -> list[Any]:
        """M⁻¹ times forces on rows 1 to 3: S⁻¹ of them, and minus what that moves the centre of mass by."""
        axes = product(spread, r)
        return [-dot(centre, [row[x] for row in axes]) for x in range(3)] + [value for row in axes for value in row]

    k, filtered = e.one_of(3, eight), e.one_of(4, eight)
    world, stiffness = full(moments), 2.0 * filtered + (1.0 / 3.0) * trace
    heavy = product(S, rates)
    omega = _turned(yields, A, heavy)
    more = caused(_uncoupled(world, stiffness, A, heavy, omega))
    e.put_of(9, eight, [q - scale * (v + m) for q, v, m in zip(Q, V, more, strict=True)])
    along, speed = [dot(omega, row) for row in A], dot(omega, omega)
    bend = 2.0 * squared * filtered
    G = _strain(A)
    C = []
    for n, (i, j) in enumerate(PAIRS):
        metric = G[n] + 1.0 if i == j else G[n]
        C.append(k * G[n] + bend * (speed * metric - along[i] * along[j]))
    g = [[dot(row, [A[0][x], A[1][x], A[2][x]]) for x in range(3)] for row in full(C)]
    pushed = product(S, [a[3:6], a[6:9], a[9:12]])
    r = [[squared * pushed[i][x] - g[i][x] for x in range(3)] for i in range(3)]
    extra = _uncoupled(world, stiffness, A, r, _turned(yields, A, r))
    forces = [[extra[i][x] - g[i][x] for x in range(3)] for i in range(3)]
    e.put_of(10, eight, [squared * a[n] + value for n, value in enumerate(caused(forces))])
