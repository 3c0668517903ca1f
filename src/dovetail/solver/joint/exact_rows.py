"""Rows of exact joints: constraints C(Q) = 0 on the rows of two bodies, each with a multiplier λ (3).

    Coinciding   C = W Q              two points in one place, two directions equal; linear
    Parallel     C = u × v            u = W₀ Q, v = W₁ Q point the same way; C is across both, so it counts for two

J is the derivative of C; for parallel rows J(δu, δv) = δu × v + u × δv at the state they were assembled at, and both C
and J are taken across the v of that state. K [kg]
weighs the rows in the matrix that is factored, see compliance.py; it changes neither motion nor multipliers.

λ [kg·m] has the sign of a penalty's K·C: Jᵀλ is its gradient, and −Jᵀλ/h² on the right body the force on it [N]. Rows
whose bodies do not run (`active`) have zero residuals and keep their multipliers.
"""

from __future__ import annotations

import numpy as np

from dovetail.solver.blocks import Blocks
from dovetail.solver.joint.compliance import Compliance
from dovetail.solver.joint.stencil import Stencils, gather, gather_step, pull_back_gradient, pull_back_hessian
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["Coinciding", "Parallel", "Rows"]


@kernel
def _runs(left: int, right: int, active: Indices) -> bool:
    """Whether one of the two positions is free and active."""
    return (left >= 0 and active[left] != 0) or (right >= 0 and active[right] != 0)


@kernel
def _cross(F: Array, a: int) -> float:
    """Component a of the product of the two vectors in F (6)."""
    i, j = (a + 1) % 3, (a + 2) % 3
    return F[i] * F[3 + j] - F[j] * F[3 + i]


@kernel
def _across(at: Array, k: int, m: int, value: Array) -> None:
    """Take the part along v out of value[k]: of a parallel row it says nothing."""
    if m == 2:
        along = square = 0.0
        for a in range(3):
            along += at[k, 3 + a] * value[k, a]
            square += at[k, 3 + a] * at[k, 3 + a]
        for a in range(3):
            value[k, a] -= along / square * at[k, 3 + a]


@kernel
def _residual(
    left: Indices, right: Indices, W: Array, position: Indices, active: Indices, at: Array, Q: Array, y: Array,
    C: Array,
) -> float:  # fmt: skip
    """C ← C(Q − y), 0 for rows that do not run; returns the largest component."""
    m = W.shape[1]
    F, dF = np.empty(3 * m), np.empty(3 * m)
    largest = 0.0
    for k in range(len(left)):
        row_left, row_right = position[left[k]], position[right[k]]
        runs = _runs(row_left, row_right, active)
        if runs:
            gather(W, k, left[k], right[k], Q, F)
            gather_step(W, k, row_left, row_right, y, dF)
            for i in range(3 * m):
                F[i] -= dF[i]
        for a in range(3):
            C[k, a] = (F[a] if m == 1 else _cross(F, a)) if runs else 0.0
        _across(at, k, m, C)
        for a in range(3):
            if not abs(C[k, a]) <= largest:
                largest = abs(C[k, a])
    return largest


@kernel
def _apply(
    left: Indices, right: Indices, W: Array, position: Indices, active: Indices, at: Array, y: Array, out: Array
) -> None:
    """out ← J y, 0 for rows that do not run; `at` are u, v of parallel rows."""
    m = W.shape[1]
    dF = np.empty(3 * m)
    for k in range(len(left)):
        row_left, row_right = position[left[k]], position[right[k]]
        runs = _runs(row_left, row_right, active)
        if runs:
            gather_step(W, k, row_left, row_right, y, dF)
        for a in range(3):
            value = 0.0
            if runs and m == 1:
                value = dF[a]
            elif runs:
                i, j = (a + 1) % 3, (a + 2) % 3
                value = dF[i] * at[k, 3 + j] - dF[j] * at[k, 3 + i] + at[k, i] * dF[3 + j] - at[k, j] * dF[3 + i]
            out[k, a] = value
        _across(at, k, m, out)


@kernel
def _slope(at: Array, value: Array, g: Array) -> None:
    """g (3m) ← what pulls back to Jᵀ value: the vector itself, or v × value and value × u with u, v in `at` (6)."""
    if len(g) == 3:
        for a in range(3):
            g[a] = value[a]
        return
    for a in range(3):
        i, j = (a + 1) % 3, (a + 2) % 3
        g[a] = at[3 + i] * value[j] - at[3 + j] * value[i]
        g[3 + a] = value[i] * at[j] - value[j] * at[i]


@kernel
def _pull_back(left: Indices, right: Indices, W: Array, position: Indices, at: Array, value: Array, g: Array) -> None:
    """g += Jᵀ value."""
    gF, across = np.empty(3 * W.shape[1]), np.empty((1, 3))
    for k in range(len(left)):
        across[0] = value[k]
        _across(at[k : k + 1], 0, W.shape[1], across)
        _slope(at[k], across[0], gF)
        pull_back_gradient(W, k, position[left[k]], position[right[k]], gF, g)


@kernel
def _merit(left: Indices, right: Indices, W: Array, K: Array, share: float, multiplier: Array, Q: Array,
           owner: Indices, E: Array) -> None:  # fmt: skip
    """E[owner] += λ·C + share·K/2 ‖C‖²."""
    m = W.shape[1]
    F = np.empty(3 * m)
    for k in range(len(left)):
        gather(W, k, left[k], right[k], Q, F)
        total = 0.0
        for a in range(3):
            C = F[a] if m == 1 else _cross(F, a)
            total += (multiplier[k, a] + 0.5 * share * K[k] * C) * C
        E[max(owner[left[k]], owner[right[k]])] += total


@kernel
def _linearise(
    left: Indices, right: Indices, W: Array, position: Indices, active: Indices, Q: Array, at: Array, C: Array
) -> float:
    """at ← W Q, C ← C(Q), 0 for rows that do not run; returns the largest component of C."""
    m = W.shape[1]
    F = np.empty(3 * m)
    largest = 0.0
    for k in range(len(left)):
        gather(W, k, left[k], right[k], Q, F)
        at[k, :] = F
        runs = _runs(position[left[k]], position[right[k]], active)
        for a in range(3):
            C[k, a] = (F[a] if m == 1 else _cross(F, a)) if runs else 0.0
        _across(at, k, m, C)
        for a in range(3):
            if not abs(C[k, a]) <= largest:
                largest = abs(C[k, a])
    return largest


@kernel
def _assemble_parallel(
    left: Indices, right: Indices, W: Array, block: Indices, K: Array, multiplier: Array, exact: bool,
    position: Indices, at: Array, D: Array, U: Array,
) -> None:  # fmt: skip
    """D, U += K JᵀJ, and the curvature λ·∇²C when exact."""
    H, turned, across = np.empty(36), np.empty(3), np.empty((1, 3))
    for k in range(len(left)):
        uu = at[k, 0] ** 2 + at[k, 1] ** 2 + at[k, 2] ** 2
        vv = at[k, 3] ** 2 + at[k, 4] ** 2 + at[k, 5] ** 2
        uv = at[k, 0] * at[k, 3] + at[k, 1] * at[k, 4] + at[k, 2] * at[k, 5]
        for a in range(3):
            turned[a] = _cross(at[k], a)
        for a in range(3):
            for b in range(3):
                same = 1.0 if a == b else 0.0
                H[6 * a + b] = K[k] * (vv * same - at[k, 3 + a] * at[k, 3 + b])
                H[6 * (3 + a) + 3 + b] = K[k] * (uu * same - at[k, a] * at[k, b] - turned[a] * turned[b] / vv)
                mixed = K[k] * (at[k, a] * at[k, 3 + b] - uv * same)
                H[6 * a + 3 + b] = mixed
                H[6 * (3 + b) + a] = mixed
        if exact:
            # λ·(δu × δv) = δu·(δv × λ)
            across[0] = multiplier[k]
            _across(at[k : k + 1], 0, 2, across)
            for a in range(3):
                i, j = (a + 1) % 3, (a + 2) % 3
                H[6 * a + 3 + i] += across[0, j]
                H[6 * a + 3 + j] -= across[0, i]
                H[6 * (3 + i) + a] += across[0, j]
                H[6 * (3 + j) + a] -= across[0, i]
        pull_back_hessian(W, k, position[left[k]], position[right[k]], block[k], H, D, U)


@kernel
def _forces(left: Indices, right: Indices, W: Array, joint: Indices, multiplier: Array, Q: Array, out: Array) -> None:
    m = W.shape[1]
    at, gF = np.empty(3 * m), np.empty(3 * m)
    for k in range(len(right)):
        gather(W, k, left[k], right[k], Q, at)
        _slope(at, multiplier[k], gF)
        for r in range(m):
            for i in range(4):
                for a in range(3):
                    out[joint[k], i, a] -= W[k, r, 4 + i] * gF[3 * r + a]


@kernel
def _bend(left: Indices, right: Indices, W: Array, at: Array, V: Array, scale: float, out: Array) -> None:
    """out ← scale · 2 u̇ × v̇, across v."""
    F = np.empty(6)
    for k in range(len(left)):
        gather(W, k, left[k], right[k], V, F)
        for a in range(3):
            out[k, a] = 2.0 * scale * _cross(F, a)
        _across(at, k, 2, out)


class Rows:
    """Constraints of one kind: stencils W (k, m, 8), K (k,), multipliers λ (k, 3) of the step that is being solved.

    force (k, 3) are the multipliers of the last step that was taken, divided by its h² [N, or N·m for directions].
    """

    def __init__(self, stencils: Stencils, compliance: Compliance) -> None:
        self.stencils, self.compliance = stencils, compliance
        self.K = np.zeros(stencils.count)
        self.multiplier = np.zeros((stencils.count, 3))
        self.force = np.zeros((stencils.count, 3))
        self.residual = np.zeros((stencils.count, 3))
        self.applied = np.zeros((stencils.count, 3))
        self._at = np.zeros((stencils.count, 3 * stencils.W.shape[1]))

    @property
    def count(self) -> int:
        return self.stencils.count

    def pairs(self) -> Indices:
        """Pairs of bodies (m, 2) that their Hessian couples."""
        return self.stencils.pairs

    def linearise(self, Q: Array, blocks: Blocks) -> float:
        """Take J at Q, residual ← C(Q); its largest component."""
        s = self.stencils
        return float(_linearise(s.left, s.right, s.W, blocks.position, blocks.active, Q, self._at, self.residual))

    def measure(self, Q: Array, y: Array, blocks: Blocks) -> float:
        """residual ← C(Q − y); its largest component."""
        s = self.stencils
        return float(_residual(s.left, s.right, s.W, blocks.position, blocks.active, self._at, Q, y, self.residual))

    def apply(self, y: Array, blocks: Blocks) -> None:
        """applied ← J y."""
        s = self.stencils
        _apply(s.left, s.right, s.W, blocks.position, blocks.active, self._at, y, self.applied)

    def pull_back(self, values: Array, blocks: Blocks, g: Array) -> None:
        """g += Jᵀ values."""
        s = self.stencils
        _pull_back(s.left, s.right, s.W, blocks.position, self._at, values, g)

    def add_merit(self, Q: Array, share: float, owner: Indices, E: Array) -> None:
        """E[owner] += λ·C + share·K/2 ‖C‖² at Q."""
        s = self.stencils
        _merit(s.left, s.right, s.W, self.K, share, self.multiplier, Q, owner, E)

    def add_forces(self, Q: Array, out: Array) -> None:
        """out[joint] −= generalised force [N, N·m] of the last step on the right body at Q."""
        s = self.stencils
        _forces(s.left, s.right, s.W, s.joint, self.force, Q, out)

    def add_constant(self, blocks: Blocks) -> None:
        """Find the blocks of the stencils, and add what never changes to the base blocks."""
        self.stencils.locate(blocks)

    def add_hessian(self, exact: bool, blocks: Blocks) -> None:
        """Add K JᵀJ, and λ·∇²C when exact, as far as they change."""

    def bend(self, V: Array, scale: float, out: Array) -> None:
        """out (k, 3) ← scale · (∂J/∂Q V) V, the part of C″ that is not J times the acceleration."""
        out.fill(0.0)


@kernel
def _coinciding_forces(W: Array, joint: Indices, multiplier: Array, out: Array) -> None:
    for k in range(len(joint)):
        for i in range(4):
            for a in range(3):
                out[joint[k], i, a] -= W[k, 0, 4 + i] * multiplier[k, a]


class Coinciding(Rows):
    """C = W Q: K JᵀJ never changes, and no curvature."""

    def add_constant(self, blocks: Blocks) -> None:
        self.stencils.locate(blocks)
        self.stencils.add_gram(self.K, blocks)

    def add_forces(self, Q: Array, out: Array) -> None:
        """The same for J = W, wherever the bodies are."""
        _coinciding_forces(self.stencils.W, self.stencils.joint, self.force, out)


class Parallel(Rows):
    """C = u × v."""

    def bend(self, V: Array, scale: float, out: Array) -> None:
        s = self.stencils
        _bend(s.left, s.right, s.W, self._at, V, scale, out)

    def add_hessian(self, exact: bool, blocks: Blocks) -> None:
        s = self.stencils
        _assemble_parallel(
            s.left, s.right, s.W, s.block, self.K, self.multiplier, exact, blocks.position, self._at,
            blocks.D, blocks.U,
        )  # fmt: skip
