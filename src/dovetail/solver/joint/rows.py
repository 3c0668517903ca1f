"""Rows of joints: constraints C(Q) on two bodies, three numbers each, held by a stiffness K or exactly.

    points   C = W Q              two points in one place, two directions equal; linear
    slides   C = u × v            u = W₀ Q, v = W₁ Q point the same way; C is across both, so it counts for two

J is the derivative of C: W itself, or J(δu, δv) = δu × v + u × δv. A row adds to the incremental potential, with its
multiplier λ (3) [kg·m, or kg·m² for directions],

    a penalty   E = K/2 ‖C‖²,  K [kg]         gradient Jᵀ(K C),       Hessian K JᵀJ + K C·∇²C
    exact       E = λ·C with C = 0            gradient Jᵀ(λ + K C),   Hessian K JᵀJ + λ·∇²C

the last part of a Hessian only where it may be indefinite. So a penalty is a row whose λ is zero for ever. K of an
exact row weighs it in the matrix that is factored and changes neither motion nor multipliers (exact.py). −Jᵀ(λ + K
C)/h² on the right body is the force that the joint exerts on it.

C and J of exact slides are taken across v at the state they were linearised at: along v they say nothing.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import f8, integer
from dovetail.solver.blocks import Blocks
from dovetail.solver.joint.stencil import (
    Pairs,
    Stencils,
    gather,
    image,
    pull_back_gradient,
    pull_back_hessian,
)
from dovetail.solver.linear.ordering import NO_BLOCK, flipped
from dovetail.typing import Array, Indices

__all__ = [
    "Rows",
    "across",
    "assemble_rows",
    "cross",
    "linearise_rows",
    "point_gap",
    "row_energies",
    "row_merits",
    "set_slope",
    "value_of",
]


class Rows(Pairs):
    """Points (m = 1) or slides (m = 2) of all joints, penalties first.

    W (k, m, 8)            weights of their rows
    K (k,)                 stiffness [kg]
    exact                  number of the first exact row
    multiplier (k, 3)      λ of the step that is being solved; 0 for penalties
    force (k, 3)           λ of the last step that was taken, divided by its h² [N, or N·m for directions]
    at (k, 3m), C (k, 3)   W Q and C as last linearised
    """

    W: Array = f8(3)
    K: Array = f8(1)
    exact: int = integer()
    multiplier: Array = f8(2)
    force: Array = f8(2)
    at: Array = f8(2)
    C: Array = f8(2)

    def __init__(self, penalties: Stencils, K: Array, exact: Stencils) -> None:
        both = (penalties, exact)
        W = np.ascontiguousarray(np.concatenate([s.W for s in both]))
        count, m = W.shape[:2]
        super().__init__(
            left=np.concatenate([s.left for s in both]), right=np.concatenate([s.right for s in both]), W=W,
            K=np.concatenate([np.asarray(K, float), np.zeros(exact.count)]),
            joint=np.concatenate([s.joint for s in both]), block=np.full(count, NO_BLOCK), exact=penalties.count,
            multiplier=np.zeros((count, 3)), force=np.zeros((count, 3)), at=np.zeros((count, 3 * m)),
            C=np.zeros((count, 3)),
        )  # fmt: skip

    def add_constant(self, blocks: Blocks) -> None:
        """Find the blocks of all pairs; K JᵀJ of points never changes, and is added to the base blocks."""
        self.locate(blocks)
        if self.W.shape[1] == 1:
            blocks.add_points(self.left, self.right, self.W[:, 0], self.K)
            blocks.have_base(self.block)
            _add_grams(self, blocks.in_net, blocks.base_D, blocks.base_of, blocks.base_U)


@kernel
def _add_grams(rows: Rows, in_net: Indices, base_D: Array, base_of: Indices, base_U: Array) -> None:
    """base_D, base_U += K WᵀW ⊗ 1 of points that are not in nets."""
    for k in range(len(rows.left)):
        left, right, block = rows.left[k], rows.right[k], rows.block[k]
        for i in range(4):
            for j in range(4):
                for side in range(2):
                    body = right if side else left
                    if not in_net[body]:
                        value = rows.K[k] * rows.W[k, 0, 4 * side + i] * rows.W[k, 0, 4 * side + j]
                        for a in range(3):
                            base_D[body, 3 * i + a, 3 * j + a] += value
                if block >= 0:
                    at = base_of[block]
                    for a in range(3):
                        base_U[at, 3 * i + a, 3 * j + a] += rows.K[k] * rows.W[k, 0, i] * rows.W[k, 0, 4 + j]
                elif block != NO_BLOCK:
                    at = base_of[flipped(block)]
                    for a in range(3):
                        base_U[at, 3 * i + a, 3 * j + a] += rows.K[k] * rows.W[k, 0, 4 + i] * rows.W[k, 0, j]


@kernel
def cross(F: Array, a: int) -> float:
    """Component a of the product of the two vectors in F (6)."""
    i, j = (a + 1) % 3, (a + 2) % 3
    return F[i] * F[3 + j] - F[j] * F[3 + i]


@kernel
def value_of(F: Array, a: int) -> float:
    """Component a of C for W Q = F."""
    return F[a] if len(F) == 3 else cross(F, a)


@kernel
def across(at: Array, k: int, value: Array, row: int) -> None:
    """Take the part along v out of value[row]: of an exact slide it says nothing."""
    if at.shape[1] == 6:
        along = square = 0.0
        for a in range(3):
            along += at[k, 3 + a] * value[row, a]
            square += at[k, 3 + a] * at[k, 3 + a]
        for a in range(3):
            value[row, a] -= along / square * at[k, 3 + a]


@kernel
def set_slope(at: Array, value: Array, g: Array) -> None:
    """g (3m) ← what pulls back to Jᵀ value: the vector itself, or v × value and value × u with u, v in `at`."""
    if len(g) == 3:
        for a in range(3):
            g[a] = value[a]
        return
    for a in range(3):
        i, j = (a + 1) % 3, (a + 2) % 3
        g[a] = at[3 + i] * value[j] - at[3 + j] * value[i]
        g[3 + a] = value[i] * at[j] - value[j] * at[i]


@kernel
def point_gap(W: Array, k: int, left: int, right: int, Q: Array) -> tuple[float, float, float]:
    """C of point k at Q, in registers."""
    x, y, z = image(W[k, 0], 0, Q, left)
    u, v, w = image(W[k, 0], 4, Q, right)
    return x + u, y + v, z + w


# ---- energies ----------------------------------------------------------------------------------------------


@kernel
def row_energies(rows: Rows, Q: Array, owner: Indices, E: Array) -> None:
    """E[owner] += K/2 ‖C‖² of penalties; what belongs to a pair goes to the larger owner of the two."""
    F = np.empty(3 * rows.W.shape[1])
    left, right, W, K = rows.left, rows.right, rows.W, rows.K
    for k in range(rows.exact):
        if len(F) == 3:
            x, y, z = point_gap(W, k, left[k], right[k], Q)
            total = x * x + y * y + z * z
        else:
            gather(W, k, left[k], right[k], Q, F)
            total = 0.0
            for a in range(3):
                C = value_of(F, a)
                total += C * C
        at = max(owner[left[k]], owner[right[k]])
        if at >= 0:
            E[at] += 0.5 * K[k] * total


@kernel
def row_merits(rows: Rows, share: float, Q: Array, owner: Indices, E: Array) -> None:
    """E[owner] += λ·C + share·K/2 ‖C‖² of exact rows."""
    F = np.empty(3 * rows.W.shape[1])
    left, right, W = rows.left, rows.right, rows.W
    for k in range(rows.exact, len(left)):
        gather(W, k, left[k], right[k], Q, F)
        total = 0.0
        for a in range(3):
            C = value_of(F, a)
            total += (rows.multiplier[k, a] + 0.5 * share * rows.K[k] * C) * C
        at = max(owner[left[k]], owner[right[k]])
        if at >= 0:
            E[at] += total


# ---- derivatives -------------------------------------------------------------------------------------------


@kernel
def linearise_rows(rows: Rows, active: Indices, Q: Array) -> float:
    """at ← W Q, C ← C(Q), 0 for exact rows whose bodies do not move; the largest component of exact ones."""
    F = np.empty(3 * rows.W.shape[1])
    left, right, W, at, C, exact = rows.left, rows.right, rows.W, rows.at, rows.C, rows.exact
    largest = 0.0
    for k in range(len(left)):
        gather(W, k, left[k], right[k], Q, F)
        for i in range(len(F)):
            at[k, i] = F[i]
        moves = k < exact or active[left[k]] or active[right[k]]
        for a in range(3):
            C[k, a] = value_of(F, a) if moves else 0.0
        if k >= exact:
            across(at, k, C, k)
            for a in range(3):
                if not abs(C[k, a]) <= largest:
                    largest = abs(C[k, a])
    return largest


@kernel
def assemble_rows(rows: Rows, exact: bool, closed: bool, g: Array, D: Array, U: Array) -> None:
    """g += Jᵀ(λ + K C) as linearised; D, U += the Hessian of slides, the indefinite part of it if `exact`.

    `closed` takes exact rows as closed, and without multipliers.
    """
    m = rows.W.shape[1]
    left, right, W, at, C, K = rows.left, rows.right, rows.W, rows.at, rows.C, rows.K
    pull, gF, H = np.empty((1, 3)), np.empty(3 * m), np.empty(36)
    for k in range(rows.exact if closed and m == 1 else len(left)):
        for a in range(3):
            pull[0, a] = 0.0 if closed and k >= rows.exact else rows.multiplier[k, a] + K[k] * C[k, a]
        if k >= rows.exact:
            across(at, k, pull, 0)
        set_slope(at[k], pull[0], gF)
        pull_back_gradient(W, k, left[k], right[k], gF, g)
        if m == 2:
            _slide_hessian(rows, k, exact, pull, H)
            pull_back_hessian(W, k, left[k], right[k], rows.block[k], H, D, U)


@kernel
def _slide_hessian(rows: Rows, k: int, exact: bool, pull: Array, H: Array) -> None:
    """H (6·6) ← K JᵀJ of slide k, and λ·∇²C or K C·∇²C if `exact`; pull (1, 3) is scratch."""
    at, K, held = rows.at, rows.K[k], k >= rows.exact
    uu = at[k, 0] ** 2 + at[k, 1] ** 2 + at[k, 2] ** 2
    vv = at[k, 3] ** 2 + at[k, 4] ** 2 + at[k, 5] ** 2
    uv = at[k, 0] * at[k, 3] + at[k, 1] * at[k, 4] + at[k, 2] * at[k, 5]
    for a in range(3):
        for b in range(3):
            same = 1.0 if a == b else 0.0
            H[6 * a + b] = K * (vv * same - at[k, 3 + a] * at[k, 3 + b])
            H[6 * (3 + a) + 3 + b] = K * (uu * same - at[k, a] * at[k, b])
            if held:
                H[6 * (3 + a) + 3 + b] -= K * cross(at[k], a) * cross(at[k], b) / vv
            mixed = K * (at[k, a] * at[k, 3 + b] - uv * same)
            H[6 * a + 3 + b] = mixed
            H[6 * (3 + b) + a] = mixed
    if exact:
        # c·(δu × δv) = δu·(δv × c)
        for a in range(3):
            pull[0, a] = rows.multiplier[k, a] if held else K * rows.C[k, a]
        if held:
            across(at, k, pull, 0)
        for a in range(3):
            i, j = (a + 1) % 3, (a + 2) % 3
            H[6 * a + 3 + i] += pull[0, j]
            H[6 * a + 3 + j] -= pull[0, i]
            H[6 * (3 + i) + a] += pull[0, j]
            H[6 * (3 + j) + a] -= pull[0, i]
