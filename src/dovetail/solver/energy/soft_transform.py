"""SoftTransformConstraint (UID 16): a body drawn towards a target transform.

    E = ½ tr((Q − T)ᵀ B (Q − T)),   B = η_p M_cm + η_a (M̂ − M_cm),   M_cm = m (1,c)(1,c)ᵀ

M_cm moves the centre of mass c, the rest turns and stretches the body about it; η_p and η_a say how many times
heavier than inertia the pull is. Quadratic: constant Hessian B ⊗ I₃. No h², like all joint energies.

At a consistent start (consistent.py) η = ω²h² says how stiff the pull is: B enters with the shares η/(1 + η), and the
same share of the target's motion counts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.blocks import Blocks
from dovetail.solver.contribution import Contribution, Start, motion
from dovetail.typing import Array, Indices

__all__ = ["SoftTransforms"]


@kernel
def _energy(body: Indices, B: Array, target: Array, Q: Array, owner: Indices, E: Array) -> None:
    for k in range(len(body)):
        total = 0.0
        for i in range(4):
            for j in range(4):
                for x in range(3):
                    left = Q[body[k], i, x] - target[k, i, x]
                    total += 0.5 * B[k, i, j] * left * (Q[body[k], j, x] - target[k, j, x])
        E[owner[body[k]]] += total


@kernel
def _assemble(body: Indices, B: Array, target: Array, Q: Array, g: Array, D: Array) -> None:
    for k in range(len(body)):
        row = body[k]
        for i in range(4):
            for j in range(4):
                for x in range(3):
                    g[row, 3 * i + x] += B[k, i, j] * (Q[body[k], j, x] - target[k, j, x])
                    D[row, 3 * i + x, 3 * j + x] += B[k, i, j]


@kernel
def _start(
    body: Indices, B: Array, B_stiff: Array, target: Array, past: Array, start: Start, g: Array, D: Array
) -> None:
    for k in range(len(body)):
        row = body[k]
        for i in range(4):
            for j in range(4):
                for x in range(3):
                    last = past[0, k, j, x]
                    velocity, acceleration = motion(start.ratio, last - target[k, j, x], past[1, k, j, x] - last)
                    g[row, 3 * i + x] += B[k, i, j] * (start.Q[row, j, x] - last) + B_stiff[k, i, j] * acceleration
                    start.drift[row, 3 * i + x] += B_stiff[k, i, j] * velocity
                    D[row, 3 * i + x, 3 * j + x] += B_stiff[k, i, j]


class SoftTransforms(Contribution):
    """The bodies (k,) that are drawn to a target in this step: where to, `aim` (k, 4, 3), by `weights` B (k, 4, 4).

    `ratio` < 1 moves the target only part of the way from the state at the start of the step: with animator
    substeps the first Newton iterations see it arrive gradually. past (2, n, 4, 3) are the targets of the last step and
    of the one before it, NaN for bodies that had none.
    """

    def __init__(self, mass: Array) -> None:
        self._mass = mass
        self.past = np.full((2, len(mass), 4, 3), np.nan)
        self._empty = True  # no target in the past
        self.set(np.zeros(0, np.int64), np.zeros((0, 2)), np.zeros((0, 4, 3)))

    def set(self, body: Indices, strength: Array, target: Array) -> None:
        """Bodies (k,), their (η_p, η_a) (k, 2) and targets (k, 4, 3)."""
        self.bodies = np.ascontiguousarray(body, np.int64)
        self.weights = self._weigh(strength)
        self._stiff = self._weigh(strength * strength / (1.0 + strength))
        self.aim = np.ascontiguousarray(target, float)
        self._target = self.aim

    def _weigh(self, strength: Array) -> Array:
        """η_p M_cm + η_a (M̂ − M_cm) of every body drawn."""
        moments = self._mass[self.bodies]
        first = moments[:, 0, :]
        centre = first[:, :, None] * first[:, None, :] / moments[:, :1, :1]
        weighed: Array = strength[:, :1, None] * centre + strength[:, 1:, None] * (moments - centre)
        return weighed

    @property
    def count(self) -> int:
        return len(self.bodies)

    def pull(self, x: Array) -> Array:
        """B x (k, 4, 3) of the bodies drawn."""
        return np.asarray(self.weights @ x)

    def approach(self, Q_start: Array, ratio: float) -> None:
        """Aim at Q_start + ratio (aim − Q_start)."""
        start = Q_start[self.bodies]
        self._target = self.aim if ratio >= 1.0 else start + ratio * (self.aim - start)

    def commit(self) -> None:
        """The targets become those of the last step."""
        if self.count == 0 and self._empty:
            return
        self.past[1] = self.past[0]
        self.past[0] = np.nan
        self.past[0, self.bodies] = self.aim
        self._empty = bool(np.isnan(self.past).all())

    def keep(self) -> Callable[[], None]:
        """A function that goes back to the present targets."""
        kept, past = {**vars(self)}, None if self._empty else self.past.copy()

        def undo() -> None:
            vars(self).update(kept)
            self.past[:] = np.nan if past is None else past

        return undo

    def restore(self, past: Array) -> None:
        """Take over the targets of the last steps from a dump."""
        self.past[:] = past
        self._empty = bool(np.isnan(past).all())

    def add_energy(self, Q: Array, owner: Indices, E: Array) -> None:
        if self.count:
            _energy(self.bodies, self.weights, self._target, Q, owner, E)

    def assemble(self, Q: Array, exact: bool, blocks: Blocks) -> None:
        if self.count:
            _assemble(self.bodies, self.weights, self._target, Q, blocks.g, blocks.D)

    def add_start(self, start: Start, blocks: Blocks) -> None:
        if self.count:
            last, earlier = self.past[:, self.bodies]
            # a body that had no target was where it is, at rest
            last = np.where(np.isnan(last), start.Q[self.bodies], last)
            past = np.stack([last, np.where(np.isnan(earlier), last, earlier)])
            _start(self.bodies, self.weights, self._stiff, self.aim, past, start, blocks.g, blocks.D)
