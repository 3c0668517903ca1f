"""Batches of joint terms: an energy ψ(F) or a law on a coordinate φ(x(F)), over all joints that have it."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.solver.blocks import Blocks
from dovetail.solver.contribution import Contribution, Start
from dovetail.solver.joint.function import (
    Coordinate,
    EnergyFunction,
    Law,
    call_coordinate,
    call_energy,
    call_law,
    nearest,
)
from dovetail.solver.joint.start import laws_curvature, laws_start, terms_curvature
from dovetail.solver.joint.stencil import Stencils, gather, image, pull_back_gradient, pull_back_hessian
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["Coordinates", "Laws", "Terms"]


@kernel
def _terms_energy(
    psi: Any, left: Indices, right: Indices, W: Array, p: Array, Q: Array, island: Indices, E: Array
) -> None:
    n = 3 * W.shape[1]
    F, g, H = np.empty(n), np.zeros(n), np.zeros(n * n)
    for k in range(len(left)):
        gather(W, k, left[k], right[k], Q, F)
        E[max(island[left[k]], island[right[k]])] += call_energy(psi, F, p, k, 0.0, g, H)


@kernel
def _terms_assemble(
    psi: Any, left: Indices, right: Indices, W: Array, block: Indices, p: Array, exact: float, position: Indices,
    Q: Array, g: Array, D: Array, U: Array,
) -> None:  # fmt: skip
    n = 3 * W.shape[1]
    F, gF, HF = np.empty(n), np.empty(n), np.empty(n * n)
    for k in range(len(left)):
        gather(W, k, left[k], right[k], Q, F)
        gF[:] = 0.0
        HF[:] = 0.0
        call_energy(psi, F, p, k, exact, gF, HF)
        row_left, row_right = position[left[k]], position[right[k]]
        pull_back_gradient(W, k, row_left, row_right, gF, g)
        pull_back_hessian(W, k, row_left, row_right, block[k], HF, D, U)


@kernel
def _terms_forces(
    psi: Any, left: Indices, right: Indices, W: Array, joint: Indices, p: Array, Q: Array, out: Array
) -> None:
    n = 3 * W.shape[1]
    F, gF, HF = np.empty(n), np.empty(n), np.empty(n * n)
    for k in range(len(left)):
        gather(W, k, left[k], right[k], Q, F)
        gF[:] = 0.0
        HF[:] = 0.0
        call_energy(psi, F, p, k, 0.0, gF, HF)
        for r in range(W.shape[1]):
            for i in range(4):
                for a in range(3):
                    out[joint[k], i, a] -= W[k, r, 4 + i] * gF[3 * r + a]


class Terms(Contribution):
    """One energy ψ over many joints; p (k, q) are its parameters."""

    def __init__(self, function: EnergyFunction, stencils: Stencils, p: Array) -> None:
        self.function, self.stencils = function, stencils
        self.p = np.ascontiguousarray(p, float)
        self._psi = function.address

    def pairs(self) -> Indices:
        return self.stencils.pairs

    def add_constant(self, blocks: Blocks) -> None:
        self.stencils.locate(blocks)

    def add_energy(self, Q: Array, island: Indices, E: Array) -> None:
        s = self.stencils
        _terms_energy(self._psi, s.left, s.right, s.W, self.p, Q, island, E)

    def assemble(self, Q: Array, exact: bool, blocks: Blocks) -> None:
        s = self.stencils
        _terms_assemble(
            self._psi, s.left, s.right, s.W, s.block, self.p, float(exact), blocks.position, Q,
            blocks.g, blocks.D, blocks.U,
        )  # fmt: skip

    def add_curvature(self, start: Start, blocks: Blocks) -> None:
        s = self.stencils
        terms_curvature(self._psi, s.left, s.right, s.W, self.p, blocks.position, start.Q, start.V, start.h, blocks.g)

    def add_forces(self, Q: Array, out: Array) -> None:
        """out[joint] −= generalised force on the right body; divide by h² for N and N·m."""
        s = self.stencils
        _terms_forces(self._psi, s.left, s.right, s.W, s.joint, self.p, Q, out)


@kernel
def _gather_sides(W: Array, sides: Indices, k: int, left: int, right: int, Q: Array, F: Array) -> None:
    """F (3m) ← W[k] Q; sides (m, 2) says which body a row weighs at all. Most rows of coordinates have one."""
    for r in range(W.shape[1]):
        x = y = z = 0.0
        if sides[r, 0]:
            x, y, z = image(W[k, r], 0, Q, left)
        if sides[r, 1]:
            u, v, w = image(W[k, r], 4, Q, right)
            x, y, z = x + u, y + v, z + w
        F[3 * r], F[3 * r + 1], F[3 * r + 2] = x, y, z


@kernel
def _follow(
    coordinate: Any, period: float, left: Indices, right: Indices, W: Array, sides: Indices, Q: Array, V: Array,
    x: Array, rate: Array,
) -> None:  # fmt: skip
    """x ← values at Q, nearest to what they were; rate ← ∇x·V."""
    n = 3 * W.shape[1]
    F, dF, dx, d2x = np.empty(n), np.empty(n), np.empty(n), np.zeros(n * n)
    for k in range(len(left)):
        _gather_sides(W, sides, k, left[k], right[k], Q, F)
        _gather_sides(W, sides, k, left[k], right[k], V, dF)
        dx[:] = 0.0
        x[k] = nearest(call_coordinate(coordinate, F, 0.0, dx, d2x), period, x[k])
        rate[k] = 0.0
        for i in range(n):
            rate[k] += dx[i] * dF[i]


@kernel
def _rates(
    coordinate: Any, left: Indices, right: Indices, W: Array, sides: Indices, Q: Array, V: Array, rate: Array
) -> None:
    n = 3 * W.shape[1]
    F, dF, dx, d2x = np.empty(n), np.empty(n), np.empty(n), np.zeros(n * n)
    for k in range(len(left)):
        _gather_sides(W, sides, k, left[k], right[k], Q, F)
        _gather_sides(W, sides, k, left[k], right[k], V, dF)
        dx[:] = 0.0
        call_coordinate(coordinate, F, 0.0, dx, d2x)
        rate[k] = 0.0
        for i in range(n):
            rate[k] += dx[i] * dF[i]


class Coordinates:
    """One coordinate x(F) over many joints, with its committed value and rate.

    value (k,) is continuous: an angle keeps counting beyond ±π. rate (k,) = ∇x·V [m/s or rad/s].
    """

    def __init__(self, function: Coordinate, stencils: Stencils) -> None:
        self.function, self.stencils = function, stencils
        self.address = function.address
        self.value, self.rate = np.zeros(stencils.count), np.zeros(stencils.count)
        halves = stencils.W.reshape(stencils.count, -1, 2, 4)
        self._sides = (halves != 0.0).any(axis=(0, 3)).astype(np.int64)

    def inertia(self, Q: Array, mass: Array, is_fixed: Indices) -> Array:
        """What resists a change of each coordinate at Q (k,) [kg or kg·m²], its two bodies alone; mass (n, 4, 4)."""
        s = self.stencils
        out = np.empty(s.count)
        inverse: Array = np.linalg.inv(mass).astype(float)
        _inertias(self.address, s.left, s.right, s.W, inverse, is_fixed, Q, out)
        return out

    def commit(self, Q: Array, V: Array) -> None:
        """Take over values and rates at the end of a step, or after an external write."""
        s = self.stencils
        _follow(
            self.address, self.function.period, s.left, s.right, s.W, self._sides, Q, V, self.value, self.rate
        )  # fmt: skip

    def rates(self, Q: Array, V: Array) -> Array:
        """∇x·V (k,) [m/s or rad/s]."""
        s, rate = self.stencils, np.empty(self.stencils.count)
        _rates(self.address, s.left, s.right, s.W, self._sides, Q, V, rate)
        return rate


@kernel
def _inertias(
    coordinate: Any, left: Indices, right: Indices, W: Array, mass_inverse: Array, is_fixed: Indices, Q: Array,
    out: Array,
) -> None:  # fmt: skip
    """out (k,) ← 1/(∇x M⁻¹ ∇xᵀ) over the free bodies."""
    n = 3 * W.shape[1]
    F, dx, d2x, G = np.empty(n), np.empty(n), np.zeros(n * n), np.empty((4, 3))
    for k in range(len(left)):
        gather(W, k, left[k], right[k], Q, F)
        dx[:] = 0.0
        call_coordinate(coordinate, F, 0.0, dx, d2x)
        compliance = 0.0
        for first, body in ((0, left[k]), (4, right[k])):
            if is_fixed[body]:
                continue
            for i in range(4):
                for a in range(3):
                    G[i, a] = 0.0
                    for r in range(W.shape[1]):
                        G[i, a] += W[k, r, first + i] * dx[3 * r + a]
            for i in range(4):
                for j in range(4):
                    for a in range(3):
                        compliance += G[i, a] * mass_inverse[body, i, j] * G[j, a]
        out[k] = 1.0 / compliance


@kernel
def _laws_energy(
    coordinate: Any, period: float, law: Any, left: Indices, right: Indices, W: Array, of: Indices, reference: Array,
    p: Array, scale: Array, Q: Array, island: Indices, E: Array,
) -> None:  # fmt: skip
    n = 3 * W.shape[1]
    F, dx, d2x, d = np.empty(n), np.zeros(n), np.zeros(n * n), np.zeros(2)
    for m in range(len(of)):
        k = of[m]
        gather(W, k, left[k], right[k], Q, F)
        x = nearest(call_coordinate(coordinate, F, 0.0, dx, d2x), period, reference[k])
        E[max(island[left[k]], island[right[k]])] += scale[m] * call_law(law, x, p, m, d)


@kernel
def _laws_assemble(
    coordinate: Any, period: float, law: Any, left: Indices, right: Indices, W: Array, block: Indices, of: Indices,
    reference: Array, p: Array, scale: Array, exact: float, position: Indices, Q: Array, g: Array, D: Array, U: Array,
) -> None:  # fmt: skip
    n = 3 * W.shape[1]
    F, dx, H, d = np.empty(n), np.empty(n), np.empty(n * n), np.zeros(2)
    for m in range(len(of)):
        k = of[m]
        gather(W, k, left[k], right[k], Q, F)
        dx[:] = 0.0
        H[:] = 0.0
        x = nearest(call_coordinate(coordinate, F, exact, dx, H), period, reference[k])
        call_law(law, x, p, m, d)
        if d[0] == 0.0 and d[1] == 0.0:
            continue
        d[0] *= scale[m]
        d[1] *= scale[m]
        for i in range(n):
            for j in range(n):
                H[n * i + j] = (d[0] * H[n * i + j] if exact > 0.0 else 0.0) + d[1] * dx[i] * dx[j]
        for i in range(n):
            dx[i] *= d[0]
        row_left, row_right = position[left[k]], position[right[k]]
        pull_back_gradient(W, k, row_left, row_right, dx, g)
        pull_back_hessian(W, k, row_left, row_right, block[k], H, D, U)


@kernel
def _laws_forces(
    coordinate: Any, left: Indices, right: Indices, W: Array, of: Indices, joint: Indices, slope: Array, Q: Array,
    out: Array,
) -> None:  # fmt: skip
    n = 3 * W.shape[1]
    F, dx, d2x = np.empty(n), np.empty(n), np.zeros(n * n)
    for m in range(len(of)):
        k = of[m]
        gather(W, k, left[k], right[k], Q, F)
        dx[:] = 0.0
        call_coordinate(coordinate, F, 0.0, dx, d2x)
        for r in range(W.shape[1]):
            for i in range(4):
                for a in range(3):
                    out[joint[k], i, a] -= slope[m] * W[k, r, 4 + i] * dx[3 * r + a]


@kernel
def _slopes(law: Any, of: Indices, value: Array, p: Array, out: Array) -> None:
    d = np.zeros(2)
    for m in range(len(of)):
        call_law(law, value[of[m]], p, m, d)
        out[m] = d[0]


class Laws(Contribution):
    """A law on some of a batch's coordinates: g = φ′∇x, H = φ″∇x∇xᵀ + φ′∇²x (the last part only when exact).

    of (m,) picks the coordinates, p (m, q) are the law's parameters, past (2, m, q) those of the last step
    and of the one before it. scale (m,) multiplies φ; see rate_laws.py.
    """

    def __init__(self, law: Law, coordinates: Coordinates, of: Indices, p: Array) -> None:
        self.law, self.coordinates = law, coordinates
        self.of = np.ascontiguousarray(of, np.int64)
        self.p = np.ascontiguousarray(p, float)
        self.past = np.stack([self.p, self.p])
        self.scale = np.ones(len(self.of))
        self._filter = np.zeros(len(self.of))  # weights at a consistent start
        self.reference = coordinates.value
        self._phi = law.address

    def pairs(self) -> Indices:
        return self.coordinates.stencils.pairs[self.of]

    def add_constant(self, blocks: Blocks) -> None:
        self.coordinates.stencils.locate(blocks)

    def add_energy(self, Q: Array, island: Indices, E: Array) -> None:
        c, s = self.coordinates, self.coordinates.stencils
        _laws_energy(
            c.address, c.function.period, self._phi, s.left, s.right, s.W, self.of, self.reference, self.p, self.scale,
            Q, island, E,
        )  # fmt: skip

    def assemble(self, Q: Array, exact: bool, blocks: Blocks) -> None:
        c, s = self.coordinates, self.coordinates.stencils
        _laws_assemble(
            c.address, c.function.period, self._phi, s.left, s.right, s.W, s.block, self.of, self.reference, self.p,
            self.scale, float(exact), blocks.position, Q, blocks.g, blocks.D, blocks.U,
        )  # fmt: skip

    def add_start(self, start: Start, blocks: Blocks) -> None:
        c, s = self.coordinates, self.coordinates.stencils
        laws_start(
            c.address, c.function.period, self._phi, s.left, s.right, s.W, s.block, self.of, c.value, self.p,
            self.past, start.mass_inverse, blocks.position, start.Q, start.ratio, blocks.g, blocks.D, blocks.U,
            start.drift, self._filter,
        )  # fmt: skip

    def add_curvature(self, start: Start, blocks: Blocks) -> None:
        c, s = self.coordinates, self.coordinates.stencils
        laws_curvature(
            c.address, s.left, s.right, s.W, self.of, self._filter, blocks.position, start.Q, start.V, start.h, blocks.g
        )

    def slopes(self) -> Array:
        """φ′ at the committed coordinates; −φ′/h² is the effort [N or N·m] that the law exerts along +x."""
        out = np.empty(len(self.of))
        _slopes(self._phi, self.of, self.coordinates.value, self.p, out)
        return out * self.scale

    def add_forces(self, Q: Array, out: Array) -> None:
        """out[joint] −= generalised force on the right body at the committed Q; divide by h² for N and N·m."""
        c, s = self.coordinates, self.coordinates.stencils
        _laws_forces(c.address, s.left, s.right, s.W, self.of, s.joint, self.slopes(), Q, out)
