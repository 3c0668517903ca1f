"""Stencils: constant rows on the two bodies of a joint, F = W Q, and the pull-back of derivatives to the bodies.

Stack the states of the left and right body, Q = [Q_i; Q_j] (8×3). A row of W weighs those eight rows: (1, x̄) picks a
material point, (0, v̄) a material direction; gaps and means mix both bodies. For ψ(F) with derivatives g, H in F-space

    gradient += Wᵀ g          Hessian += Wᵀ H W   (blocks of 3)

and −Wᵀg/h² on the right body is the force that the joint exerts on it: reactions come for free.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import Record, f8, i8
from dovetail.solver.blocks import Blocks
from dovetail.solver.linear.ordering import NO_BLOCK, flipped
from dovetail.typing import Array, Indices

__all__ = ["Pairs", "Stencils", "gather", "image", "pull_back_gradient", "pull_back_hessian"]


@kernel
def image(row: Array, first: int, Q: Array, body: int) -> tuple[float, float, float]:
    """Four weights of a row, from `first` on, times the state of a body."""
    w0, w1, w2, w3 = row[first], row[first + 1], row[first + 2], row[first + 3]
    return (
        w0 * Q[body, 0, 0] + w1 * Q[body, 1, 0] + w2 * Q[body, 2, 0] + w3 * Q[body, 3, 0],
        w0 * Q[body, 0, 1] + w1 * Q[body, 1, 1] + w2 * Q[body, 2, 1] + w3 * Q[body, 3, 1],
        w0 * Q[body, 0, 2] + w1 * Q[body, 1, 2] + w2 * Q[body, 2, 2] + w3 * Q[body, 3, 2],
    )


@kernel
def gather(W: Array, k: int, left: int, right: int, Q: Array, F: Array) -> None:
    """F (3m) ← W[k] Q on the bodies left and right."""
    for r in range(W.shape[1]):
        for a in range(3):
            value = 0.0
            for i in range(4):
                value += W[k, r, i] * Q[left, i, a] + W[k, r, 4 + i] * Q[right, i, a]
            F[3 * r + a] = value


@kernel
def pull_back_gradient(W: Array, k: int, left: int, right: int, gF: Array, g: Array) -> None:
    """g[body] += W[k]ᵀ gF for both bodies."""
    for r in range(W.shape[1]):
        for i in range(4):
            for a in range(3):
                g[left, 3 * i + a] += W[k, r, i] * gF[3 * r + a]
                g[right, 3 * i + a] += W[k, r, 4 + i] * gF[3 * r + a]


@kernel
def _pull_back_block(
    W: Array, k: int, first: int, second: int, diagonal: bool, HF: Array, target: Array, block: int
) -> None:
    """target[block] += (W[k] columns from `first`)ᵀ HF (W[k] columns from `second`)."""
    rows = W.shape[1]
    n = 3 * rows
    for r in range(rows):
        for i in range(4):
            wi = W[k, r, first + i]
            if wi == 0.0:
                continue
            for s in range(rows):
                for j in range(i if diagonal else 0, 4):
                    w = wi * W[k, s, second + j]
                    if w == 0.0:
                        continue
                    for a in range(3):
                        for b in range(3):
                            target[block, 3 * i + a, 3 * j + b] += w * HF[n * (3 * r + a) + 3 * s + b]


@kernel
def pull_back_hessian(W: Array, k: int, left: int, right: int, block: int, HF: Array, D: Array, U: Array) -> None:
    """D, U += W[k]ᵀ HF W[k]; `block` is that of the two bodies, see linear/ordering.py."""
    _pull_back_block(W, k, 0, 0, True, HF, D, left)
    _pull_back_block(W, k, 4, 4, True, HF, D, right)
    if block >= 0:
        _pull_back_block(W, k, 0, 4, False, HF, U, block)
    elif block != NO_BLOCK:
        _pull_back_block(W, k, 4, 0, False, HF, U, flipped(block))


class Pairs(Record):
    """What acts between two bodies each: left, right (k,), the joint (k,) that it belongs to, and their block (k,)."""

    left: Indices = i8(1)
    right: Indices = i8(1)
    joint: Indices = i8(1)
    block: Indices = i8(1)

    @property
    def count(self) -> int:
        return len(self.left)

    @property
    def pairs(self) -> Indices:
        """Bodies (k, 2)."""
        return np.stack([self.left, self.right], axis=1)

    def locate(self, blocks: Blocks) -> None:
        """Find the block of every pair, see linear/ordering.py; once per structure."""
        blocks.locate(self.left, self.right, self.block)


class Stencils(Pairs):
    """Rows W (k, m, 8) on pairs of bodies."""

    W: Array = f8(3)

    def __init__(self, left: Indices, right: Indices, W: Array, joint: Indices) -> None:
        left, right, joint = (np.ascontiguousarray(given, np.int64) for given in (left, right, joint))
        block = np.full(len(left), NO_BLOCK)
        super().__init__(left=left, right=right, W=np.ascontiguousarray(W, float), joint=joint, block=block)

    @classmethod
    def none(cls, m: int) -> Stencils:
        """An empty set with m rows each."""
        nobody: Indices = np.zeros(0, np.int64)
        return cls(nobody, nobody, np.zeros((0, m, 8)), nobody)
