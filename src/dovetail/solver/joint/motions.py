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
from dataclasses import dataclass

import numpy as np

from dovetail.solver.joint.function import nearest
from dovetail.solver.joint.stencil import image
from dovetail.solver.kernel import kernel
from dovetail.solver.record import Record, f8, i8, real
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


@dataclass(frozen=True)
class Motions:
    """All of it at a posture; directions of a joint come in order of σ, the first `rank` of them are held.

    coordinates (m, 8)       x, curve and s (6) of each coordinate
    directions (k, 6, 15)    of each direction of a joint:
                             t (6) as a twist, a way of 1 or a turn of 1/size; σ t (6), whose product with ρ is u·Ċ;
                             1/σ, 0 where nothing is held; u·C; u·bend
    """

    coordinates: Array
    directions: Array

    @classmethod
    def of(cls, joints: int, coordinates: int) -> Motions:
        """Room for them."""
        return cls(np.empty((coordinates, 8)), np.empty((joints, 6, 15)))

    @property
    def x(self) -> Array:
        return self.coordinates[:, 0]

    @property
    def curve(self) -> Array:
        return self.coordinates[:, 1]

    @property
    def slope(self) -> Array:
        return self.coordinates[:, 2:]

    @property
    def motion(self) -> Array:
        return self.directions[:, :, :6]

    @property
    def hold(self) -> Array:
        return self.directions[:, :, 6:12]

    @property
    def gain(self) -> Array:
        return self.directions[:, :, 12]

    @property
    def open(self) -> Array:
        return self.directions[:, :, 13]

    @property
    def bend(self) -> Array:
        return self.directions[:, :, 14]


@kernel
def _add_cross(a: Array, b: Array, weight: float, out: Array) -> None:
    """out += weight a × b"""
    out[0] += weight * (a[1] * b[2] - a[2] * b[1])
    out[1] += weight * (a[2] * b[0] - a[0] * b[2])
    out[2] += weight * (a[0] * b[1] - a[1] * b[0])


@kernel
def _coordinate(left: int, right: int, g: Array, Q: Array, turning: Array, centre: Array, out: Array) -> None:
    """Slope of a coordinate, and what its bodies' turning adds to its curve; g (2, 12) is ∇x on the two bodies."""
    slope = out[2:]
    for a in range(6):
        slope[a] = 0.0
    for r in range(4):
        for a in range(3):
            out[1] += g[0, 3 * r + a] * turning[left, r, a] + g[1, 3 * r + a] * turning[right, r, a]
        _add_cross(Q[right, r], g[1, 3 * r : 3 * r + 3], 1.0, slope[3:])
    for a in range(3):
        slope[a] = g[1, a]
    _add_cross(centre, slope, -1.0, slope[3:])


@kernel
def _row(W: Array, left: int, right: int, Q: Array, V: Array, turning: Array, F: Array, J: Array) -> None:
    """F (3, 3) ← W Q, W V and W turning; J (3, 6) ← ∂(W Q)/∂ρ with the velocity at the right body's origin."""
    for k in range(3):
        at = Q if k == 0 else V if k == 1 else turning
        a0, a1, a2 = image(W, 0, at, left)
        b0, b1, b2 = image(W, 4, at, right)
        F[k, 0], F[k, 1], F[k, 2] = a0 + b0, a1 + b1, a2 + b2
    b0, b1, b2 = image(W, 4, Q, right)
    w = W[4]
    b0, b1, b2 = b0 - w * Q[right, 0, 0], b1 - w * Q[right, 0, 1], b2 - w * Q[right, 0, 2]
    for a in range(3):
        for b in range(6):
            J[a, b] = w if a == b else 0.0
    J[0, 4], J[0, 5], J[1, 5] = b2, -b1, b0
    J[1, 3], J[2, 3], J[2, 4] = -b2, b1, -b0


@kernel
def _rows_of(
    rows: JointRows, j: int, Q: Array, V: Array, turning: Array, centre: Array, out: Array, J: Array, C: Array
) -> int:
    """J (r, 6), with the velocity at the right body's origin, C and bend (r, 2) of a joint; how many they are."""
    left, right, n = rows.pairs[j, 0], rows.pairs[j, 1], 0
    u, v, Ju, Jv, part = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 6)), np.empty((3, 6)), np.empty(3)
    for k in range(rows.first[j], rows.first[j + 1]):
        _row(rows.W[k, 0], left, right, Q, V, turning, u, Ju)
        if rows.is_slide[k]:
            _row(rows.W[k, 1], left, right, Q, V, turning, v, Jv)
            for b in range(6):
                part[:] = 0.0
                _add_cross(Ju[:, b], v[0], 1.0, part)
                _add_cross(u[0], Jv[:, b], 1.0, part)
                J[n : n + 3, b] = part
            C[n : n + 3] = 0.0
            _add_cross(u[0], v[0], 1.0, C[n : n + 3, 0])
            _add_cross(u[2], v[0], 1.0, C[n : n + 3, 1])
            _add_cross(u[1], v[1], 2.0, C[n : n + 3, 1])
            _add_cross(u[0], v[2], 1.0, C[n : n + 3, 1])
        else:
            J[n : n + 3] = Ju
            C[n : n + 3, 0], C[n : n + 3, 1] = u[0], u[2]
        n += 3
    for h in range(rows.first_held[j], rows.first_held[j + 1]):
        i = rows.held[h]
        J[n] = out[i, 2:]
        for a in range(3):
            part[a] = centre[a] - Q[right, 0, a]
        _add_cross(part, J[n], 1.0, J[n, 3:])
        square = 0.0
        for b in range(6):
            square += J[n, b] ** 2 / (1.0 if b < 3 else rows.size**2)
        weight = rows.weight[h] / max(1e-300, abs(rows.weight[h]) * math.sqrt(square))  # which changes no solution
        J[n] *= weight
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
    for b in range(6):
        for r in range(n):
            sigma[b] += J[r, b] ** 2
        sigma[b] = math.sqrt(sigma[b])
    order = np.argsort(-sigma)
    if rows.rank[j] < 0:
        rows.rank[j] = 0
        for b in range(6):
            rows.rank[j] += sigma[b] > _HELD * sigma[order[0]]
    for k in range(6):
        b = order[k]
        motion, hold = out[k, :6], out[k, 6:12]
        held = 1.0 / sigma[b] if k < rows.rank[j] and sigma[b] > 0.0 else 0.0
        out[k, 12], out[k, 13], out[k, 14] = held, 0.0, 0.0
        for r in range(n):
            out[k, 13] += held * J[r, b] * C[r, 0]
            out[k, 14] += held * J[r, b] * C[r, 1]
        for a in range(3):
            motion[a], motion[3 + a] = T[a, b], T[3 + a, b] / rows.size
            hold[a], hold[3 + a] = sigma[b] * T[a, b], sigma[b] * T[3 + a, b] * rows.size
        _add_cross(arm, motion[3:], 1.0, motion)
        _add_cross(arm, hold, 1.0, hold[3:])


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
        _coordinate(left, right, alone[1][rows.of[i]], Q, turning, centre, coordinates[i])
    for j in range(len(rows.pairs)):
        n = _rows_of(rows, j, Q, V, turning, centre, coordinates, J, C)
        for a in range(3):
            arm[a] = Q[rows.pairs[j, 1], 0, a] - centre[a]
        _directions(rows, j, n, J, C, arm, directions[j])
