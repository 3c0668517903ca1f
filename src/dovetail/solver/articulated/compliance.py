"""How a single body yields: the inverse of its Hessian, in coordinates in which it is the identity.

In the frame of the polar rotation R a change of the affine part is dA = ([ω]× + ε) R, ε symmetric, ω and ε in world
axes. With the centre of mass as origin the Hessian of kinetic and shape energy is then nearly diagonal:

    c m on its motion     J = c R(tr(S)1 − S)Rᵀ + 4w(tr(B)1 − B) on ω      k = 8w + c tr(S)/3 on ε       w = h²κV

S are the second moments about the centre of mass, B = AAᵀ − 1 is the strain; its term is the stress, which stiffens the
rotation of a body under tension. What is left out is of the order of B and of the moments over w, so iterations with
it contract by that factor instead of quadratically; bodies for which it is not small do not take this road.

A covector a (4×3: a force on the rows of Q) becomes z (12) = (a₀/√m, Lτ, N/√k) with τ = Σ r_k × a_k,
N = sym(Σ a_k r_kᵀ), r_k = R e_k, LJLᵀ = 1. Scalar products of such vectors are compliances; transposed, z gives the
motion that the force causes.
"""

from __future__ import annotations

import math

from dovetail.kernel.kernel import kernel
from dovetail.solver.energy.ortho import FLOOR
from dovetail.solver.polar import polar
from dovetail.solver.symmetric3 import gershgorin, positive_definite
from dovetail.typing import Array

__all__ = ["body_gradient", "motion", "scales", "set_frame", "set_kinetic", "whiten", "whiten_point"]

_ROOT2 = math.sqrt(2.0)


@kernel
def scales(c: float, w: float, mass: Array, inertia: Array, b: int) -> tuple[float, float]:
    """1/√(c m) and 1/√k of body b, k [kg·m²]; the trace of inertia = tr(S)1 − S is twice that of S."""
    k = 8.0 * w + c * (inertia[b, 0, 0] + inertia[b, 1, 1] + inertia[b, 2, 2]) / 6.0
    return 1.0 / math.sqrt(c * mass[b, 0, 0]), 1.0 / math.sqrt(k)


@kernel
def _strain(Q: Array, b: int, B: Array) -> None:
    """B (3×3) ← AAᵀ − 1 of body b."""
    for i in range(3):
        for j in range(3):
            B[i, j] = Q[b, 1, i] * Q[b, 1, j] + Q[b, 2, i] * Q[b, 2, j] + Q[b, 3, i] * Q[b, 3, j]
        B[i, i] -= 1.0


@kernel
def set_frame(c: float, w: float, inertia: Array, Q: Array, b: int, R: Array, L: Array, B: Array, J: Array) -> None:
    """R ← polar rotation (row k = image of e_k), L (lower triangle) ← L J Lᵀ = 1 of body b; B and J are scratch (3×3).

    A compressed body keeps a tenth of its rotational inertia.
    """
    polar(Q, b, R, 1e-9)
    for i in range(3):
        for a in range(3):
            B[i, a] = c * (inertia[b, i, 0] * R[0, a] + inertia[b, i, 1] * R[1, a] + inertia[b, i, 2] * R[2, a])
    for a in range(3):
        for e in range(3):
            J[a, e] = R[0, a] * B[0, e] + R[1, a] * B[1, e] + R[2, a] * B[2, e]
    _strain(Q, b, B)
    s = 4.0 * w
    trace = s * (B[0, 0] + B[1, 1] + B[2, 2])
    for i in range(3):
        for j in range(3):
            B[i, j] = (1.0 - FLOOR) * J[i, j] - s * B[i, j]
        B[i, i] += trace
    shift = 0.0
    if not positive_definite(B[0, 0], B[1, 1], B[2, 2], B[0, 1], B[0, 2], B[1, 2]):
        shift = max(0.0, -gershgorin(B[0, 0], B[1, 1], B[2, 2], B[0, 1], B[0, 2], B[1, 2]))
    for i in range(3):
        for j in range(3):
            J[i, j] = B[i, j] + FLOOR * J[i, j]
        J[i, i] += shift
    # the inverse of the Cholesky factor, row by row
    l00 = 1.0 / math.sqrt(J[0, 0])
    l10, l20 = J[1, 0] * l00, J[2, 0] * l00
    l11 = 1.0 / math.sqrt(J[1, 1] - l10 * l10)
    l21 = (J[2, 1] - l20 * l10) * l11
    l22 = 1.0 / math.sqrt(J[2, 2] - l20 * l20 - l21 * l21)
    L[0, 0], L[1, 1], L[2, 2] = l00, l11, l22
    L[1, 0] = -l10 * l00 * l11
    L[2, 1] = -l21 * l11 * l22
    L[2, 0] = -(l20 * l00 + l21 * L[1, 0]) * l22


@kernel
def set_kinetic(mass: Array, c: float, d: Array, b: int, g: Array) -> None:
    """g (4×3) ← c M d[b]."""
    for i in range(4):
        for a in range(3):
            value = 0.0
            for j in range(4):
                value += mass[b, i, j] * d[b, j, a]
            g[i, a] = c * value


@kernel
def body_gradient(mass: Array, c: float, w: float, Q: Array, Q_tilde: Array, b: int, B: Array, g: Array) -> None:
    """g (4×3) ← gradient of the kinetic and the shape energy of body b; B is scratch."""
    _strain(Q, b, B)
    for i in range(4):
        for a in range(3):
            value = 0.0
            for j in range(4):
                value += mass[b, i, j] * (Q[b, j, a] - Q_tilde[b, j, a])
            g[i, a] = c * value
            if i > 0:
                g[i, a] += 4.0 * w * (B[a, 0] * Q[b, i, 0] + B[a, 1] * Q[b, i, 1] + B[a, 2] * Q[b, i, 2])


@kernel
def whiten(
    mass: Array, light: float, size: float, R: Array, L: Array, b: int, a: Array, z: Array, column: int
) -> None:  # fmt: skip
    """z[:, column] (12) ← covector a (4×3) of body b; light = 1/√(c m) and size = 1/√k."""
    m = 1.0 / mass[b, 0, 0]
    for x in range(3):
        z[x, column] = a[0, x] * light
        z[3 + x, column] = 0.0
    t0 = t1 = t2 = 0.0
    n0 = n1 = n2 = n01 = n02 = n12 = 0.0
    for i in range(3):
        share = mass[b, 0, 1 + i] * m
        x, y, v = a[1 + i, 0] - share * a[0, 0], a[1 + i, 1] - share * a[0, 1], a[1 + i, 2] - share * a[0, 2]
        t0 += R[i, 1] * v - R[i, 2] * y
        t1 += R[i, 2] * x - R[i, 0] * v
        t2 += R[i, 0] * y - R[i, 1] * x
        n0 += x * R[i, 0]
        n1 += y * R[i, 1]
        n2 += v * R[i, 2]
        n01 += x * R[i, 1] + y * R[i, 0]
        n02 += x * R[i, 2] + v * R[i, 0]
        n12 += y * R[i, 2] + v * R[i, 1]
    z[3, column] = L[0, 0] * t0
    z[4, column] = L[1, 0] * t0 + L[1, 1] * t1
    z[5, column] = L[2, 0] * t0 + L[2, 1] * t1 + L[2, 2] * t2
    z[6, column], z[7, column], z[8, column] = size * n0, size * n1, size * n2
    size /= _ROOT2
    z[9, column], z[10, column], z[11, column] = size * n01, size * n02, size * n12


@kernel
def whiten_point(
    mass: Array, light: float, size: float, R: Array, L: Array, b: int, w: Array, z: Array, column: int
) -> None:  # fmt: skip
    """z[:, column …] (12, 3) ← the same of the covectors w ⊗ e₀, w ⊗ e₁, w ⊗ e₂ of a point with weights w (4).

    With x what it weighs about the centre of mass, τ = x × e and N = sym(e xᵀ).
    """
    m = 1.0 / mass[b, 0, 0]
    x0 = x1 = x2 = 0.0
    for i in range(3):
        weight = w[1 + i] - mass[b, 0, 1 + i] * m * w[0]
        x0 += weight * R[i, 0]
        x1 += weight * R[i, 1]
        x2 += weight * R[i, 2]
    first, second, third = column, column + 1, column + 2
    for x in range(3):
        for e in range(3):
            z[x, column + e] = light * w[0] if x == e else 0.0
            z[6 + x, column + e] = 0.0
    z[3, first], z[3, second], z[3, third] = 0.0, -L[0, 0] * x2, L[0, 0] * x1
    z[4, first], z[4, second], z[4, third] = L[1, 1] * x2, -L[1, 0] * x2, L[1, 0] * x1 - L[1, 1] * x0
    z[5, first], z[5, second] = L[2, 1] * x2 - L[2, 2] * x1, L[2, 2] * x0 - L[2, 0] * x2
    z[5, third] = L[2, 0] * x1 - L[2, 1] * x0
    z[6, first], z[7, second], z[8, third] = size * x0, size * x1, size * x2
    size /= _ROOT2
    z[9, first], z[9, second], z[9, third] = size * x1, size * x0, 0.0
    z[10, first], z[10, second], z[10, third] = size * x2, 0.0, size * x0
    z[11, first], z[11, second], z[11, third] = 0.0, size * x2, size * x1


@kernel
def motion(
    mass: Array, light: float, size: float, R: Array, L: Array, b: int, z: Array, column: int, y: Array
) -> None:  # fmt: skip
    """y (4×3) ← change of the rows of Q that belongs to z[:, column]."""
    m = mass[b, 0, 0]
    w0 = L[0, 0] * z[3, column] + L[1, 0] * z[4, column] + L[2, 0] * z[5, column]
    w1 = L[1, 1] * z[4, column] + L[2, 1] * z[5, column]
    w2 = L[2, 2] * z[5, column]
    e0, e1, e2 = size * z[6, column], size * z[7, column], size * z[8, column]
    size /= _ROOT2
    e01, e02, e12 = size * z[9, column], size * z[10, column], size * z[11, column]
    for x in range(3):
        y[0, x] = z[x, column] * light
    for i in range(3):
        r0, r1, r2 = R[i, 0], R[i, 1], R[i, 2]
        y[1 + i, 0] = e0 * r0 + (e01 - w2) * r1 + (e02 + w1) * r2
        y[1 + i, 1] = (e01 + w2) * r0 + e1 * r1 + (e12 - w0) * r2
        y[1 + i, 2] = (e02 - w1) * r0 + (e12 + w0) * r1 + e2 * r2
        for x in range(3):
            y[0, x] -= mass[b, 0, 1 + i] / m * y[1 + i, x]
