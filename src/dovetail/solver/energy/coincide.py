"""coincide: two material points (or directions) that should be the same in the world.

    F = W Q (one row: image on the left body minus image on the right):   ψ = K/2 ‖F‖²

Spherical, revolute and fixed joints are made of nothing else, and prismatic joints hold their frame with it. The
Hessian K WᵀW ⊗ I₃ never changes, so it is added once per scene.
"""

from __future__ import annotations

import numpy as np

from dovetail.solver.blocks import Blocks
from dovetail.solver.contribution import Contribution
from dovetail.solver.joint.stencil import Stencils, image
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["Coincide"]


@kernel
def _energy(left: Indices, right: Indices, W: Array, K: Array, Q: Array, island: Indices, E: Array) -> None:
    for k in range(len(left)):
        total = 0.0
        for a in range(3):
            F = 0.0
            for i in range(4):
                F += W[k, 0, i] * Q[left[k], i, a] + W[k, 0, 4 + i] * Q[right[k], i, a]
            total += 0.5 * K[k] * F * F
        E[max(island[left[k]], island[right[k]])] += total


@kernel
def _gradient(left: Indices, right: Indices, W: Array, K: Array, position: Indices, Q: Array, g: Array) -> None:
    for k in range(len(left)):
        row_left, row_right = position[left[k]], position[right[k]]
        for a in range(3):
            F = 0.0
            for i in range(4):
                F += W[k, 0, i] * Q[left[k], i, a] + W[k, 0, 4 + i] * Q[right[k], i, a]
            F *= K[k]
            for i in range(4):
                if row_left >= 0:
                    g[row_left, 3 * i + a] += W[k, 0, i] * F
                if row_right >= 0:
                    g[row_right, 3 * i + a] += W[k, 0, 4 + i] * F


@kernel
def _forces(left: Indices, right: Indices, W: Array, joint: Indices, K: Array, Q: Array, out: Array) -> None:
    for k in range(len(left)):
        x, y, z = image(W[k, 0], 0, Q, left[k])
        u, v, w = image(W[k, 0], 4, Q, right[k])
        x, y, z = K[k] * (x + u), K[k] * (y + v), K[k] * (z + w)
        for i in range(4):
            out[joint[k], i, 0] -= W[k, 0, 4 + i] * x
            out[joint[k], i, 1] -= W[k, 0, 4 + i] * y
            out[joint[k], i, 2] -= W[k, 0, 4 + i] * z


class Coincide(Contribution):
    """All coincide rows of a scene; K (k,) [kg]."""

    def __init__(self, stencils: Stencils, K: Array) -> None:
        self.stencils = stencils
        self.K = np.ascontiguousarray(K, float)

    def pairs(self) -> Indices:
        return self.stencils.pairs

    @property
    def points(self) -> int:
        return self.stencils.count

    def add_constant(self, blocks: Blocks) -> None:
        self.stencils.locate(blocks)
        self.stencils.add_gram(self.K, blocks)

    def add_energy(self, Q: Array, island: Indices, E: Array) -> None:
        s = self.stencils
        _energy(s.left, s.right, s.W, self.K, Q, island, E)

    def assemble(self, Q: Array, exact: bool, blocks: Blocks) -> None:
        s = self.stencils
        _gradient(s.left, s.right, s.W, self.K, blocks.position, Q, blocks.g)

    def add_forces(self, Q: Array, out: Array) -> None:
        """out[joint] −= generalised force [kg·m, kg·m²] on the right body; divide by h² for N and N·m."""
        s = self.stencils
        _forces(s.left, s.right, s.W, s.joint, self.K, Q, out)
