"""ARAP (UID 2): a body that resists every departure from the rotation nearest to it.

    E = w ‖A − R‖²_F,   w = h² κ V                       A = R S (polar),   K = tr(S)1 − S

    ∂E/∂A  = 2w (A − R)
    d²E    = 2w ( ‖dA‖² − 4 aᵀ K⁻¹ a ),   a = axial vector of the skew part of RᵀdA

On a rotation the second term cancels the first up to the stress, 4w (1 − 2K⁻¹), which is negative under
compression. K is then raised by a multiple of 1 that keeps a tenth of the rotational inertia (see ortho.py).
"""

from __future__ import annotations

from dovetail.kernel.kernel import kernel
from dovetail.solver.energy.ortho import FLOOR, SOFT
from dovetail.solver.polar import polar
from dovetail.solver.symmetric3 import gershgorin, positive_definite
from dovetail.typing import Array

__all__ = ["add_arap", "add_arap_gradient", "arap_energy"]

_EXACT = 1e-14  # relative change at which the polar iteration has reached round-off


@kernel
def arap_energy(w: float, Q: Array, b: int, R: Array) -> float:
    """w ‖A − R‖²_F of body b; R is 3×3 scratch."""
    polar(Q, b, R, _EXACT)
    total = 0.0
    for i in range(3):
        for a in range(3):
            total += (Q[b, 1 + i, a] - R[i, a]) ** 2
    return w * total


@kernel
def add_arap_gradient(w: float, Q: Array, b: int, R: Array, g: Array) -> None:
    """g[b] += 2w (A − R) of body b; R (3, 3) ← its polar rotation."""
    polar(Q, b, R, _EXACT)
    for i in range(3):
        for a in range(3):
            g[b, 3 + 3 * i + a] += 2.0 * w * (Q[b, 1 + i, a] - R[i, a])


@kernel
def _shift(w: float, c: float, inertia: Array, b: int, K: Array) -> float:
    """Multiple of 1 to add to K so that 4w (1 − 2K⁻¹) + (1 − FLOOR) c J ≥ 0, J the inertia of body b.

    That is K ≥ 2Y⁻¹ with Y = 1 + (1 − FLOOR) c J/(4w).
    """
    j = (1.0 - FLOOR) * c / (4.0 * w)
    if j * (inertia[b, 0, 0] + inertia[b, 1, 1] + inertia[b, 2, 2]) > SOFT:
        j = 0.0
    x, y, z = 1.0 + j * inertia[b, 0, 0], 1.0 + j * inertia[b, 1, 1], 1.0 + j * inertia[b, 2, 2]
    xy, xz, yz = j * inertia[b, 0, 1], j * inertia[b, 0, 2], j * inertia[b, 1, 2]
    cx, cxy, cxz = y * z - yz * yz, xz * yz - xy * z, xy * yz - xz * y
    twice = 2.0 / (x * cx + xy * cxy + xz * cxz)
    kx, ky, kz = K[0, 0] - twice * cx, K[1, 1] - twice * (x * z - xz * xz), K[2, 2] - twice * (x * y - xy * xy)
    kxy, kxz, kyz = K[0, 1] - twice * cxy, K[0, 2] - twice * cxz, K[1, 2] - twice * (xy * xz - x * yz)
    if positive_definite(kx, ky, kz, kxy, kxz, kyz):
        return 0.0
    return max(0.0, -gershgorin(kx, ky, kz, kxy, kxz, kyz))


@kernel
def add_arap(
    w: float,
    c: float,
    exact: float,
    inertia: Array,
    Q: Array,
    b: int,
    R: Array,
    K: Array,
    base: Array,
    g: Array,
    D: Array,
) -> None:
    """g[b] += gradient of body b; D[b] ← base[b] + Hessian (upper triangle), the true one if `exact`.

    R, K are 3×3 scratch.
    """
    for i in range(12):
        for j in range(12):
            D[b, i, j] = base[b, i, j]
    add_arap_gradient(w, Q, b, R, g)
    for i in range(3):
        for j in range(3):
            K[i, j] = -(R[i, 0] * Q[b, 1 + j, 0] + R[i, 1] * Q[b, 1 + j, 1] + R[i, 2] * Q[b, 1 + j, 2])
    trace = -(K[0, 0] + K[1, 1] + K[2, 2])
    for i in range(3):
        K[i, i] += trace
    shift = 0.0 if exact > 0.0 else _shift(w, c, inertia, b, K)
    k00, k11, k22 = K[0, 0] + shift, K[1, 1] + shift, K[2, 2] + shift
    k01, k02, k12 = K[0, 1], K[0, 2], K[1, 2]
    c00 = k11 * k22 - k12 * k12
    c01 = k02 * k12 - k01 * k22
    c02 = k01 * k12 - k02 * k11
    inverse = 1.0 / (k00 * c00 + k01 * c01 + k02 * c02)
    K[0, 0] = c00 * inverse
    K[0, 1] = K[1, 0] = c01 * inverse
    K[0, 2] = K[2, 0] = c02 * inverse
    K[1, 1] = (k00 * k22 - k02 * k02) * inverse
    K[1, 2] = K[2, 1] = (k01 * k02 - k00 * k12) * inverse
    K[2, 2] = (k00 * k11 - k01 * k01) * inverse
    # 2a = Σ_i e_i × (rotated da_i): the part of column i along axis j enters component k of 2a with sign ε_ijk
    for i in range(3):
        for j in range(i, 3):
            for a in range(3):
                for e in range(3):
                    i1, i2 = (i + 1) % 3, (i + 2) % 3
                    j1, j2 = (j + 1) % 3, (j + 2) % 3
                    value = -(
                        R[i1, a] * (K[i2, j2] * R[j1, e] - K[i2, j1] * R[j2, e])
                        - R[i2, a] * (K[i1, j2] * R[j1, e] - K[i1, j1] * R[j2, e])
                    )
                    if i == j and a == e:
                        value += 1.0
                    D[b, 3 + 3 * i + a, 3 + 3 * j + e] += 2.0 * w * value
