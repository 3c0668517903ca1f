"""Joint terms at the consistent start of a step (consistent.py): their share of the filter, drift and curvature."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.solver.contribution import motion
from dovetail.solver.joint.function import call_coordinate, call_energy, call_law, nearest
from dovetail.solver.joint.stencil import gather, pull_back_gradient, pull_back_hessian
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["laws_curvature", "laws_start", "terms_curvature"]

_LITTLE = 1e-9  # shift of a singular Hessian, relative: its square root is what round-off leaves of it


@kernel
def _keep_unresisted(n: int, H: Array, y: Array, v: Array) -> None:
    """v (n) ← (1 − (H + ε)⁻¹H) v: the part of a rate that a positive semi-definite H (n·n) does not resist.

    ε is small against the diagonal of H. H is overwritten by its Cholesky factor; y (n) is scratch.
    """
    largest = 0.0
    for i in range(n):
        largest = max(largest, H[n * i + i])
    if largest == 0.0:
        return
    for i in range(n):
        y[i] = 0.0
        for j in range(n):
            y[i] += H[n * i + j] * v[j]
    for i in range(n):
        H[n * i + i] += _LITTLE * largest
        for j in range(i + 1):
            total = H[n * i + j]
            for m in range(j):
                total -= H[n * i + m] * H[n * j + m]
            H[n * i + j] = np.sqrt(total) if i == j else total / H[n * j + j]
    for i in range(n):
        for m in range(i):
            y[i] -= H[n * i + m] * y[m]
        y[i] /= H[n * i + i]
    for i in range(n - 1, -1, -1):
        for m in range(i + 1, n):
            y[i] -= H[n * m + i] * y[m]
        y[i] /= H[n * i + i]
        v[i] -= y[i]


@kernel
def terms_curvature(
    psi: Any, left: Indices, right: Indices, W: Array, p: Array, position: Indices, Q: Array, V: Array, h: float,
    g: Array,
) -> None:  # fmt: skip
    """g += ∇ψ(F + hḞ) + ∇ψ(F − hḞ) − 2∇ψ(F), which is h²∇³ψ[Ḟ, Ḟ] but for O(h⁴); exact for slide, a quartic.

    A filtered rate still has a little of what the term resists, which its stiffness would blow up: that is left out.
    """
    n = 3 * W.shape[1]
    F, dF, gF, total, H = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n * n)
    for k in range(len(left)):
        gather(W, k, left[k], right[k], Q, F)
        gather(W, k, left[k], right[k], V, dF)
        gF[:] = 0.0
        H[:] = 0.0
        call_energy(psi, F, p, k, 0.0, gF, H)
        for i in range(n):
            total[i] = -2.0 * gF[i]
        _keep_unresisted(n, H, gF, dF)
        for move in (1.0, -2.0):
            for i in range(n):
                F[i] += move * h * dF[i]
            gF[:] = 0.0
            H[:] = 0.0
            call_energy(psi, F, p, k, 0.0, gF, H)
            for i in range(n):
                total[i] += gF[i]
        pull_back_gradient(W, k, position[left[k]], position[right[k]], total, g)


@kernel
def laws_start(
    coordinate: Any, period: float, law: Any, left: Indices, right: Indices, W: Array, block: Indices, of: Indices,
    reference: Array, p: Array, past: Array, mass_inverse: Array, position: Indices, Q: Array, ratio: float, g: Array,
    D: Array, U: Array, drift: Array, share: Array,
) -> None:  # fmt: skip
    """Gradient and Gauss–Newton Hessian with the share x/(1 + x), x = φ″ ∇x·M⁻¹∇x = ω²h² of the two bodies alone.

    The same share of what the change of parameters p since the last two steps, past (2, m, q), has changed in the slope
    is the motion of a target, see contribution.py.
    """
    n = 3 * W.shape[1]
    F, dx, H, J = np.empty(n), np.empty(n), np.zeros(n * n), np.empty((4, 3))
    d, d_last, d_earlier = np.zeros(2), np.zeros(2), np.zeros(2)
    last, earlier = past[0], past[1]
    for m in range(len(of)):
        k = of[m]
        gather(W, k, left[k], right[k], Q, F)
        dx[:] = 0.0
        x = nearest(call_coordinate(coordinate, F, 0.0, dx, H), period, reference[k])
        call_law(law, x, p, m, d)
        call_law(law, x, last, m, d_last)
        call_law(law, x, earlier, m, d_earlier)
        share[m] = 0.0
        if d[0] == 0.0 and d[1] == 0.0 and d_last[0] == 0.0:
            continue
        compliance = 0.0
        for side in range(2):
            b = right[k] if side else left[k]
            if position[b] < 0:
                continue
            J[:, :] = 0.0
            for r in range(W.shape[1]):
                for i in range(4):
                    for a in range(3):
                        J[i, a] += W[k, r, 4 * side + i] * dx[3 * r + a]
            for i in range(4):
                for j in range(4):
                    for a in range(3):
                        compliance += J[i, a] * mass_inverse[b, i, j] * J[j, a]
        stiff = d[1] * compliance
        share[m] = stiff / (1.0 + stiff)
        velocity, acceleration = motion(ratio, d[0] - d_last[0], d_last[0] - d_earlier[0])
        for i in range(n):
            for j in range(n):
                H[n * i + j] = share[m] * d[1] * dx[i] * dx[j]
        row_left, row_right = position[left[k]], position[right[k]]
        pull_back_hessian(W, k, row_left, row_right, block[k], H, D, U)
        for i in range(n):
            F[i] = (d_last[0] + share[m] * acceleration) * dx[i]
            dx[i] *= share[m] * velocity
        pull_back_gradient(W, k, row_left, row_right, F, g)
        pull_back_gradient(W, k, row_left, row_right, dx, drift)


@kernel
def laws_curvature(
    coordinate: Any, period: float, law: Any, left: Indices, right: Indices, W: Array, of: Indices, reference: Array,
    p: Array, share: Array, position: Indices, Q: Array, V: Array, h: float, g: Array,
) -> None:  # fmt: skip
    """g += h² φ″ (Ḟ·∇²x Ḟ) ∇x, with the share of the law."""
    n = 3 * W.shape[1]
    F, dF, dx, H, d = np.empty(n), np.empty(n), np.empty(n), np.empty(n * n), np.zeros(2)
    for m in range(len(of)):
        if share[m] == 0.0:
            continue
        k = of[m]
        gather(W, k, left[k], right[k], Q, F)
        gather(W, k, left[k], right[k], V, dF)
        dx[:] = 0.0
        H[:] = 0.0
        x = nearest(call_coordinate(coordinate, F, 1.0, dx, H), period, reference[k])
        call_law(law, x, p, m, d)
        bend = 0.0
        for i in range(n):
            for j in range(n):
                bend += dF[i] * H[n * i + j] * dF[j]
        for i in range(n):
            dx[i] *= h * h * share[m] * d[1] * bend
        pull_back_gradient(W, k, position[left[k]], position[right[k]], dx, g)
