"""Bodies joined by points: the factor of B + WᵀKW by way of the forces in the points.

B are the blocks of the bodies alone; a point that two of them share has three rows W, w ⊗ 1 on either, and stiffness K.
The forces λ = K W x in the points obey

    S λ = W B⁻¹ b,     S = K⁻¹ + W B⁻¹Wᵀ,     x = B⁻¹ (b − Wᵀλ)

S couples points that share a body, by blocks of 3×3: in a net there are two for every body, with a sixty-fourth of the
work of a block of 12×12. The stiffer the points the better: K⁻¹ may be 0.

B may be indefinite where the whole is not, as a body under pressure is that its neighbours hold upright. Both are
factored with signs, B = Uᵀ Σ U and S = Lᵀ P L with L unit upper triangular and P blocks; the whole is positive definite
if B and S have as many negative pivots.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import Record, f8, i8
from dovetail.solver.linear.block3 import product, subtract_product
from dovetail.solver.linear.block12 import (
    signed_cholesky,
    subtract_times,
    subtract_transposed_times,
    upper_solve,
    upper_transposed_solve,
    upper_transposed_solve_block,
)
from dovetail.solver.linear.block12 import subtract_product as subtract_product_12
from dovetail.typing import Array, Indices

__all__ = ["IN_BLOCK", "Points", "assemble_forces", "factor_forces", "solve_points"]

IN_BLOCK = 4
"""Points of a body whose rows share a block of 12×12."""

_ROUGH = 1e-8  # gaps over motions that call for another round: far below what Newton's method needs
_ROUNDS = 4


class Points(Record):
    """Points that join bodies: where they are, and the factor of their part of the matrix.

    body (b,)             bodies
    start (b + 1,)        the points of a body are start[i] … start[i+1] − 1 in the lists that follow, by place
    place, weights (e)    place of a point in S; w (4)
    block_start (b,)      its blocks of Z
    into (·)              where in V the blocks of its pairs of points are
    row_start, column     structure of S, see ordering.py
    owner (t,)            one body of every point
    compliance (t,)       K⁻¹
    R, G (n, 12)          reciprocal diagonal of U, and Σ
    Z, P, V, scaled       U⁻ᵀWᵀ, and S or its factor; scratch
    force, change (t, 4)  λ by place, and a correction of it
    """

    body: Indices = i8(1)
    start: Indices = i8(1)
    place: Indices = i8(1)
    weights: Array = f8(2)
    block_start: Indices = i8(1)
    into: Indices = i8(1)
    row_start: Indices = i8(1)
    column: Indices = i8(1)
    owner: Indices = i8(1)
    compliance: Array = f8(1)
    R: Array = f8(2)
    G: Array = f8(2)
    Z: Array = f8(3)
    P: Array = f8(2)
    V: Array = f8(2)
    scaled: Array = f8(2)
    force: Array = f8(2)
    change: Array = f8(2)


@kernel
def assemble_forces(points: Points, active: Indices, D: Array) -> int:
    """D, R, G ← U, its reciprocal diagonal and Σ; Z ← U⁻ᵀWᵀ; P, V ← S.

    How many pivots are negative, or −1 − a body with a singular block.
    """
    row, start, place, weights = points.body, points.start, points.place, points.weights
    block_start, into, compliance = points.block_start, points.into, points.compliance
    R, G, Z, P, V = points.R, points.G, points.Z, points.P, points.V
    P[:] = 0.0
    V[:] = 0.0
    for t in range(len(P)):
        for a in range(3):
            P[t, 5 * a] = compliance[t]
    signed, C = np.empty((1, 12, 12)), np.empty((1, 12, 12))
    negative = at = 0
    for i in range(len(row)):
        k, first, count = row[i], start[i], start[i + 1] - start[i]
        if not active[k]:
            at += count * (count - 1) // 2
            continue
        if not signed_cholesky(D, k, R, k, G, k) > 0.0:
            return -1 - k
        for p in range(12):
            negative += G[k, p] < 0.0
        blocks = (count + IN_BLOCK - 1) // IN_BLOCK
        for x in range(blocks):
            z = block_start[i] + x
            Z[z] = 0.0
            for q in range(min(IN_BLOCK, count - IN_BLOCK * x)):
                for j in range(4):
                    for a in range(3):
                        Z[z, 3 * j + a, 3 * q + a] = weights[first + IN_BLOCK * x + q, j]
            upper_transposed_solve_block(D, k, R, k, Z, z)
        for x in range(blocks):
            for p in range(12):
                for q in range(12):
                    signed[0, p, q] = -G[k, p] * Z[block_start[i] + x, p, q]
            for y in range(x, blocks):
                C[:] = 0.0
                subtract_product_12(C, 0, signed, 0, Z, block_start[i] + y)
                for m in range(IN_BLOCK * x, min(count, IN_BLOCK * (x + 1))):
                    for n in range(max(m, IN_BLOCK * y), min(count, IN_BLOCK * (y + 1))):
                        if n == m:
                            for a in range(3):
                                for b in range(3):
                                    P[place[first + m], 4 * a + b] += C[0, 3 * (m % 4) + a, 3 * (n % 4) + b]
                        else:
                            # pairs before (m, n): those of the m points before, and n − m − 1 of this one
                            target = into[at + m * count - m * (m + 1) // 2 + n - m - 1]
                            for a in range(3):
                                for b in range(3):
                                    V[target, 4 * a + b] += C[0, 3 * (m % 4) + a, 3 * (n % 4) + b]
        at += count * (count - 1) // 2
    return negative


@kernel
def _invert(P: Array, k: int) -> int:
    """P[k] ← its inverse, symmetric; how many of its eigenvalues are negative, −1 if it has none."""
    a, b, c, d, e, f = P[k, 0], P[k, 1], P[k, 2], P[k, 5], P[k, 6], P[k, 10]
    A, B, C = d * f - e * e, c * e - b * f, b * e - c * d
    minor, determinant = a * d - b * b, a * A + b * B + c * C
    if not abs(determinant) > 0.0:
        return -1
    # sign changes in the sequence of leading minors, a vanishing one between two others of unlike sign is one
    negative = (a < 0.0) + ((minor < 0.0) != (a < 0.0)) + ((determinant < 0.0) != (minor < 0.0))
    inverse = 1.0 / determinant
    P[k, 0], P[k, 5], P[k, 10] = inverse * A, inverse * (a * f - c * c), inverse * minor
    P[k, 1] = P[k, 4] = inverse * B
    P[k, 2] = P[k, 8] = inverse * C
    P[k, 6] = P[k, 9] = inverse * (b * c - a * e)
    return negative


@kernel
def factor_forces(points: Points, active: Indices) -> int:
    """P, V ← P⁻¹, L of S = Lᵀ P L; how many of its pivots are negative, or −1 − the place of a singular one."""
    row_start, column, owner = points.row_start, points.column, points.owner
    P, V, scaled = points.P, points.V, points.scaled
    negative = 0
    for k in range(len(P)):
        if not active[owner[k]]:
            continue
        found = _invert(P, k)
        if found < 0:
            return -1 - k
        negative += found
        first, last = row_start[k], row_start[k + 1]
        for s in range(first, last):
            product(scaled, s - first, P, k, V, s)
        for s in range(first, last):
            row = column[s]
            subtract_product(P, row, V, s, scaled, s - first)
            target = row_start[row]
            for t in range(s + 1, last):
                while column[target] < column[t]:
                    target += 1
                subtract_product(V, target, V, s, scaled, t - first)
        for s in range(first, last):
            for e in range(12):
                V[s, e] = scaled[s - first, e]
    return negative


@kernel
def _solve_forces(points: Points, active: Indices, force: Array) -> None:
    """force (t, 4) ← S⁻¹ force, by place; the fourth entries are zero."""
    row_start, column, owner, P, V = points.row_start, points.column, points.owner, points.P, points.V
    for k in range(len(P)):
        if active[owner[k]]:
            l0, l1, l2 = force[k, 0], force[k, 1], force[k, 2]
            for s in range(row_start[k], row_start[k + 1]):
                c = column[s]
                for a in range(4):
                    force[c, a] -= V[s, a] * l0 + V[s, 4 + a] * l1 + V[s, 8 + a] * l2
            for a in range(3):
                force[k, a] = P[k, 4 * a] * l0 + P[k, 4 * a + 1] * l1 + P[k, 4 * a + 2] * l2
    for k in range(len(P) - 1, -1, -1):
        if active[owner[k]]:
            l0, l1, l2 = force[k, 0], force[k, 1], force[k, 2]
            for s in range(row_start[k], row_start[k + 1]):
                c = column[s]
                x0, x1, x2 = force[c, 0], force[c, 1], force[c, 2]
                l0 -= V[s, 0] * x0 + V[s, 1] * x1 + V[s, 2] * x2
                l1 -= V[s, 4] * x0 + V[s, 5] * x1 + V[s, 6] * x2
                l2 -= V[s, 8] * x0 + V[s, 9] * x1 + V[s, 10] * x2
            force[k, 0], force[k, 1], force[k, 2] = l0, l1, l2


@kernel
def _gaps(points: Points, active: Indices, y: Array) -> tuple[float, float]:
    """change (t, 4) ← W y − K⁻¹λ by place. Its largest component, and the largest that a side moves by."""
    row, start, place, weights = points.body, points.start, points.place, points.weights
    compliance, force, gap = points.compliance, points.force, points.change
    for t in range(len(gap)):
        for a in range(3):
            gap[t, a] = -compliance[t] * force[t, a]
    size = largest = 0.0
    for i in range(len(row)):
        k = row[i]
        if active[k]:
            for n in range(start[i], start[i + 1]):
                for a in range(3):
                    moves = 0.0
                    for j in range(4):
                        moves += weights[n, j] * y[k, 3 * j + a]
                    gap[place[n], a] += moves
                    size = max(size, abs(moves))
    for t in range(len(gap)):
        for a in range(3):
            largest = max(largest, abs(gap[t, a]))
    return largest, size


@kernel
def solve_points(points: Points, active: Indices, D: Array, y: Array) -> None:
    """y (n, 12) ← (B + WᵀKW)⁻¹ y of the active bodies; force ← λ by place.

    Signs let round-off grow. What it leaves of gaps is solved for again.
    """
    row, start, place, block_start = points.body, points.start, points.place, points.block_start
    R, G, Z, force, change = points.R, points.G, points.Z, points.force, points.change
    some, turned = np.empty((1, 12)), np.empty((1, 12))
    change[:] = 0.0
    force[:] = 0.0
    for i in range(len(row)):
        k, count = row[i], start[i + 1] - start[i]
        if active[k]:
            upper_transposed_solve(D, k, R, k, y, k)
            for p in range(12):
                y[k, p] *= G[k, p]
                turned[0, p] = -y[k, p]
            for x in range((count + IN_BLOCK - 1) // IN_BLOCK):
                some[:] = 0.0
                subtract_transposed_times(some, 0, Z, block_start[i] + x, turned, 0)
                for q in range(min(IN_BLOCK, count - IN_BLOCK * x)):
                    for a in range(3):
                        change[place[start[i] + IN_BLOCK * x + q], a] += some[0, 3 * q + a]
            upper_solve(D, k, R, k, y, k)
    for _ in range(_ROUNDS):
        _solve_forces(points, active, change)
        for t in range(len(force)):
            for a in range(3):
                force[t, a] += change[t, a]
        for i in range(len(row)):
            k, count = row[i], start[i + 1] - start[i]
            if active[k]:
                turned[:] = 0.0
                for x in range((count + IN_BLOCK - 1) // IN_BLOCK):
                    some[:] = 0.0
                    for q in range(min(IN_BLOCK, count - IN_BLOCK * x)):
                        for a in range(3):
                            some[0, 3 * q + a] = change[place[start[i] + IN_BLOCK * x + q], a]
                    subtract_times(turned, 0, Z, block_start[i] + x, some, 0)
                for p in range(12):
                    turned[0, p] *= G[k, p]
                upper_solve(D, k, R, k, turned, 0)
                for p in range(12):
                    y[k, p] += turned[0, p]
        largest, size = _gaps(points, active, y)
        if not largest > _ROUGH * size:
            break
