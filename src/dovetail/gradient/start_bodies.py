"""Bodies at a consistent start: derivatives of their part of ℓ (start.py); equations in solver/assembly/start.py.

With B(y)_ij = y_i·a_j of a motion y, rows a_i of A, the filter of a shape is y·P z = f B(y):(B(z) + B(z)ᵀ), f a share
of its weight k. Along the spin ω of V̂, v_i = ω × a_i, its curvature on a row is 2h²f Σ_j (v_i·v_j) a_j.
"""

from __future__ import annotations

import numpy as np

from dovetail.gradient.bodies import BodySums, ortho_product, shape_gradients
from dovetail.gradient.sums import Sums
from dovetail.kernel.kernel import kernel
from dovetail.solver.bodies import ORTHO, Bodies
from dovetail.solver.model import Model
from dovetail.typing import Array, Indices

__all__ = ["StartBodies"]

_STEP = 1e-6  # of differences of the gradient of ARAP, beside 1


class StartBodies:
    """The bodies of a model."""

    def __init__(self, model: Model) -> None:
        bodies = model.bodies
        self._bodies, self._weights = bodies, model.potential.weights
        second = bodies.mass[:, 1:, 1:] - bodies.mass[:, 1:, :1] * bodies.mass[:, :1, 1:] / bodies.mass[:, :1, :1]
        self._axis = np.ascontiguousarray(np.linalg.eigh(second)[1][:, :, -1])
        self._arap = np.flatnonzero(bodies.model != ORTHO)

    def pull(
        self, active: Indices, h: float, motions: tuple[Array, ...], rate: Array, Q: Array, sums: Sums | None
    ) -> tuple[Array, Array]:
        """Derivatives by Qₙ and the rate of curvatures (n, 4, 3); with `sums` those by stiffness and mass.

        motions are μ₁, V̂, μ₂, x. Those by the rate do not depend on μ₁; without `sums` no others are found.
        """
        Q_bar, V_bar, bodies = np.zeros_like(Q), np.zeros_like(Q), self._bodies
        by = {name: np.zeros_like(getattr(bodies, name)) for name in BodySums.fields}
        found, given = BodySums(**by), tuple(np.ascontiguousarray(each) for each in (*motions, rate))
        _pull(bodies, self._weights.w, self._axis, active, h, Q, given, sums is not None, Q_bar, V_bar, found)
        if sums is not None:
            if len(self._arap):
                self._add_arap(active, h, motions[2], Q, Q_bar, found)
            sums.constant["stiffness"] += found.stiffness
            sums.constant["mass"] += found.mass
        return Q_bar, V_bar

    def _add_arap(self, active: Indices, h: float, mu: Array, Q: Array, Q_bar: Array, found: BodySums) -> None:
        """Add what the energies of shapes of ARAP have, by differences of their gradients."""
        some, w = self._arap[active[self._arap] != 0], self._weights.w
        size = _STEP / (np.abs(mu[:, 1:]).max(axis=(1, 2), keepdims=True) + 1e-300)
        step = np.zeros_like(Q)
        step[:, 1:] = size * mu[:, 1:]
        ahead, behind, at = (shape_gradients(self._bodies, each) for each in (Q + step, Q - step, Q))
        Q_bar[some] += w[some, None, None] * ((ahead - behind) / (2.0 * size))[some]
        found.stiffness[some] += h * h * (mu[:, 1:] * at[:, 1:]).sum(axis=(1, 2))[some]


@kernel
def _dot(a: Array, i: int, b: Array, j: int) -> float:
    product: float = a[i, 0] * b[j, 0] + a[i, 1] * b[j, 1] + a[i, 2] * b[j, 2]
    return product


@kernel
def _add_cross(a: Array, i: int, b: Array, j: int, out: Array, k: int) -> None:
    """out[k] += a[i] × b[j]."""
    out[k, 0] += a[i, 1] * b[j, 2] - a[i, 2] * b[j, 1]
    out[k, 1] += a[i, 2] * b[j, 0] - a[i, 0] * b[j, 2]
    out[k, 2] += a[i, 0] * b[j, 1] - a[i, 1] * b[j, 0]


@kernel
def _divide(m: Array, b: Array, x: Array) -> None:
    """x[0] ← m⁻¹ b[0] for a symmetric m (3, 3)."""
    c00, c01, c02 = (
        m[1, 1] * m[2, 2] - m[1, 2] * m[1, 2],
        m[0, 2] * m[1, 2] - m[0, 1] * m[2, 2],
        m[0, 1] * m[1, 2] - m[0, 2] * m[1, 1],
    )
    c11, c12 = m[0, 0] * m[2, 2] - m[0, 2] * m[0, 2], m[0, 1] * m[0, 2] - m[0, 0] * m[1, 2]
    c22 = m[0, 0] * m[1, 1] - m[0, 1] * m[0, 1]
    size = m[0, 0] * c00 + m[0, 1] * c01 + m[0, 2] * c02
    x[0, 0] = (c00 * b[0, 0] + c01 * b[0, 1] + c02 * b[0, 2]) / size
    x[0, 1] = (c01 * b[0, 0] + c11 * b[0, 1] + c12 * b[0, 2]) / size
    x[0, 2] = (c02 * b[0, 0] + c12 * b[0, 1] + c22 * b[0, 2]) / size


@kernel
def _curvature(h: float, S: Array, A: Array, V: Array, mu: Array, A_bar: Array, V_bar: Array, S_bar: Array) -> float:
    """μ₂·curvature for f = 1; A_bar, V_bar, S_bar (3, 3) ← its derivatives by rows of Qₙ and V̂ and second moments."""
    r, world, inertia = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    momentum, omega, v, v_bar = np.zeros((1, 3)), np.zeros((1, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    turned, t, world_bar, r_bar = np.zeros((1, 3)), np.zeros((1, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            A_bar[i, j] = V_bar[i, j] = S_bar[i, j] = 0.0
            for x in range(3):
                r[i, x] += S[i, j] * V[j, x]
                for z in range(3):
                    world[x, z] += S[i, j] * A[i, x] * A[j, z]
    trace = world[0, 0] + world[1, 1] + world[2, 2]
    for i in range(3):
        _add_cross(A, i, r, i, momentum, 0)
        for j in range(3):
            inertia[i, j] = (trace if i == j else 0.0) - world[i, j]
    _divide(inertia, momentum, omega)
    for i in range(3):
        _add_cross(omega, 0, A, i, v, i)
    value, scale = 0.0, 2.0 * h * h
    for i in range(3):
        for j in range(3):
            vv, c = _dot(v, i, v, j), _dot(mu, i, A, j)
            value += scale * vv * c
            c += _dot(mu, j, A, i)
            for x in range(3):
                v_bar[i, x] += scale * c * v[j, x]
                A_bar[i, x] += scale * vv * mu[j, x]
    for i in range(3):
        _add_cross(v_bar, i, omega, 0, A_bar, i)
        _add_cross(A, i, v_bar, i, turned, 0)
    _divide(inertia, turned, t)
    trace = -_dot(t, 0, omega, 0)
    for x in range(3):
        for z in range(3):
            world_bar[x, z] = (trace if x == z else 0.0) + t[0, x] * omega[0, z]
    for i in range(3):
        _add_cross(r, i, t, 0, A_bar, i)
        _add_cross(t, 0, A, i, r_bar, i)
    for i in range(3):
        for j in range(3):
            S_bar[i, j] += _dot(r_bar, i, V, j)
            for x in range(3):
                V_bar[i, x] += S[i, j] * r_bar[j, x]
                for z in range(3):
                    S_bar[i, j] += A[i, x] * world_bar[x, z] * A[j, z]
                    A_bar[i, x] += S[i, j] * A[j, z] * (world_bar[x, z] + world_bar[z, x])
    return value


@kernel
def _pull_filter(A: Array, y: Array, z: Array, f: float, A_bar: Array) -> float:
    """A_bar −= ∂/∂A of the filter y·P z; returns it for f = 1."""
    total = 0.0
    for i in range(3):
        for j in range(3):
            both = _dot(z, i, A, j) + _dot(z, j, A, i)
            total += _dot(y, i, A, j) * both
            C = _dot(y, i, A, j) + _dot(y, j, A, i)
            for x in range(3):
                A_bar[i, x] -= f * (both * y[j, x] + C * z[j, x])
    return total


@kernel
def _pull(
    bodies: Bodies, weights: Array, axis: Array, active: Indices, h: float, Q: Array,
    motions: tuple[Array, ...], whole: bool, Q_bar: Array, V_bar: Array, sums: BodySums,
) -> None:  # fmt: skip
    """Q_bar, V_bar, sums ← derivatives of active bodies, without the energies of ARAP; V_bar alone unless `whole`."""
    S, A_bar, V_hat_bar, S_bar = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    mass, c = bodies.mass, np.empty(3)
    for b in range(len(Q)):
        if not active[b]:
            continue
        is_ortho, w, L = bodies.model[b] == ORTHO, weights[b], bodies.largest_moment[b]
        k = 4.0 * w if is_ortho else w
        f = 2.0 * k * k / (L + 2.0 * k)
        A, mu1, V, mu2, x = Q[b, 1:], motions[0][b, 1:], motions[1][b, 1:], motions[2][b, 1:], motions[3][b, 1:]
        for i in range(3):
            c[i] = mass[b, 1 + i, 0] / mass[b, 0, 0]
            for j in range(3):
                S[i, j] = mass[b, 1 + i, 1 + j] - mass[b, 1 + i, 0] * mass[b, 0, 1 + j] / mass[b, 0, 0]
        f_bar = _curvature(h, S, A, motions[4][b, 1:], mu2, A_bar, V_hat_bar, S_bar)
        for i in range(3):
            for z in range(3):
                A_bar[i, z] *= f
                V_bar[b, 1 + i, z] = f * V_hat_bar[i, z]
        if not whole:
            continue
        f_bar -= _pull_filter(A, mu1, V, f, A_bar) + _pull_filter(A, mu2, x, f, A_bar)
        shapes = 0.0
        if is_ortho:
            shapes = ortho_product(Q, motions[2], b)
            for i in range(3):
                for j in range(3):
                    both, G = _dot(mu2, i, A, j) + _dot(mu2, j, A, i), _dot(A, i, A, j) - (1.0 if i == j else 0.0)
                    for z in range(3):
                        A_bar[i, z] += 4.0 * w * (both * A[j, z] + G * mu2[j, z])
        by_k = (4.0 if is_ortho else 1.0) * 4.0 * k * (L + k) / (L + 2.0 * k) ** 2
        by_L = -f_bar * 2.0 * k * k / (L + 2.0 * k) ** 2
        sums.stiffness[b] = h * h * (f_bar * by_k + shapes)
        for i in range(3):
            for j in range(3):
                by = f * S_bar[i, j] + by_L * axis[b, i] * axis[b, j]
                Q_bar[b, 1 + i, j] = A_bar[i, j]
                sums.mass[b, 1 + i, 1 + j] += by
                sums.mass[b, 1 + i, 0] -= by * c[j]
                sums.mass[b, 1 + j, 0] -= by * c[i]
                sums.mass[b, 0, 0] += by * c[i] * c[j]
