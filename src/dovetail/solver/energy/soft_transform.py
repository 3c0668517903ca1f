"""SoftTransformConstraint (UID 16): a body drawn towards a target transform.

    E = ½ tr((Q − T)ᵀ B (Q − T)),   B = η_p M_cm + η_a (M̂ − M_cm),   M_cm = m (1,c)(1,c)ᵀ

M_cm moves the centre of mass c, the rest turns and stretches the body about it; η_p and η_a say how many times
heavier than inertia the pull is. Quadratic: constant Hessian B ⊗ I₃. No h², like all joint energies.
"""

from __future__ import annotations

import numpy as np

from dovetail.solver.blocks import Blocks
from dovetail.solver.contribution import Contribution
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["SoftTransforms"]


@kernel
def _energy(body: Indices, B: Array, target: Array, Q: Array, island: Indices, E: Array) -> None:
    for k in range(len(body)):
        total = 0.0
        for i in range(4):
            for j in range(4):
                for x in range(3):
                    left = Q[body[k], i, x] - target[k, i, x]
                    total += 0.5 * B[k, i, j] * left * (Q[body[k], j, x] - target[k, j, x])
        E[island[body[k]]] += total


@kernel
def _assemble(body: Indices, B: Array, target: Array, position: Indices, Q: Array, g: Array, D: Array) -> None:
    for k in range(len(body)):
        row = position[body[k]]
        for i in range(4):
            for j in range(4):
                for x in range(3):
                    g[row, 3 * i + x] += B[k, i, j] * (Q[body[k], j, x] - target[k, j, x])
                    D[row, 3 * i + x, 3 * j + x] += B[k, i, j]


class SoftTransforms(Contribution):
    """The bodies that are drawn to a target in this step.

    `ratio` < 1 moves the target only part of the way from the state at the start of the step: with animator
    substeps the first Newton iterations see it arrive gradually.
    """

    def __init__(self, mass: Array) -> None:
        self._mass = mass
        self.set(np.zeros(0, np.int64), np.zeros((0, 2)), np.zeros((0, 4, 3)))

    def set(self, body: Indices, strength: Array, target: Array) -> None:
        """Bodies (k,), their (η_p, η_a) (k, 2) and targets (k, 4, 3)."""
        moments = self._mass[body]
        first = moments[:, 0, :]
        centre = first[:, :, None] * first[:, None, :] / moments[:, :1, :1]
        self._body = np.ascontiguousarray(body, np.int64)
        self._B = strength[:, :1, None] * centre + strength[:, 1:, None] * (moments - centre)
        self._aim = np.ascontiguousarray(target, float)
        self._target = self._aim

    @property
    def count(self) -> int:
        return len(self._body)

    def approach(self, Q_start: Array, ratio: float) -> None:
        """Aim at Q_start + ratio (aim − Q_start)."""
        start = Q_start[self._body]
        self._target = self._aim if ratio >= 1.0 else start + ratio * (self._aim - start)

    def add_energy(self, Q: Array, island: Indices, E: Array) -> None:
        if self.count:
            _energy(self._body, self._B, self._target, Q, island, E)

    def assemble(self, Q: Array, exact: bool, blocks: Blocks) -> None:
        if self.count:
            _assemble(self._body, self._B, self._target, blocks.position, Q, blocks.g, blocks.D)
