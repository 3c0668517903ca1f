"""The dual sweep: forces in the joints of trees, from the leaves to the roots and back, in linear time.

With z-coordinates (compliance.py) a body's Hessian is the identity, a joint row is a vector z on each of its bodies,
and Newton's step with rows c − Z·dz = K⁻¹λ (K⁻¹ = 0 for an exact one) has the multipliers

    (Z Zᵀ + K⁻¹) λ = c − Z u,         u the gradient of the bodies alone;      Q ← Q − motion(u + Zᵀλ)

Rows come in triples, some of them with fewer. Z Zᵀ couples those that share a body, so on a tree they can be eliminated
body by body, children first: what a subtree tells its parent is the compliance Φ and the residual ρ of their joint,

    [C_cc + Φ_c   C_cp] [λ_c]   [ρ_c]                C = Z Zᵀ of the body
    [C_pc         C_pp] [λ_p] = [ρ_p]      →    Φ_p = C_pp − C_pc Y + K⁻¹,   ρ_p ← ρ_p − C_pc y,
                                                Y = (C_cc + Φ_c)⁻¹ C_cp,     y = (C_cc + Φ_c)⁻¹ ρ_c

with c the joints to children and to fixed bodies and p the one to the parent. On the way back λ_c = y − Y λ_p. A root
has fixed bodies as its parent, whose points complete the residual: Φ_p λ_p = ρ_p.

A second right-hand side M d without the pull of shapes, and with the gaps as forces that close them, can go along, u
and the sign of c being all that differs; its ρ, then y, and on the way back λ lie in one array, as each is done with
when the next one comes.

These are the plain loops that define what is computed. `lanes.py` says the common cases faster.
"""

from __future__ import annotations

from dovetail.kernel.emit import LANES
from dovetail.kernel.kernel import jit_enabled, kernel
from dovetail.solver.articulated.arrays import SweepArrays, SweepWeights
from dovetail.solver.articulated.compliance import (
    body_gradient,
    motion,
    scales,
    set_frame,
    set_kinetic,
    whiten,
    whiten_point,
)
from dovetail.solver.articulated.eights import multiply_eight, subtract_eight
from dovetail.solver.articulated.eliminations import root_of
from dovetail.solver.articulated.layout import room_for_second as _room_for_second
from dovetail.solver.articulated.layout import stride as _stride
from dovetail.solver.bodies import Bodies
from dovetail.solver.natural import natural
from dovetail.typing import Array, Indices

__all__ = ["eliminate_place", "hold_root", "substitute_place"]

if jit_enabled:
    _root_3, _root_6, _root_7 = root_of((3,)), root_of((3, 3)), root_of((3, 3, 1))

stride = kernel(_stride)
room_for_second = kernel(_room_for_second)


@kernel
def _triple(i: int, children: Indices, upward: Indices, ground: Indices, n: int) -> tuple[int, int]:
    """The n-th triple on place i, and the side of it that the body is on: 0 near, 1 far."""
    below = upward[children[i + 1]] - upward[children[i]]
    fixed = ground[i + 1] - ground[i]
    if n < below:
        return upward[children[i]] + n, 1
    if n < below + fixed:
        return ground[i] + n - below, 0
    return upward[i] + n - below - fixed, 0


@kernel
def _add_rows(s: SweepArrays, t: int, side: int, force: Array, a: Array) -> None:
    """a (4×3) += covectors of the rows of a triple on one side, times its force."""
    n = s.special[t]
    for x in range(s.row_at[t + 1] - s.row_at[t]):
        for i in range(4):
            if n >= 0:
                for e in range(3):
                    a[i, e] += force[t, x] * s.covectors[natural(n), side, x, i, e]
            else:
                a[i, x] += force[t, x] * s.weights[t, side, i]


@kernel
def _image(weights: Array, t: int, side: int, Q: Array, b: int, x: int) -> float:
    """Entry x of the point that a triple weighs on one side."""
    total = 0.0
    for i in range(4):
        total += weights[t, side, i] * Q[b, i, x]
    return total


@kernel
def _products(Z: Array, rows: int, width: int, A: Array) -> None:
    """A[:rows, :width] ← ZᵀZ; the width is a multiple of eight."""
    wide = Z.shape[1]
    for r in range(rows):
        for c in range(width // LANES):
            multiply_eight(Z, wide, r, LANES * c, A, wide * r + LANES * c)


@kernel
def _gauss_jordan(A: Array, eliminated: int, rows: int, width: int) -> bool:
    """Eliminate the first unknowns of A (rows × width) from all rows, to the right of them alone.

    False if a pivot is not positive.
    """
    fine, wide = True, A.shape[1]
    for p in range(eliminated):
        fine = fine and A[p, p] > 0.0
        inverse, first = 1.0 / A[p, p], p // LANES
        for q in range(LANES * first, width):
            A[p, q] *= inverse
        for r in range(rows):
            if r != p and A[r, p] != 0.0:
                # the factor itself is among the last eight
                for c in range(width // LANES - 1, first - 1, -1):
                    subtract_eight(A, wide * r + LANES * c, wide * r + p, wide * p + LANES * c)
    return fine


@kernel
def _rows_of(s: SweepArrays, i: int) -> tuple[int, int, int]:
    """Rows of place i below it, those to its parent, and how many triples that are."""
    upward, ground, row_at, first, last = s.upward, s.ground, s.row_at, s.children[i], s.children[i + 1]
    below = row_at[upward[last]] - row_at[upward[first]] + row_at[ground[i + 1]] - row_at[ground[i]]
    triples = upward[last] - upward[first] + ground[i + 1] - ground[i] + upward[i + 1] - upward[i]
    return below, row_at[upward[i + 1]] - row_at[upward[i]], triples


@kernel
def eliminate_place(
    i: int, s: SweepArrays, bodies: Bodies, given: SweepWeights, Q: Array, Q_tilde: Array, two: int, push: Array,
    A: Array, Z: Array, small: Array, k: int,
) -> bool:  # fmt: skip
    """Phi ← Φ, ρ and Y ← Y, y of place i. False if a pivot is not positive: rows that depend on each other.

    push (n, 4, 3), second (t, 3)   if `two`: d of a second right-hand side M d, and ρ or y of it
    R, L, u [k]                     frame and gradients of the body, for the way back
    A, Z, small (3, 4, 3)           scratch
    """
    children, upward, ground, other = s.children, s.upward, s.ground, s.other
    phi_start, y_start, weights, special = s.phi_start, s.y_start, s.weights, s.special
    row_at, covectors, compliance, residual = s.row_at, s.covectors, s.compliance, s.residual
    R, L, u, Phi, Y, second = s.R, s.L, s.u, s.Phi, s.Y, s.second
    mass, inertia, c, w, stress = bodies.mass, bodies.inertia, given.c, given.w, given.stress
    b = s.body[i]
    light, strain = scales(c[b], w[b], mass, inertia, b)
    set_frame(c[b], stress[b], inertia, Q, b, R[k], L[k], small[0], small[1])
    body_gradient(mass, c[b], stress[b], Q, Q_tilde, b, small[0], small[1])
    first, last = children[i], children[i + 1]
    below, mine, triples = _rows_of(s, i)
    rows, columns = below + mine, 2 if two else 1
    width = LANES * ((rows + columns + LANES - 1) // LANES)
    r = 0
    for n in range(triples):
        t, side = _triple(i, children, upward, ground, n)
        if special[t] < 0:
            whiten_point(mass, light, strain, R[k], L[k], b, weights[t, side], Z, r)
        else:
            for x in range(row_at[t + 1] - row_at[t]):
                whiten(mass, light, strain, R[k], L[k], b, covectors[special[t], side, x], Z, r + x)
        r += row_at[t + 1] - row_at[t]
    # gradients are whitened like rows, and go last
    whiten(mass, light, strain, R[k], L[k], b, small[1], Z, rows)
    if two:
        set_kinetic(mass, c[b], push, b, small[2])
        whiten(mass, light, strain, R[k], L[k], b, small[2], Z, rows + 1)
    for n in range(columns):
        for e in range(12):
            u[k, n, e] = Z[e, rows + n]
    _products(Z, rows, width, A)
    r = 0
    for n in range(triples):
        t, side = _triple(i, children, upward, ground, n)
        for x in range(row_at[t + 1] - row_at[t]):
            gap = 0.0
            if special[t] < 0:
                gap = _image(weights, t, side, Q, b, x)
                if n >= upward[last] - upward[first] and r < below:
                    gap += _image(weights, t, 1, Q, other[t], x)
            elif side == 0:
                gap = residual[special[t], x]
            A[r, rows] = gap - A[r, rows]
            if two:
                A[r, rows + 1] = -gap - A[r, rows + 1]
            if side == 0:
                A[r, r] += compliance[t, x]
            elif two:
                A[r, rows + 1] += second[t, x]
            r += 1
    row = 0
    for j in range(first, last):
        size = row_at[upward[j + 1]] - row_at[upward[j]]
        for r in range(size):
            at = phi_start[j] + r * stride(size)
            for q in range(size):
                A[row + r, row + q] += Phi[at + q]
            A[row + r, rows] += Phi[at + size]
        row += size
    fine = _gauss_jordan(A, below, rows, width)
    if two:
        r = 0
        for n in range(triples):
            t, _ = _triple(i, children, upward, ground, n)
            for x in range(row_at[t + 1] - row_at[t]):
                second[t, x] = A[r, rows + 1]
                r += 1
    for r in range(rows):
        for q in range(mine + 1):
            if r < below:
                Y[y_start[i] + r * stride(mine) + q] = A[r, below + q]
            else:
                Phi[phi_start[i] + (r - below) * stride(mine) + q] = A[r, below + q]
        if r >= below and room_for_second(mine):
            Phi[phi_start[i] + (r - below) * stride(mine) + mine + 1] = A[r, rows + 1] if two else 0.0
    return fine


@kernel
def _solve_root(Phi: Array, mine: int, size: int, sides: Array) -> bool:
    """sides (·) ← Φ⁻¹ of two right-hand sides, entry by entry; Φ lies at Phi[mine:]. False if it is not positive."""
    if size == 3:
        _root_3(Phi, mine, sides)
    elif size == 6:
        _root_6(Phi, mine, sides)
    else:
        _root_7(Phi, mine, sides)
    fine = True
    for k in range(2 * size, 3 * size):
        fine = fine and sides[k] > 0.0
    return fine


@kernel
def hold_root(i: int, s: SweepArrays, Q: Array, two: int, A: Array, small: Array) -> bool:
    """multiplier, second ← λ between the root at place i and fixed bodies. False if a pivot is not positive.

    A and small (3, 4, 3) are scratch.
    """
    upward, row_at, Phi, mine = s.upward, s.row_at, s.Phi, s.phi_start[i]
    size = row_at[upward[i + 1]] - row_at[upward[i]]
    sides, r = small.reshape(small.size), 0
    is_common = jit_enabled and (size == 3 or size == 6 or size == 7)
    for t in range(upward[i], upward[i + 1]):
        for x in range(row_at[t + 1] - row_at[t]):
            gap = _image(s.weights, t, 1, Q, s.other[t], x) if s.special[t] < 0 else 0.0
            first, second = Phi[mine + r * stride(size) + size] + gap, s.second[t, x] - gap if two else 0.0
            if is_common:
                sides[2 * r], sides[2 * r + 1] = first, second
            else:
                A[r, size], A[r, size + 1] = first, second
                for q in range(size):
                    A[r, q] = Phi[mine + r * stride(size) + q]
            r += 1
    if is_common:
        fine = _solve_root(Phi, mine, size, sides)
    else:
        fine = _gauss_jordan(A, size, size, LANES * ((size + 2 + LANES - 1) // LANES))
    r = 0
    for t in range(upward[i], upward[i + 1]):
        for x in range(row_at[t + 1] - row_at[t]):
            s.multiplier[t, x] = sides[2 * r] if is_common else A[r, size]
            if two:
                s.second[t, x] = sides[2 * r + 1] if is_common else A[r, size + 1]
            r += 1
    return fine


@kernel
def substitute_place(
    i: int, arrays: SweepArrays, bodies: Bodies, given: SweepWeights, Z: Array, small: Array, k: int, two: int,
    y: Array, y_second: Array,
) -> None:  # fmt: skip
    """multiplier ← λ of the triples below place i, y (12) of its body ← its Newton step: Q − y.

    If `two`, likewise with the second right-hand side.
    """
    children, upward, ground, row_at = arrays.children, arrays.upward, arrays.ground, arrays.row_at
    R, L, u, Y, multiplier, second = arrays.R, arrays.L, arrays.u, arrays.Y, arrays.multiplier, arrays.second
    mass, inertia, c, w = bodies.mass, bodies.inertia, given.c, given.w
    b = arrays.body[i]
    light, strain = scales(c[b], w[b], mass, inertia, b)
    below, mine, triples = _rows_of(arrays, i)
    for n in range(2 if two else 1):
        force = multiplier if n == 0 else second
        for e in range(12):
            small[2, e // 3, e % 3] = 0.0
        r = 0
        for m in range(triples):
            t, side = _triple(i, children, upward, ground, m)
            for x in range(row_at[t + 1] - row_at[t]):
                if r < below:
                    at, column = arrays.y_start[i] + r * stride(mine), 0
                    value = Y[at + mine] if n == 0 else second[t, x]
                    for s in range(upward[i], upward[i + 1]):
                        for z in range(row_at[s + 1] - row_at[s]):
                            value -= Y[at + column] * force[s, z]
                            column += 1
                    force[t, x] = value
                r += 1
            _add_rows(arrays, t, side, force, small[2])
        whiten(mass, light, strain, R[k], L[k], b, small[2], Z, 1)
        for e in range(12):
            Z[e, 1] += u[k, n, e]
        motion(mass, light, strain, R[k], L[k], b, Z, 1, small[0])
        for e in range(12):
            if n == 0:
                y[b, e] = small[0, e // 3, e % 3]
            else:
                y_second[b, e] = small[0, e // 3, e % 3]
