"""OrthoPotential (UID 1): a body that resists every departure of its axes from an orthonormal frame.

    E = w ‖AᵀA − I‖²_F,   w = h² κ V                      G = AᵀA − I,   a_i = A e_i (row 1+i of Q)

    ∂E/∂a_i      = 4w Σ_j G_ij a_j
    ∂²E/∂a_i∂a_k = 4w ( δ_ik Σ_j a_j a_jᵀ + a_k a_iᵀ + G_ik I₃ )

The first two terms are Gauss–Newton, positive semi-definite, and blind to rotations; the third one is the stress,
which turns with the body. Leaving it out costs tens of Newton iterations in loaded linkages, so it is kept whole as long as the
rotational inertia outweighs it: on a rotation w× the Hessian of kinetic and stress terms is tr(Z)1 − Z with
Z = c S + 4w G (S the second moments about the centre of mass). Where a Gershgorin bound says that this might fall below a tenth of
its value at rest, G is shifted by the least multiple of I₃ that prevents it. No eigenvalue is ever computed.
"""

from __future__ import annotations

from dovetail.solver.kernel import kernel
from dovetail.typing import Array

__all__ = ["FLOOR", "add_ortho", "ortho_energy"]

FLOOR = 0.1  # share of the rotational inertia at rest that a compressed body always keeps in the Hessian


@kernel
def ortho_energy(w: float, Q: Array, b: int) -> float:
    """w ‖AᵀA − I‖²_F of body b."""
    total = 0.0
    for i in range(3):
        for j in range(3):
            G = Q[b, 1 + i, 0] * Q[b, 1 + j, 0] + Q[b, 1 + i, 1] * Q[b, 1 + j, 1] + Q[b, 1 + i, 2] * Q[b, 1 + j, 2]
            if i == j:
                G -= 1.0
            total += G * G
    return w * total


@kernel
def add_ortho(w: float, c: float, inertia: Array, Q: Array, b: int, G: Array, P: Array, g: Array, D: Array, k: int) -> None:
    """Add gradient and Hessian of body b to g[k] and D[k] (upper triangle); G, P are 3×3 scratch.

    inertia[b] = tr(S)1 − S, S the second moments about the centre of mass.
    """
    for i in range(3):
        for j in range(3):
            G[i, j] = Q[b, 1 + i, 0] * Q[b, 1 + j, 0] + Q[b, 1 + i, 1] * Q[b, 1 + j, 1] + Q[b, 1 + i, 2] * Q[b, 1 + j, 2]
            P[i, j] = Q[b, 1, i] * Q[b, 1, j] + Q[b, 2, i] * Q[b, 2, j] + Q[b, 3, i] * Q[b, 3, j]
        G[i, i] -= 1.0
    s = 4.0 * w
    for i in range(3):
        for a in range(3):
            g[k, 3 + 3 * i + a] += s * (G[i, 0] * Q[b, 1, a] + G[i, 1] * Q[b, 2, a] + G[i, 2] * Q[b, 3, a])
    trace = G[0, 0] + G[1, 1] + G[2, 2]
    lack = 0.0
    for i in range(3):
        rest = c * inertia[b, i, i]
        row = rest + s * (trace - G[i, i]) - FLOOR * rest
        for j in range(3):
            if j != i:
                row -= abs(c * inertia[b, i, j] - s * G[i, j])
        lack = min(lack, row)
    shift = -0.5 * lack / s if s > 0.0 else 0.0
    for i in range(3):
        G[i, i] += shift
    for i in range(3):
        for j in range(i, 3):
            for a in range(3):
                for e in range(3):
                    value = Q[b, 1 + j, a] * Q[b, 1 + i, e]
                    if i == j:
                        value += P[a, e]
                    if a == e:
                        value += G[i, j]
                    D[k, 3 + 3 * i + a, 3 + 3 * j + e] += s * value
