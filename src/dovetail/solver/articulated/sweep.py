"""The dual sweep: forces in the joints of trees, from the leaves to the roots and back, in linear time.

With z-coordinates (compliance.py) a body's Hessian is the identity, a joint row is a vector z on each of its bodies,
and Newton's step with rows c − Z·dz = K⁻¹λ (K⁻¹ = 0 for an exact one) has the multipliers

    (Z Zᵀ + K⁻¹) λ = c − Z u,         u the gradient of the bodies alone;      Q ← Q − motion(u + Zᵀλ)

Rows come in triples. Z Zᵀ couples the triples that share a body, so on a tree they can be eliminated body by body,
children first: what a subtree tells its parent is the compliance Φ and the residual ρ of the joint between them,

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

from dovetail.kernel.kernel import kernel
from dovetail.solver.articulated.arrays import SweepArrays, SweepWeights
from dovetail.solver.articulated.compliance import (
    body_gradient,
    motion,
    scales,
    set_frame,
    set_kinetic,
    whiten,
)
from dovetail.solver.articulated.layout import room_for_second as _room_for_second
from dovetail.solver.articulated.layout import stride as _stride
from dovetail.solver.bodies import Bodies
from dovetail.typing import Array, Indices

__all__ = ["eliminate_place", "hold_root", "substitute_place"]

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
def _add_row(
    weights: Array, special: Indices, covectors: Array, t: int, side: int, x: int, force: float, a: Array
) -> None:
    """a (4×3) += force · covector of row x of a triple on one side."""
    for i in range(4):
        if special[t] >= 0:
            for e in range(3):
                a[i, e] += force * covectors[special[t], side, x, i, e]
        else:
            a[i, x] += force * weights[t, side, i]


@kernel
def _image(weights: Array, t: int, side: int, Q: Array, b: int, x: int) -> float:
    """Entry x of the point that a triple weighs on one side."""
    total = 0.0
    for i in range(4):
        total += weights[t, side, i] * Q[b, i, x]
    return total


@kernel
def _products(Z: Array, rows: int, A: Array) -> None:
    """A[:rows] ← ZᵀZ. Whole rows, which are multiples of eight, are what processors are good at."""
    for r in range(rows):
        for q in range(Z.shape[1]):
            total = 0.0
            for e in range(12):
                total += Z[e, r] * Z[e, q]
            A[r, q] = total


@kernel
def _gauss_jordan(A: Array, eliminated: int, rows: int, pivot: Array) -> bool:
    """Eliminate the first unknowns of A (rows × ·) from all rows; pivot is room. False if a pivot is not positive."""
    fine = True
    for p in range(eliminated):
        fine = fine and A[p, p] > 0.0
        inverse = 1.0 / A[p, p]
        for q in range(len(pivot)):
            pivot[q] = inverse * A[p, q]
        for r in range(rows):
            factor = A[r, p]
            if r != p and factor != 0.0:
                for q in range(len(pivot)):
                    A[r, q] -= factor * pivot[q]
        for q in range(len(pivot)):
            A[p, q] = pivot[q]
    return fine


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
    covectors, compliance, residual = s.covectors, s.compliance, s.residual
    R, L, u, Phi, Y, second = s.R, s.L, s.u, s.Phi, s.Y, s.second
    mass, inertia, c, w, stress = bodies.mass, bodies.inertia, given.c, given.w, given.stress
    b = s.body[i]
    light, strain = scales(c[b], w[b], mass, inertia, b)
    set_frame(c[b], stress[b], inertia, Q, b, R[k], L[k], small[0], small[1])
    body_gradient(mass, c[b], stress[b], Q, Q_tilde, b, small[0], small[1])
    first, last = children[i], children[i + 1]
    mine = 3 * (upward[i + 1] - upward[i])
    below = 3 * (upward[last] - upward[first] + ground[i + 1] - ground[i])
    rows, columns = below + mine, 2 if two else 1
    # gradients are whitened like rows, and go last
    for r in range(rows + columns):
        if r < rows:
            t, side = _triple(i, children, upward, ground, r // 3)
            for e in range(12):
                small[2, e // 3, e % 3] = 0.0
            _add_row(weights, special, covectors, t, side, r % 3, 1.0, small[2])
        elif r == rows:
            for e in range(12):
                small[2, e // 3, e % 3] = small[1, e // 3, e % 3]
        else:
            set_kinetic(mass, c[b], push, b, small[2])
        whiten(mass, light, strain, R[k], L[k], b, small[2], Z, r)
    for n in range(columns):
        for e in range(12):
            u[k, n, e] = Z[e, rows + n]
    _products(Z, rows, A)
    for r in range(rows):
        x = r % 3
        for n in range(columns):
            A[r, rows + n] *= -1.0
        t, side = _triple(i, children, upward, ground, r // 3)
        gap = 0.0
        if special[t] < 0:
            gap = _image(weights, t, side, Q, b, x)
            if 3 * (upward[last] - upward[first]) <= r < below:
                gap += _image(weights, t, 1, Q, other[t], x)
        elif side == 0:
            gap = residual[special[t], x]
        A[r, rows] += gap
        if two:
            A[r, rows + 1] -= gap
        if side == 0:
            A[r, r] += compliance[t, x]
        elif two:
            A[r, rows + 1] += second[t, x]
    row = 0
    for j in range(first, last):
        size = 3 * (upward[j + 1] - upward[j])
        for r in range(size):
            at = phi_start[j] + r * stride(size)
            for q in range(size):
                A[row + r, row + q] += Phi[at + q]
            A[row + r, rows] += Phi[at + size]
        row += size
    fine = _gauss_jordan(A, below, rows, A[len(A) - 1])
    for r in range(rows):
        if two:
            second[_triple(i, children, upward, ground, r // 3)[0], r % 3] = A[r, rows + 1]
        for q in range(mine + 1):
            if r < below:
                Y[y_start[i] + r * stride(mine) + q] = A[r, below + q]
            else:
                Phi[phi_start[i] + (r - below) * stride(mine) + q] = A[r, below + q]
        if r >= below and room_for_second(mine):
            Phi[phi_start[i] + (r - below) * stride(mine) + mine + 1] = A[r, rows + 1] if two else 0.0
    return fine


@kernel
def hold_root(i: int, s: SweepArrays, Q: Array, two: int, A: Array) -> bool:
    """multiplier, second ← λ between the root at place i and fixed bodies. False if a pivot is not positive.

    A is scratch.
    """
    upward, special, Phi = s.upward, s.special, s.Phi
    size = 3 * (upward[i + 1] - upward[i])
    for r in range(size):
        t, x, at = upward[i] + r // 3, r % 3, s.phi_start[i] + r * stride(size)
        gap = _image(s.weights, t, 1, Q, s.other[t], x) if special[t] < 0 else 0.0
        for q in range(size):
            A[r, q] = Phi[at + q]
        A[r, size] = Phi[at + size] + gap
        A[r, size + 1] = s.second[t, x] - gap if two else 0.0
    fine = _gauss_jordan(A, size, size, A[len(A) - 1])
    for r in range(size):
        t, x = upward[i] + r // 3, r % 3
        s.multiplier[t, x] = A[r, size]
        if two:
            s.second[t, x] = A[r, size + 1]
    return fine


@kernel
def substitute_place(
    i: int, arrays: SweepArrays, bodies: Bodies, given: SweepWeights, Z: Array, small: Array, k: int, two: int,
    y: Array, y_second: Array,
) -> None:  # fmt: skip
    """multiplier ← λ of the triples below place i, y (12) of its body ← its Newton step: Q − y.

    If `two`, likewise with the second right-hand side.
    """
    children, upward, ground, y_start = arrays.children, arrays.upward, arrays.ground, arrays.y_start
    weights, special, covectors = arrays.weights, arrays.special, arrays.covectors
    R, L, u, Y, multiplier, second = arrays.R, arrays.L, arrays.u, arrays.Y, arrays.multiplier, arrays.second
    mass, inertia, c, w = bodies.mass, bodies.inertia, given.c, given.w
    b = arrays.body[i]
    light, strain = scales(c[b], w[b], mass, inertia, b)
    mine = 3 * (upward[i + 1] - upward[i])
    below = 3 * (upward[children[i + 1]] - upward[children[i]] + ground[i + 1] - ground[i])
    for n in range(2 if two else 1):
        force = multiplier if n == 0 else second
        for e in range(12):
            small[2, e // 3, e % 3] = 0.0
        for r in range(below + mine):
            t, side = _triple(i, children, upward, ground, r // 3)
            if r < below:
                at = y_start[i] + r * stride(mine)
                value = Y[at + mine] if n == 0 else second[t, r % 3]
                for s in range(mine):
                    value -= Y[at + s] * force[upward[i] + s // 3, s % 3]
                force[t, r % 3] = value
            _add_row(weights, special, covectors, t, side, r % 3, force[t, r % 3], small[2])
        whiten(mass, light, strain, R[k], L[k], b, small[2], Z, 1)
        for e in range(12):
            Z[e, 1] += u[k, n, e]
        motion(mass, light, strain, R[k], L[k], b, Z, 1, small[0])
        for e in range(12):
            if n == 0:
                y[b, e] = small[0, e // 3, e % 3]
            else:
                y_second[b, e] = small[0, e // 3, e % 3]
