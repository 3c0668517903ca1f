"""Motions that joints leave and hold, each joint by itself.

A joint lets its right body move relative to the left one by a twist ρ = (v, ω): v [m/s] is the velocity of what is at a
common centre o. Of what it holds, C = 0, and of its coordinates x

    Ċ = J ρ        C̈ = J ρ̇ + bend        ẋ = s·ρ        ẍ = s·ρ̇ + curve

for bodies that are rigid and joints that are closed, with bends from the bodies' motion with constant twists. The
singular value decomposition J = Σ σ u tᵀ, angles weighed by a length, tells motions that are held from those that are
left.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import Record, f8, i8, real
from dovetail.solver.joint.function import nearest
from dovetail.typing import Array, Indices

__all__ = ["JointRows", "Motions", "find_motions"]

_HELD = 1e-4  # of the strongest: a direction that a joint holds
_SWEEPS = 30  # Jacobi needs five or six


class JointRows(Record):
    """What some joints hold and report.

    pairs (k, 2)            left and right body of each joint
    first (k + 1,)          its rows are W[first[j]] … W[first[j + 1] − 1]
    W (r, 2, 8)             weights of points, with zeros behind them, and of slides
    is_slide (r,)
    rank (k,)               number of motions that it holds; −1: to be found out at a posture in which it is closed
    size                    length [m] that makes angles comparable with ways
    joint, of, period (m,)  coordinates: their joint among these k, their row among all, period or 0
    first_held (k + 1,)     coordinates held[first_held[j]] … of a joint are at `target`, weighed by `weight`
    """

    pairs: Indices = i8(2)
    first: Indices = i8(1)
    W: Array = f8(3)
    is_slide: Indices = i8(1)
    rank: Indices = i8(1)
    size: float = real()
    joint: Indices = i8(1)
    of: Indices = i8(1)
    period: Array = f8(1)
    first_held: Indices = i8(1)
    held: Indices = i8(1)
    weight: Array = f8(1)
    target: Array = f8(1)


class Motions:
    """All of it at a posture; directions of a joint come in order of σ, the first `rank` of them are held.

    coordinates (m, 8)       x, curve and slope s (6) of each coordinate
    directions (k, 6, 15)    of each direction of a joint:
                             motion t (6) as a twist, a way of 1 or a turn of 1/size; hold σ t (6), whose product with ρ
                             is u·Ċ; gain 1/σ, 0 where nothing is held; open u·C; bend u·bend
    """

    def __init__(self, joints: int, coordinates: int) -> None:
        self.coordinates, self.directions = c, d = np.empty((coordinates, 8)), np.empty((joints, 6, 15))
        self.x, self.curve, self.slope = c[:, 0], c[:, 1], c[:, 2:]
        self.motion, self.hold = d[:, :, :6], d[:, :, 6:12]
        self.gain, self.open, self.bend = d[:, :, 12], d[:, :, 13], d[:, :, 14]


@kernel
def _coordinate(
    left: int, right: int, slopes: Array, c: int, Q: Array, turning: Array, centre: Array, out: Array, i: int
) -> None:
    """Slope of coordinate i, and what its bodies' turning adds to its curve; slopes[c] is ∇x on the two bodies."""
    for a in range(3):
        b, d = (a + 1) % 3, (a + 2) % 3
        force, torque = slopes[c, 1, a], 0.0
        for r in range(4):
            out[i, 1] += slopes[c, 0, 3 * r + a] * turning[left, r, a] + slopes[c, 1, 3 * r + a] * turning[right, r, a]
            y, z = Q[right, r, b], Q[right, r, d]
            if r == 0:
                y, z = y - centre[b], z - centre[d]
            torque += y * slopes[c, 1, 3 * r + d] - z * slopes[c, 1, 3 * r + b]
        out[i, 2 + a], out[i, 5 + a] = force, torque


@kernel
def _row(
    W: Array, k: int, m: int, left: int, right: int, Q: Array, V: Array, turning: Array, F: Array, J: Array
) -> None:
    """F[m] (3, 3) ← W Q, W V and W turning of row m; J[m] (3, 6) ← ∂(W Q)/∂ρ with v at the right body's origin."""
    for a in range(3):
        for s in range(3):
            F[m, s, a] = 0.0
        lever = 0.0
        for i in range(4):
            w, u = W[k, m, i], W[k, m, 4 + i]
            F[m, 0, a] += w * Q[left, i, a] + u * Q[right, i, a]
            F[m, 1, a] += w * V[left, i, a] + u * V[right, i, a]
            F[m, 2, a] += w * turning[left, i, a] + u * turning[right, i, a]
            if i > 0:
                lever += u * Q[right, i, a]
        b, d = (a + 1) % 3, (a + 2) % 3
        for c in range(3):
            J[m, c, a] = W[k, m, 4] if a == c else 0.0
        J[m, a, 3 + a], J[m, b, 3 + d], J[m, d, 3 + b] = 0.0, lever, -lever  # ω × lever


@kernel
def _rows_of(
    rows: JointRows, j: int, Q: Array, V: Array, turning: Array, centre: Array, out: Array, J: Array, C: Array
) -> int:
    """J (r, 6), with the velocity at the right body's origin, C and bend (r, 2) of a joint; how many they are."""
    left, right, n = rows.pairs[j, 0], rows.pairs[j, 1], 0
    F, S = np.empty((2, 3, 3)), np.empty((2, 3, 6))
    for k in range(rows.first[j], rows.first[j + 1]):
        _row(rows.W, k, 0, left, right, Q, V, turning, F, S)
        if rows.is_slide[k]:
            _row(rows.W, k, 1, left, right, Q, V, turning, F, S)
        for a in range(3):
            b, d = (a + 1) % 3, (a + 2) % 3
            if rows.is_slide[k]:  # the product of both rows
                C[n, 0] = F[0, 0, b] * F[1, 0, d] - F[0, 0, d] * F[1, 0, b]
                C[n, 1] = 2.0 * (F[0, 1, b] * F[1, 1, d] - F[0, 1, d] * F[1, 1, b])
                C[n, 1] += F[0, 2, b] * F[1, 0, d] - F[0, 2, d] * F[1, 0, b]
                C[n, 1] += F[0, 0, b] * F[1, 2, d] - F[0, 0, d] * F[1, 2, b]
                for c in range(6):
                    J[n, c] = S[0, b, c] * F[1, 0, d] - S[0, d, c] * F[1, 0, b]
                    J[n, c] += F[0, 0, b] * S[1, d, c] - F[0, 0, d] * S[1, b, c]
            else:
                C[n, 0], C[n, 1] = F[0, 0, a], F[0, 2, a]
                for c in range(6):
                    J[n, c] = S[0, a, c]
            n += 1
    for h in range(rows.first_held[j], rows.first_held[j + 1]):
        i, square = rows.held[h], 0.0
        for a in range(3):
            b, d = (a + 1) % 3, (a + 2) % 3
            y, z = Q[right, 0, b] - centre[b], Q[right, 0, d] - centre[d]
            J[n, a], J[n, 3 + a] = out[i, 2 + a], out[i, 5 + a] - (y * out[i, 2 + d] - z * out[i, 2 + b])
            square += J[n, a] ** 2 + (J[n, 3 + a] / rows.size) ** 2
        weight = rows.weight[h] / max(1e-300, abs(rows.weight[h]) * math.sqrt(square))  # which changes no solution
        for c in range(6):
            J[n, c] *= weight
        C[n, 0], C[n, 1] = weight * (out[i, 0] - rows.target[h]), weight * out[i, 1]
        n += 1
    return n


@kernel
def _orthogonalise(J: Array, n: int, T: Array) -> None:
    """Turn columns of J (n, 6) until they are orthogonal (one-sided Jacobi), T (6, 6) ← the turns."""
    total = 0.0
    for b in range(6):
        for a in range(6):
            T[a, b] = 1.0 if a == b else 0.0
        for r in range(n):
            total += J[r, b] ** 2
    for _ in range(_SWEEPS):
        turned = False
        for p in range(5):
            for q in range(p + 1, 6):
                alpha, beta, gamma = 0.0, 0.0, 0.0
                for r in range(n):
                    alpha += J[r, p] ** 2
                    beta += J[r, q] ** 2
                    gamma += J[r, p] * J[r, q]
                # of columns that are zero but for round-off nothing is left to be told
                if abs(gamma) <= 1e-15 * math.sqrt(alpha * beta) or abs(gamma) <= 1e-20 * total:
                    continue
                turned = True
                zeta = (beta - alpha) / (2.0 * gamma)
                t = math.copysign(1.0, zeta) / (abs(zeta) + math.sqrt(1.0 + zeta * zeta))
                c = 1.0 / math.sqrt(1.0 + t * t)
                s = c * t
                for r in range(n):
                    J[r, p], J[r, q] = c * J[r, p] - s * J[r, q], s * J[r, p] + c * J[r, q]
                for r in range(6):
                    T[r, p], T[r, q] = c * T[r, p] - s * T[r, q], s * T[r, p] + c * T[r, q]
        if not turned:
            break


@kernel
def _directions(rows: JointRows, j: int, n: int, J: Array, C: Array, arm: Array, out: Array) -> None:
    """Motions of a joint in order of σ; `arm` leads from the centre to the right body's origin."""
    T, sigma = np.empty((6, 6)), np.zeros(6)
    for r in range(n):
        for b in range(3, 6):
            J[r, b] /= rows.size
    _orthogonalise(J, n, T)
    largest = 0.0
    for b in range(6):
        for r in range(n):
            sigma[b] += J[r, b] ** 2
        sigma[b] = math.sqrt(sigma[b])
        largest = max(largest, sigma[b])
    if rows.rank[j] < 0:
        rows.rank[j] = 0
        for b in range(6):
            rows.rank[j] += sigma[b] > _HELD * largest
    for b in range(6):
        k = 0  # its place in the order
        for other in range(6):
            k += sigma[other] > sigma[b] or (sigma[other] == sigma[b] and other < b)
        held = 1.0 / sigma[b] if k < rows.rank[j] and sigma[b] > 0.0 else 0.0
        out[j, k, 12], out[j, k, 13], out[j, k, 14] = held, 0.0, 0.0
        for r in range(n):
            out[j, k, 13] += held * J[r, b] * C[r, 0]
            out[j, k, 14] += held * J[r, b] * C[r, 1]
        for a in range(3):
            p, q = (a + 1) % 3, (a + 2) % 3
            out[j, k, a] = T[a, b] + (arm[p] * T[3 + q, b] - arm[q] * T[3 + p, b]) / rows.size
            out[j, k, 3 + a] = T[3 + a, b] / rows.size
            out[j, k, 6 + a] = sigma[b] * T[a, b]
            out[j, k, 9 + a] = sigma[b] * (T[3 + a, b] * rows.size + arm[p] * T[q, b] - arm[q] * T[p, b])


@kernel
def find_motions(
    rows: JointRows, Q: Array, V: Array, turning: Array, centre: Array, alone: tuple[Array, Array, Array],
    reference: Array, coordinates: Array, directions: Array,
) -> None:  # fmt: skip
    """Fill `coordinates` and `directions` of `Motions` at Q, for bodies that move by V and turn.

    `alone` are x (c,), ∇x (c, 2, 12) and V·∇²x V (c,) of all coordinates; angles are put on the branch nearest to
    `reference` (m,).
    """
    most = 0
    for j in range(len(rows.pairs)):
        here = 3 * (rows.first[j + 1] - rows.first[j]) + rows.first_held[j + 1] - rows.first_held[j]
        most = max(most, here)
    J, C, arm = np.empty((most, 6)), np.empty((most, 2)), np.empty(3)
    for i in range(len(rows.joint)):
        left, right = rows.pairs[rows.joint[i], 0], rows.pairs[rows.joint[i], 1]
        coordinates[i, 0] = nearest(alone[0][rows.of[i]], rows.period[i], reference[i])
        coordinates[i, 1] = alone[2][rows.of[i]]
        _coordinate(left, right, alone[1], rows.of[i], Q, turning, centre, coordinates, i)
    for j in range(len(rows.pairs)):
        n = _rows_of(rows, j, Q, V, turning, centre, coordinates, J, C)
        for a in range(3):
            arm[a] = Q[rows.pairs[j, 1], 0, a] - centre[a]
        _directions(rows, j, n, J, C, arm, directions)
