"""Terms: energies ψ(F) of joints that are neither rows nor laws, as users may write them; F = W Q."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.blocks import Blocks
from dovetail.solver.contribution import Contribution, Start
from dovetail.solver.joint.function import EnergyFunction, call_energy
from dovetail.solver.joint.stencil import Stencils, gather, pull_back_gradient, pull_back_hessian
from dovetail.typing import Array, Indices

__all__ = ["Terms"]

_LITTLE = 1e-9  # shift of a singular Hessian, relative: its square root is what round-off leaves of it


@kernel
def _terms_energy(psi: Any, s: Stencils, p: Array, Q: Array, owner: Indices, E: Array) -> None:
    n = 3 * s.W.shape[1]
    F, g, H = np.empty(n), np.zeros(n), np.zeros(n * n)
    for k in range(len(s.left)):
        gather(s.W, k, s.left[k], s.right[k], Q, F)
        at = max(owner[s.left[k]], owner[s.right[k]])
        if at >= 0:
            E[at] += call_energy(psi, F, p, k, 0.0, g, H)


@kernel
def _terms_assemble(psi: Any, s: Stencils, p: Array, exact: float, Q: Array, g: Array, D: Array, U: Array) -> None:
    n = 3 * s.W.shape[1]
    F, gF, HF = np.empty(n), np.empty(n), np.empty(n * n)
    for k in range(len(s.left)):
        left, right = s.left[k], s.right[k]
        gather(s.W, k, left, right, Q, F)
        gF[:] = 0.0
        HF[:] = 0.0
        call_energy(psi, F, p, k, exact, gF, HF)
        pull_back_gradient(s.W, k, left, right, gF, g)
        pull_back_hessian(s.W, k, left, right, s.block[k], HF, D, U)


@kernel
def _terms_forces(psi: Any, s: Stencils, p: Array, Q: Array, out: Array) -> None:
    n = 3 * s.W.shape[1]
    F, gF, HF = np.empty(n), np.empty(n), np.empty(n * n)
    for k in range(len(s.left)):
        gather(s.W, k, s.left[k], s.right[k], Q, F)
        gF[:] = 0.0
        HF[:] = 0.0
        call_energy(psi, F, p, k, 0.0, gF, HF)
        for r in range(s.W.shape[1]):
            for i in range(4):
                for a in range(3):
                    out[s.joint[k], i, a] -= s.W[k, r, 4 + i] * gF[3 * r + a]


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
def _terms_curvature(psi: Any, s: Stencils, p: Array, start: Start, g: Array) -> None:
    """g += ∇ψ(F + hḞ) + ∇ψ(F − hḞ) − 2∇ψ(F), which is h²∇³ψ[Ḟ, Ḟ] but for O(h⁴).

    A filtered rate still has a little of what the term resists, which its stiffness would blow up: that is left out.
    """
    n = 3 * s.W.shape[1]
    F, dF, gF, total, H = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n * n)
    for k in range(len(s.left)):
        left, right = s.left[k], s.right[k]
        gather(s.W, k, left, right, start.Q, F)
        gather(s.W, k, left, right, start.V, dF)
        gF[:] = 0.0
        H[:] = 0.0
        call_energy(psi, F, p, k, 0.0, gF, H)
        for i in range(n):
            total[i] = -2.0 * gF[i]
        _keep_unresisted(n, H, gF, dF)
        for move in (1.0, -2.0):
            for i in range(n):
                F[i] += move * start.h * dF[i]
            gF[:] = 0.0
            H[:] = 0.0
            call_energy(psi, F, p, k, 0.0, gF, H)
            for i in range(n):
                total[i] += gF[i]
        pull_back_gradient(s.W, k, left, right, total, g)


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

    def add_energy(self, Q: Array, owner: Indices, E: Array) -> None:
        _terms_energy(self._psi, self.stencils, self.p, Q, owner, E)

    def assemble(self, Q: Array, exact: bool, blocks: Blocks) -> None:
        _terms_assemble(self._psi, self.stencils, self.p, float(exact), Q, blocks.g, blocks.D, blocks.U)

    def add_curvature(self, start: Start, blocks: Blocks) -> None:
        _terms_curvature(self._psi, self.stencils, self.p, start, blocks.g)

    def add_forces(self, Q: Array, out: Array) -> None:
        """out[joint] −= generalised force on the right body; divide by h² for N and N·m."""
        _terms_forces(self._psi, self.stencils, self.p, Q, out)
