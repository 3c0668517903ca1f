"""Bodies at a consistent start: derivatives of their part of ℓ (start.py); equations in solver/assembly/start.py.

With B(y)_ij = y_i·a_j of a motion y, rows a_i of A, the filter of a shape is y·P z = f B(y):(B(z) + B(z)ᵀ), f a share
of its weight k. Along the spin ω of V̂, v_i = ω × a_i, its curvature on a row is 2h²f Σ_j (v_i·v_j) a_j.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dovetail.gradient.bodies import BodySums, ortho_product, shape_gradients
from dovetail.gradient.sums import Sums
from dovetail.kernel.kernel import kernel
from dovetail.solver.bodies import ORTHO, Bodies
from dovetail.solver.model import Model
from dovetail.typing import Array, Indices

__all__ = ["StartBodies", "hand_on", "momentum_back"]

_STEP = 1e-6  # of differences of the gradient of ARAP, beside 1


class StartBodies:
    """The bodies of a model."""

    def __init__(self, model: Model) -> None:
        self._bodies, self._weights = model.bodies, model.potential.weights
        self._arap = np.flatnonzero(model.bodies.model != ORTHO)

    @cached_property
    def _axis(self) -> Array:
        """Axes (n, 3) of the largest second moments."""
        mass = self._bodies.mass
        second = mass[:, 1:, 1:] - mass[:, 1:, :1] * mass[:, :1, 1:] / mass[:, :1, :1]
        return np.ascontiguousarray(np.linalg.eigh(second)[1][:, :, -1])

    def pull(
        self, active: Indices, h: float, mu1: Array | None, second: tuple[Array | None, Array],
        solved: tuple[Array, Array], Q: Array, out: tuple[Array, Array], sums: Sums,
    ) -> None:  # fmt: skip
        """`out` += derivatives by Qₙ and the rate of curvatures (n, 4, 3), sums += those by stiffness and mass.

        second are μ₂ and the rate, solved V̂ and x; without μ₁ or μ₂ its system does not count.
        """
        bodies, w, axis, (mu2, rate), (Q_bar, V_bar) = self._bodies, self._weights.w, self._axis, second, out
        for mu, y in zip((mu1, mu2), solved, strict=True):
            if mu is not None:
                _pull_filters(bodies, w, axis, active, h, Q, mu, np.ascontiguousarray(y), Q_bar, sums.bodies)
        if mu2 is not None:
            _pull_curvatures(bodies, w, axis, active, h, Q, mu2, np.ascontiguousarray(rate), Q_bar, V_bar, sums.bodies)
            if len(self._arap):
                self._add_arap(active, h, mu2, Q, Q_bar, sums.bodies)

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
def _room() -> tuple[Array, Array]:
    """Scratch of `_curvature`."""
    return np.empty((9, 3, 3)), np.empty((4, 1, 3))


@kernel
def _curvature(
    h: float, S: Array, A: Array, V: Array, mu: Array, A_bar: Array, V_bar: Array, S_bar: Array,
    scratch: tuple[Array, Array],
) -> float:  # fmt: skip
    """μ₂·curvature for f = 1; A_bar, V_bar, S_bar (3, 3) ← its derivatives by rows of Qₙ and V̂ and second moments."""
    matrices, vectors = scratch
    matrices[:] = 0.0
    vectors[:] = 0.0
    r, world, inertia, v, v_bar, r_bar, world_bar, SA, AW = (
        matrices[0], matrices[1], matrices[2], matrices[3], matrices[4], matrices[5], matrices[6], matrices[7],
        matrices[8],
    )  # fmt: skip
    momentum, omega, turned, t = vectors[0], vectors[1], vectors[2], vectors[3]
    for i in range(3):
        for j in range(3):
            A_bar[i, j] = V_bar[i, j] = S_bar[i, j] = 0.0
            for x in range(3):
                r[i, x] += S[i, j] * V[j, x]
                SA[i, x] += S[i, j] * A[j, x]
    for i in range(3):
        for x in range(3):
            for z in range(3):
                world[x, z] += A[i, x] * SA[i, z]
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
        for x in range(3):
            for z in range(3):
                AW[i, z] += A[i, x] * world_bar[x, z]
                A_bar[i, x] += SA[i, z] * (world_bar[x, z] + world_bar[z, x])
    for i in range(3):
        for j in range(3):
            S_bar[i, j] += _dot(r_bar, i, V, j) + _dot(AW, i, A, j)
            for x in range(3):
                V_bar[i, x] += S[i, j] * r_bar[j, x]
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
def _share(bodies: Bodies, weights: Array, b: int) -> tuple[float, float, float]:
    """f of the filter of a shape, its derivatives by the stiffness over h², and by the largest moment."""
    L = bodies.largest_moment[b]
    times = 4.0 if bodies.model[b] == ORTHO else 1.0
    k = times * weights[b]
    return 2.0 * k * k / (L + 2.0 * k), times * 4.0 * k * (L + k) / (L + 2.0 * k) ** 2, -2.0 * (k / (L + 2.0 * k)) ** 2


@kernel
def _add_second(bodies: Bodies, b: int, i: int, j: int, by: float, mass_bar: Array) -> None:
    """mass_bar += what a derivative `by` the second moment S_ij about the centre is by moments."""
    mass = bodies.mass
    ci, cj = mass[b, 1 + i, 0] / mass[b, 0, 0], mass[b, 1 + j, 0] / mass[b, 0, 0]
    mass_bar[b, 1 + i, 1 + j] += by
    mass_bar[b, 1 + i, 0] -= by * cj
    mass_bar[b, 1 + j, 0] -= by * ci
    mass_bar[b, 0, 0] += by * ci * cj


@kernel
def _pull_filters(
    bodies: Bodies, weights: Array, axis: Array, active: Indices, h: float, Q: Array, mu: Array, y: Array, Q_bar: Array,
    sums: BodySums,
) -> None:  # fmt: skip
    """Q_bar, sums += derivatives of −μ·P y of the shapes of active bodies."""
    A_bar = np.empty((3, 3))
    for b in range(len(Q)):
        if not active[b]:
            continue
        f, by_k, by_L = _share(bodies, weights, b)
        for i in range(3):
            for z in range(3):
                A_bar[i, z] = 0.0
        f_bar = -_pull_filter(Q[b, 1:], mu[b, 1:], y[b, 1:], f, A_bar)
        sums.stiffness[b] += h * h * f_bar * by_k
        for i in range(3):
            for j in range(3):
                Q_bar[b, 1 + i, j] += A_bar[i, j]
                _add_second(bodies, b, i, j, f_bar * by_L * axis[b, i] * axis[b, j], sums.mass)


@kernel
def _pull_curvatures(
    bodies: Bodies, weights: Array, axis: Array, active: Indices, h: float, Q: Array, mu: Array, rate: Array,
    Q_bar: Array, V_bar: Array, sums: BodySums,
) -> None:  # fmt: skip
    """Q_bar, V_bar, sums += derivatives of μ·(curvatures along the rate), and of gradients of shapes but for ARAP."""
    S, A_bar, rate_bar, S_bar, room = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), _room()
    mass = bodies.mass
    for b in range(len(Q)):
        if not active[b]:
            continue
        is_ortho, w, (f, by_k, by_L) = bodies.model[b] == ORTHO, weights[b], _share(bodies, weights, b)
        A, m = Q[b, 1:], mu[b, 1:]
        for i in range(3):
            for j in range(3):
                S[i, j] = mass[b, 1 + i, 1 + j] - mass[b, 1 + i, 0] * mass[b, 0, 1 + j] / mass[b, 0, 0]
        f_bar = _curvature(h, S, A, rate[b, 1:], m, A_bar, rate_bar, S_bar, room)
        shapes = ortho_product(Q, mu, b) if is_ortho else 0.0
        sums.stiffness[b] += h * h * (f_bar * by_k + shapes)
        for i in range(3):
            for j in range(3):
                Q_bar[b, 1 + i, j] += f * A_bar[i, j]
                V_bar[b, 1 + i, j] += f * rate_bar[i, j]
                _add_second(bodies, b, i, j, f * S_bar[i, j] + f_bar * by_L * axis[b, i] * axis[b, j], sums.mass)
                if is_ortho:
                    both, G = _dot(m, i, A, j) + _dot(m, j, A, i), _dot(A, i, A, j) - (1.0 if i == j else 0.0)
                    for z in range(3):
                        Q_bar[b, 1 + i, z] += 4.0 * w * (both * A[j, z] + G * m[j, z])


@kernel
def hand_on(active: Indices, more: Array, V_bar: Array, Vn_bar: Array) -> None:
    """V_bar += more of active bodies; those that do not start have V̂ = Vₙ, and none."""
    for b in range(len(active)):
        for i in range(4):
            for x in range(3):
                if active[b]:
                    V_bar[b, i, x] += more[b, i, x]
                else:
                    Vn_bar[b, i, x] += V_bar[b, i, x]
                    more[b, i, x] = 0.0


@kernel
def momentum_back(
    mass: Array, active: Indices, h: float, known: tuple[Array, Array, Array, Array], adjoints: tuple[Array, Array],
    Vn_bar: Array, a_bar: Array, mass_bar: Array,
) -> None:  # fmt: skip
    """Vn_bar, a_bar, mass_bar += derivatives of μ₁·M(Vₙ − V̂) − μ₂·M(x + h²a); known are Vₙ, V̂, x, a."""
    (V, V_hat, x, a), (mu1, mu2) = known, adjoints
    for b in range(len(active)):
        if not active[b]:
            continue
        for i in range(4):
            for j in range(4):
                M, total = mass[b, i, j], 0.0
                for z in range(3):
                    Vn_bar[b, i, z] += M * mu1[b, j, z]
                    a_bar[b, i, z] -= h * h * M * mu2[b, j, z]
                    total += mu1[b, i, z] * (V[b, j, z] - V_hat[b, j, z])
                    total -= mu2[b, i, z] * (x[b, j, z] + h * h * a[b, j, z])
                mass_bar[b, i, j] += total
