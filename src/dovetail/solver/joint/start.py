"""Joint terms at the consistent start of a step (consistent.py): their share of the filter, drift and curvature."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.solver.contribution import motion
from dovetail.solver.joint.function import call_coordinate, call_energy, call_law, nearest
from dovetail.solver.joint.stencil import gather, pull_back_gradient, pull_back_hessian
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["laws_curvature", "laws_start", "rate_laws_gradient", "rate_laws_start", "terms_curvature"]

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
def _compliance(
    left: int, right: int, W: Array, k: int, dx: Array, mass_inverse: Array, position: Indices, J: Array
) -> float:
    """∇x·M⁻¹∇x of the two bodies by themselves; J (4, 3) is scratch."""
    total = 0.0
    for side in range(2):
        b = right if side else left
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
                    total += J[i, a] * mass_inverse[b, i, j] * J[j, a]
    return total


@kernel
def _with_gain(past: Array, now: Array, otherwise: float) -> float:
    """A past slope φ′ as it would have been with the present gain φ″, or otherwise another one: if it had none."""
    return past[0] * now[1] / past[1] if past[1] > 0.0 and now[1] > 0.0 else otherwise


@kernel
def laws_start(
    coordinate: Any, period: float, law: Any, left: Indices, right: Indices, W: Array, block: Indices, of: Indices,
    reference: Array, p: Array, past: Array, mass_inverse: Array, position: Indices, Q: Array, ratio: float, g: Array,
    D: Array, U: Array, drift: Array, weight: Array,
) -> None:  # fmt: skip
    """Gradient with the targets of the last step, Gauss–Newton Hessian, and what the motion of targets adds.

    weight (m,) ← that of ∇x∇xᵀ in the Hessian: φ″ with the share x/(1 + x), x = φ″ ∇x·M⁻¹∇x = ω²h². What the change of
    parameters p since the last two steps, past (2, m, q), has changed in the slope is the motion of a target, but for
    what a change of gains has: a drive that is switched off lets go at once.
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
        weight[m] = 0.0
        if d[0] == 0.0 and d[1] == 0.0:
            continue
        d_last[0] = _with_gain(d_last, d, d[0])
        d_earlier[0] = _with_gain(d_earlier, d, d_last[0])
        stiff = d[1] * _compliance(left[k], right[k], W, k, dx, mass_inverse, position, J)
        share = stiff / (1.0 + stiff)
        weight[m] = share * d[1]
        velocity, acceleration = motion(ratio, d[0] - d_last[0], d_last[0] - d_earlier[0])
        _pull_back(
            W, k, position[left[k]], position[right[k]], block[k], weight[m], d_last[0] + share * acceleration,
            share * velocity, dx, H, F, g, D, U, drift,
        )  # fmt: skip


@kernel
def rate_laws_start(
    coordinate: Any, period: float, law: Any, left: Indices, right: Indices, W: Array, block: Indices, of: Indices,
    reference: Array, half: Array, whole: Array, rates: Array, h: float, mass_inverse: Array, position: Indices,
    Q: Array, ratio: float, g: Array, D: Array, U: Array, drift: Array, weight: Array,
) -> None:  # fmt: skip
    """The same of laws φ(x; start, step) on x and its rate (k,), but for the gradient.

    half (3, m, q) are the parameters now, in the last step and in the one before it, for half a step that ends at x
    with its rate; whole (m, q) those of now for a whole one. With a stiffness K and a damping C, both times h²,
    4φ″ = K + 2C/h for half a step and φ″ = K + C/h for a whole one, which tells them apart. C/h counts as mass: it does
    not filter V, but makes Â that of an implicit step.
    """
    n = 3 * W.shape[1]
    F, dx, H, J = np.empty(n), np.empty(n), np.zeros(n * n), np.empty((4, 3))
    d, d_last, d_earlier, d_whole = np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2)
    now, last, earlier = half[0], half[1], half[2]
    for m in range(len(of)):
        k = of[m]
        gather(W, k, left[k], right[k], Q, F)
        dx[:] = 0.0
        x = nearest(call_coordinate(coordinate, F, 0.0, dx, H), period, reference[k])
        call_law(law, x, now, m, d)
        call_law(law, x, last, m, d_last)
        call_law(law, x, earlier, m, d_earlier)
        call_law(law, x, whole, m, d_whole)
        compliance = _compliance(left[k], right[k], W, k, dx, mass_inverse, position, J)
        stiffness = max(2.0 * d_whole[1] - 4.0 * d[1], 0.0)
        damping = max(4.0 * d[1] - d_whole[1], 0.0)
        share = stiffness * compliance / (1.0 + stiffness * compliance)
        damping *= damping * compliance / (1.0 + damping * compliance)
        weight[m] = share * stiffness + damping
        d_last[0] = _with_gain(d_last, d, d[0])
        d_earlier[0] = _with_gain(d_earlier, d, d_last[0])
        velocity, acceleration = motion(ratio, 4.0 * (d[0] - d_last[0]), 4.0 * (d_last[0] - d_earlier[0]))
        _pull_back(
            W, k, position[left[k]], position[right[k]], block[k], weight[m], share * acceleration,
            share * velocity - h * damping * rates[k], dx, H, F, g, D, U, drift,
        )  # fmt: skip


@kernel
def _pull_back(
    W: Array, k: int, left: int, right: int, block: int, weight: float, slope: float, moved: float, dx: Array,
    H: Array, F: Array, g: Array, D: Array, U: Array, drift: Array,
) -> None:  # fmt: skip
    """g += slope ∇x, D, U += weight ∇x∇xᵀ, drift += moved ∇x; H, F and dx are overwritten."""
    n = len(dx)
    for i in range(n):
        F[i] = slope * dx[i]
        for j in range(n):
            H[n * i + j] = weight * dx[i] * dx[j]
    pull_back_hessian(W, k, left, right, block, H, D, U)
    pull_back_gradient(W, k, left, right, F, g)
    for i in range(n):
        dx[i] *= moved
    pull_back_gradient(W, k, left, right, dx, drift)


@kernel
def rate_laws_gradient(
    coordinate: Any, period: float, law: Any, left: Indices, right: Indices, W: Array, of: Indices, reference: Array,
    half: Array, position: Indices, Q: Array, g: Array,
) -> None:  # fmt: skip
    """g += 4φ′ ∇x with the targets of the last step and the gains of now; half (2, m, q) has the parameters of both."""
    n = 3 * W.shape[1]
    F, dx, H, d, d_last = np.empty(n), np.empty(n), np.zeros(n * n), np.zeros(2), np.zeros(2)
    now, last = half[0], half[1]
    for m in range(len(of)):
        k = of[m]
        gather(W, k, left[k], right[k], Q, F)
        dx[:] = 0.0
        x = nearest(call_coordinate(coordinate, F, 0.0, dx, H), period, reference[k])
        call_law(law, x, now, m, d)
        call_law(law, x, last, m, d_last)
        slope = _with_gain(d_last, d, d[0])
        for i in range(n):
            dx[i] *= 4.0 * slope
        pull_back_gradient(W, k, position[left[k]], position[right[k]], dx, g)


@kernel
def laws_curvature(
    coordinate: Any, left: Indices, right: Indices, W: Array, of: Indices, weight: Array, position: Indices, Q: Array,
    V: Array, h: float, g: Array,
) -> None:  # fmt: skip
    """g += h² weight (Ḟ·∇²x Ḟ) ∇x."""
    n = 3 * W.shape[1]
    F, dF, dx, H = np.empty(n), np.empty(n), np.empty(n), np.empty(n * n)
    for m in range(len(of)):
        if weight[m] == 0.0:
            continue
        k = of[m]
        gather(W, k, left[k], right[k], Q, F)
        gather(W, k, left[k], right[k], V, dF)
        dx[:] = 0.0
        H[:] = 0.0
        call_coordinate(coordinate, F, 1.0, dx, H)
        bend = 0.0
        for i in range(n):
            for j in range(n):
                bend += dF[i] * H[n * i + j] * dF[j]
        for i in range(n):
            dx[i] *= h * h * weight[m] * bend
        pull_back_gradient(W, k, position[left[k]], position[right[k]], dx, g)
