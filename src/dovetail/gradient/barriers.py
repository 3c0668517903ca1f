"""Barriers in an adjoint: gradient and true Hessian of κ m b(D), D = |r|².

    ∇D = 2 c ⊗ r           ½∇²D = c cᵀ ⊗ 1 − Σ (G⁻¹)_ef B_e B_fᵀ           c, B and G as in touching.py

Newton's method keeps the part along r alone; here all of it counts: without it gradients are wrong by half. Nearly
parallel edges u, v have the mollifier m(C), C = |u × v|². Everything is a form Σ (b_p b_qᵀ) ⊗ M_pq on a few rows b:
c, c₁, c₂ and the two edges.
"""

from __future__ import annotations

import numpy as np

from dovetail.errors import GradientError
from dovetail.gradient.touching import Touching, corner
from dovetail.kernel.kernel import kernel
from dovetail.solver.blocks import Blocks
from dovetail.solver.contact.barrier import barrier
from dovetail.solver.contact.kinds import D_HAT, KIND, POINT_PLANE, SHAPE, THICKNESS
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.linear.ordering import block_of, flipped
from dovetail.typing import Array, Indices

__all__ = [
    "add_barriers", "add_form", "add_forms", "barrier_work", "edges_of", "require_blocks", "set_barrier",
    "slopes_of_cross",
]  # fmt: skip


@kernel
def edges_of(t: Touching, scene: ContactScene, k: int, Q: Array, rows: Array, uv: Array) -> None:
    """rows (2, 8) ← the edges of contact k on both bodies, uv (2, 3) ← their images at Q."""
    for side in range(2):
        p0, p1, p2 = corner(t, scene, k, 2 * side, side)
        q0, q1, q2 = corner(t, scene, k, 2 * side + 1, side)
        for i in range(8):
            rows[side, i] = 0.0
        first, b = 4 * side, t.bodies[k, side]
        rows[side, first + 1], rows[side, first + 2], rows[side, first + 3] = q0 - p0, q1 - p1, q2 - p2
        for x in range(3):
            uv[side, x] = 0.0
            for i in range(1, 4):
                uv[side, x] += rows[side, first + i] * Q[b, i, x]


@kernel
def _products(uv: Array) -> tuple[float, float, float]:
    """u·u, v·v, u·v."""
    uu = vv = both = 0.0
    for x in range(3):
        uu += uv[0, x] * uv[0, x]
        vv += uv[1, x] * uv[1, x]
        both += uv[0, x] * uv[1, x]
    return uu, vv, both


@kernel
def slopes_of_cross(uv: Array, out: Array) -> None:
    """out (2, 3) ← derivatives of |u × v|² by u and v."""
    uu, vv, both = _products(uv)
    for x in range(3):
        out[0, x] = 2.0 * (vv * uv[0, x] - both * uv[1, x])
        out[1, x] = 2.0 * (uu * uv[1, x] - both * uv[0, x])


def require_blocks(blocks: Blocks, bodies: Indices) -> None:
    """Refuse to add contacts of pairs of bodies (k, 2) that the blocks have no place for."""
    if not blocks.has(bodies):
        raise GradientError(
            "Tape: bodies touch that the linear system of the gradient has no block for; this is a mistake of the "
            "solver: please report it with the scene."
        )


@kernel
def add_form(blocks: Blocks, a: int, b: int, place: int, count: int, rows: Array, M: Array, room: Array) -> None:
    """Add Σ (b_p b_qᵀ) ⊗ M_pq, rows (·, 8) and M (·, ·, 3, 3) of which `count` count, on bodies a and b (−1: none).

    place is the block of both. Of diagonal blocks the upper triangle is filled. room (·, 3, 3) is scratch.
    """
    D, U = blocks.D, blocks.U
    end = 8 if b >= 0 else 4
    for j in range(end):
        for p in range(count):
            for x in range(3):
                for z in range(3):
                    room[p, x, z] = 0.0
            for q in range(count):
                weight = rows[q, j]
                if weight != 0.0:
                    for x in range(3):
                        for z in range(3):
                            room[p, x, z] += weight * M[p, q, x, z]
        side, column = (D[a], 3 * j) if j < 4 else (D[b], 3 * j - 12)
        for i in range(0 if j < 4 else 4, j + 1):
            row = 3 * i if j < 4 else 3 * i - 12
            for p in range(count):
                weight = rows[p, i]
                if weight != 0.0:
                    for x in range(3):
                        for z in range(3):
                            side[row + x, column + z] += weight * room[p, x, z]
        if j < 4 or (a != b and -2 < place < 0):
            continue
        for i in range(4):
            for p in range(count):
                weight = rows[p, i]
                if weight == 0.0:
                    continue
                for x in range(3):
                    for z in range(3):
                        value = weight * room[p, x, z]
                        if a == b:
                            D[a, 3 * i + x, column + z] += value
                            D[a, column + z, 3 * i + x] += value
                        elif place >= 0:
                            U[place, 3 * i + x, column + z] += value
                        else:
                            U[flipped(place), column + z, 3 * i + x] += value


@kernel
def add_forms(bodies: Indices, c: Array, M: Array, blocks: Blocks) -> None:
    """Add Σ c cᵀ ⊗ M of contacts with weights c (k, 8), that have the sign of their body, and M (k, 3, 3)."""
    position, row_start, column = blocks.position, blocks.row_start, blocks.column
    form, space = np.empty((1, 1, 3, 3)), np.empty((1, 3, 3))
    for k in range(len(c)):
        a, b = bodies[k, 0], bodies[k, 1]
        form[0, 0] = M[k]
        place = block_of(a, b, position, row_start, column) if b >= 0 and b != a else -1
        add_form(blocks, a, b, place, 1, c[k : k + 1], form, space)


@kernel
def set_barrier(t: Touching, k: int, first: float, second: float, rows: Array, M: Array) -> None:
    """rows, M (3, 3, 3, 3) ← the form of κ m b(D) of contact k for a constant m."""
    scale, is_plane = t.weight[k] * t.kappa[k], t.pairs[k, KIND] == POINT_PLANE
    push, inverse = 2.0 * scale * first, t.inverse[k]
    for i in range(8):
        rows[0, i] = t.c[k, i]
        for e in range(2):
            rows[1 + e, i] = t.c_e[k, e, i]
    for x in range(3):
        for z in range(3):
            square = t.r[k, x] * t.r[k, z]
            # a half-plane has the distance along its normal alone
            unit = square / t.D[k] if is_plane else (1.0 if x == z else 0.0)
            M[0, 0, x, z] = 4.0 * scale * second * square + push * unit
            for e in range(2):
                M[1 + e, 0, x, z] = 0.0
                for f in range(2):
                    M[1 + e, 1 + f, x, z] = -push * inverse[e, f] * square
                    M[1 + e, 0, x, z] -= push * inverse[e, f] * t.r[k, x] * t.r_e[k, f, z]
                    M[0, 0, x, z] -= push * inverse[e, f] * t.r_e[k, e, x] * t.r_e[k, f, z]
                M[0, 1 + e, z, x] = M[1 + e, 0, x, z]


@kernel
def _add_mollifier(t: Touching, k: int, value: float, first: float, uv: Array, slopes: Array, M: Array) -> None:
    """M (5, 5, 3, 3) ← with κ(b m″ ∇C∇Cᵀ + m′b′(∇C∇Dᵀ + ∇D∇Cᵀ) + b m′ ∇²C) on the edges, rows 3 and 4."""
    kappa, slope, width = t.kappa[k], t.slope[k], t.numbers[k, SHAPE]
    bend, mixed, scale = -2.0 / (width * width) * kappa * value, 2.0 * kappa * slope * first, kappa * value * slope
    uu, vv, both = _products(uv)
    u, v = uv[0], uv[1]
    for p in range(3, 5):
        for q in range(1, 3):
            for x in range(3):
                for z in range(3):
                    M[p, q, x, z] = M[q, p, x, z] = 0.0
    for x in range(3):
        for z in range(3):
            unit = 1.0 if x == z else 0.0
            for p in range(2):
                M[3 + p, 0, x, z] = M[0, 3 + p, z, x] = mixed * slopes[p, x] * t.r[k, z]
                for q in range(2):
                    M[3 + p, 3 + q, x, z] = bend * slopes[p, x] * slopes[q, z]
            M[3, 3, x, z] += 2.0 * scale * (vv * unit - v[x] * v[z])
            M[4, 4, x, z] += 2.0 * scale * (uu * unit - u[x] * u[z])
    for x in range(3):
        for z in range(3):
            between = scale * (4.0 * u[x] * v[z] - 2.0 * v[x] * u[z] - (2.0 * both if x == z else 0.0))
            M[3, 4, x, z] += between
            M[4, 3, z, x] += between


@kernel
def add_barriers(t: Touching, scene: ContactScene, Q: Array, blocks: Blocks) -> None:
    """Add gradient and Hessian at Q, where the contacts are."""
    g, position, row_start, column = blocks.g, blocks.position, blocks.row_start, blocks.column
    rows, M, room = np.zeros((5, 8)), np.zeros((5, 5, 3, 3)), np.empty((5, 3, 3))
    uv, slopes = np.empty((2, 3)), np.empty((2, 3))
    for k in range(len(t.D)):
        a, b = t.bodies[k, 0], t.bodies[k, 1]
        value, first, second = barrier(t.D[k], t.numbers[k, THICKNESS], t.numbers[k, D_HAT])
        set_barrier(t, k, first, second, rows, M)
        count, push = 3, 2.0 * t.weight[k] * t.kappa[k] * first
        bent = t.slope[k] > 0.0
        if bent:
            edges_of(t, scene, k, Q, rows[3:], uv)
            slopes_of_cross(uv, slopes)
            _add_mollifier(t, k, value, first, uv, slopes, M)
            count = 5
        for i in range(8 if b >= 0 else 4):
            for x in range(3):
                by = rows[0, i] * push * t.r[k, x]
                if bent:
                    scale = t.kappa[k] * value * t.slope[k]
                    by += scale * (rows[3, i] * slopes[0, x] + rows[4, i] * slopes[1, x])
                g[a if i < 4 else b, 3 * (i % 4) + x] += by
        place = block_of(a, b, position, row_start, column) if b >= 0 and b != a else -1
        add_form(blocks, a, b, place, count, rows, M, room)


@kernel
def barrier_work(t: Touching, scene: ContactScene, Q: Array, x: Array, work: Array) -> None:
    """work (k,) ← x·∇ of κ m b(D) at Q."""
    rows, uv, slopes = np.empty((2, 8)), np.empty((2, 3)), np.empty((2, 3))
    for k in range(len(t.D)):
        value, first, _ = barrier(t.D[k], t.numbers[k, THICKNESS], t.numbers[k, D_HAT])
        push = 2.0 * t.weight[k] * t.kappa[k] * first
        bent = t.slope[k] > 0.0
        scale = t.kappa[k] * value * t.slope[k]
        if bent:
            edges_of(t, scene, k, Q, rows, uv)
            slopes_of_cross(uv, slopes)
        total = 0.0
        for i in range(8 if t.bodies[k, 1] >= 0 else 4):
            for z in range(3):
                by = t.c[k, i] * push * t.r[k, z]
                if bent:
                    by += scale * (rows[0, i] * slopes[0, z] + rows[1, i] * slopes[1, z])
                total += by * x[t.bodies[k, i // 4], i % 4, z]
        work[k] = total
