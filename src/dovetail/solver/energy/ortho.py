"""OrthoPotential (UID 1): a body that resists every departure of its axes from an orthonormal frame.

    E = w ‖AᵀA − I‖²_F,   w = h² κ V                      G = AᵀA − I,   a_i = A e_i (row 1+i of Q)

    ∂E/∂a_i      = 4w Σ_j G_ij a_j
    ∂²E/∂a_i∂a_k = 4w ( δ_ik Σ_j a_j a_jᵀ + a_k a_iᵀ + G_ik I₃ )

The first two terms are Gauss–Newton, positive semi-definite, and blind to rotations; the third one is the stress,
which turns with the body. Leaving it out costs tens of Newton iterations in loaded linkages, so it is kept whole
as long as the rotational inertia outweighs it: on a rotation w× the Hessian of kinetic and stress terms is tr(Z)1
− Z with Z = c S + 4w G (S the second moments about the centre of mass). Where this falls below a tenth of its value
at rest, G is shifted by a multiple of I₃ that prevents it (a Gershgorin bound). A stretch σ has the curvature
4w (3σ² − 1), negative in a body flattened below 0.58 of its size; before that, G is made positive as a whole. In a
body so soft that its mass couples rotation and stretch as strongly as its stiffness parts them, the inertia does not
count. No eigenvalue is ever computed. With `exact` nothing is shifted: Newton tries that first, since other bodies
often hold a compressed one, and comes back for the shifted form if the factorisation fails.
"""

from __future__ import annotations

from typing import Any

from dovetail.kernel.kernel import kernel
from dovetail.solver.symmetric3 import gershgorin, positive_definite
from dovetail.typing import Array

__all__ = ["FLAT", "FLOOR", "SOFT", "add_ortho", "add_ortho_gradient", "ortho_energy", "set_gauss_newton"]

FLAT = -0.5  # strain σ² − 1 from which on a body counts as flattened
FLOOR = 0.1  # share of the rotational inertia at rest that a compressed body always keeps in the Hessian
SOFT = 0.1  # inertia over stiffness 4w above which a body counts as soft


@kernel
def _strain(Q: Array, b: int) -> Any:
    """G = AᵀA − I of body b, as nested tuples: they live in registers, arrays would be re-read after each write."""
    x, y, z = (
        (Q[b, 1, 0], Q[b, 1, 1], Q[b, 1, 2]),
        (Q[b, 2, 0], Q[b, 2, 1], Q[b, 2, 2]),
        (Q[b, 3, 0], Q[b, 3, 1], Q[b, 3, 2]),
    )
    xx = x[0] * x[0] + x[1] * x[1] + x[2] * x[2] - 1.0
    yy = y[0] * y[0] + y[1] * y[1] + y[2] * y[2] - 1.0
    zz = z[0] * z[0] + z[1] * z[1] + z[2] * z[2] - 1.0
    xy = x[0] * y[0] + x[1] * y[1] + x[2] * y[2]
    xz = x[0] * z[0] + x[1] * z[1] + x[2] * z[2]
    yz = y[0] * z[0] + y[1] * z[1] + y[2] * z[2]
    return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)


@kernel
def ortho_energy(w: float, Q: Array, b: int) -> float:
    """w ‖AᵀA − I‖²_F of body b."""
    G = _strain(Q, b)
    diagonal = G[0][0] * G[0][0] + G[1][1] * G[1][1] + G[2][2] * G[2][2]
    return w * (diagonal + 2.0 * (G[0][1] * G[0][1] + G[0][2] * G[0][2] + G[1][2] * G[1][2]))


@kernel
def _shift(s: float, c: float, inertia: Array, b: int, G: Any) -> float:
    """Multiple of I₃ to add to G so that the Hessian stays positive definite; 0 in all but compressed bodies."""
    trace = G[0][0] + G[1][1] + G[2][2]
    j = (1.0 - FLOOR) * c
    if j * (inertia[b, 0, 0] + inertia[b, 1, 1] + inertia[b, 2, 2]) > SOFT * s:
        j = 0.0
    x = j * inertia[b, 0, 0] + s * (trace - G[0][0])
    y = j * inertia[b, 1, 1] + s * (trace - G[1][1])
    z = j * inertia[b, 2, 2] + s * (trace - G[2][2])
    xy = j * inertia[b, 0, 1] - s * G[0][1]
    xz = j * inertia[b, 0, 2] - s * G[0][2]
    yz = j * inertia[b, 1, 2] - s * G[1][2]
    shift = 0.0
    if s > 0.0 and not positive_definite(x, y, z, xy, xz, yz):
        shift = max(0.0, -0.5 * gershgorin(x, y, z, xy, xz, yz) / s)
    flattest = gershgorin(G[0][0], G[1][1], G[2][2], G[0][1], G[0][2], G[1][2])
    return shift if flattest > FLAT else max(shift, -flattest)


@kernel
def add_ortho_gradient(s: float, Q: Array, b: int, g: Array, k: int) -> None:
    """g[k] += s G A of body b, s = 4w."""
    G = _strain(Q, b)
    for i in range(3):
        for a in range(3):
            g[k, 3 + 3 * i + a] += s * (G[i][0] * Q[b, 1, a] + G[i][1] * Q[b, 2, a] + G[i][2] * Q[b, 3, a])


@kernel
def set_gauss_newton(s: float, Q: Array, b: int, u: Array, v: Array, base: Array, D: Array) -> None:
    """D[b] ← base[b] + s (δ_ik Σ_j a_j a_jᵀ + a_k a_iᵀ) of body b (upper triangle), s = 4w; u, v (3, 12) are scratch,
    zero at first.
    """
    # a_k a_iᵀ: entry (i a, j e) is Q[j, a] Q[i, e]; written over whole rows it is a product of two vectors of twelve
    for j in range(3):
        for e in range(3):
            for i in range(3):
                u[i, 3 + 3 * j + e] = Q[b, 1 + i, e]
                v[i, 3 + 3 * j + e] = s * Q[b, 1 + j, i]
    for r in range(3):
        for x in range(12):
            D[b, r, x] = base[b, r, x]
    for i in range(3):
        for a in range(3):
            for x in range(12):
                D[b, 3 + 3 * i + a, x] = base[b, 3 + 3 * i + a, x] + v[a, x] * u[i, x]
    for i in range(3):
        for a in range(3):
            for e in range(a, 3):
                spread = Q[b, 1, a] * Q[b, 1, e] + Q[b, 2, a] * Q[b, 2, e] + Q[b, 3, a] * Q[b, 3, e]
                D[b, 3 + 3 * i + a, 3 + 3 * i + e] += s * spread


@kernel
def add_ortho(
    w: float,
    c: float,
    exact: float,
    inertia: Array,
    Q: Array,
    b: int,
    u: Array,
    v: Array,
    base: Array,
    g: Array,
    D: Array,
) -> None:
    """g[b] += gradient of body b; D[b] ← base[b] + Hessian (upper triangle), the true one if `exact`.

    u, v (3, 12) are scratch, zero at first.

    inertia[b] = tr(S)1 − S, S the second moments about the centre of mass.
    """
    G = _strain(Q, b)
    s = 4.0 * w
    add_ortho_gradient(s, Q, b, g, b)
    set_gauss_newton(s, Q, b, u, v, base, D)
    shift = 0.0 if exact > 0.0 else _shift(s, c, inertia, b, G)
    for i in range(3):
        for a in range(3):
            D[b, 3 + 3 * i + a, 3 + 3 * i + a] += s * shift
            for j in range(i, 3):
                D[b, 3 + 3 * i + a, 3 + 3 * j + a] += s * G[i][j]
