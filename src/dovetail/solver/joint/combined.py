"""Combined rows: exact constraints on coordinates of joints, each a weighted sum that is held at a value.

    C = Σ w_e x_e(Q) − c

One coordinate is what a joint holds beside its rows: the right angle of a universal joint, the thread of a screw. Two
are a gear. C is the first component of a row of three, as the other exact rows have them; the others are zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.solver.blocks import Blocks
from dovetail.solver.joint.articulation import Articulations, Members, couple, curve
from dovetail.solver.joint.compliance import Compliance
from dovetail.solver.joint.exact_rows import Rows
from dovetail.solver.joint.function import call_coordinate
from dovetail.solver.joint.stencil import Stencils, gather
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["Combined"]


@kernel
def _sum(start: Indices, weight: Array, x: Array, target: Array, runs: Indices, C: Array) -> float:
    """C[:, 0] ← Σ w x − c, 0 for rows that do not run; the largest."""
    largest = 0.0
    for k in range(len(start) - 1):
        value = -target[k]
        for e in range(start[k], start[k + 1]):
            value += weight[e] * x[e]
        C[k, 0] = value if runs[k] else 0.0
        if not abs(C[k, 0]) <= largest:
            largest = abs(C[k, 0])
    return largest


@kernel
def _who_runs(start: Indices, body: Indices, position: Indices, active: Indices, runs: Indices) -> None:
    """runs (k,) ← 1 for rows of which a body is free and active."""
    for k in range(len(start) - 1):
        runs[k] = 0
        for e in range(start[k], start[k + 1]):
            for s in range(2):
                row = position[body[e, s]]
                if row >= 0 and active[row]:
                    runs[k] = 1


@kernel
def _apply(
    start: Indices, body: Indices, weight: Array, J: Array, position: Indices, runs: Indices, y: Array, out: Array
) -> None:
    """out[:, 0] ← J y."""
    for k in range(len(start) - 1):
        value = 0.0
        for e in range(start[k], start[k + 1]):
            for s in range(2):
                row = position[body[e, s]]
                if row >= 0:
                    for i in range(12):
                        value += weight[e] * J[e, s, i] * y[row, i]
        out[k, 0] = value if runs[k] else 0.0


@kernel
def _pull_back(
    start: Indices, body: Indices, weight: Array, J: Array, position: Indices, value: Array, g: Array
) -> None:
    """g += Jᵀ value."""
    for k in range(len(start) - 1):
        for e in range(start[k], start[k + 1]):
            for s in range(2):
                row = position[body[e, s]]
                if row >= 0:
                    for i in range(12):
                        g[row, i] += value[k, 0] * weight[e] * J[e, s, i]


@kernel
def _merit(
    start: Indices, body: Indices, K: Array, share: float, multiplier: Array, C: Array, owner: Indices, E: Array
) -> None:
    """E[owner] += λC + share·K/2 C²."""
    for k in range(len(start) - 1):
        at = -1
        for e in range(start[k], start[k + 1]):
            at = max(at, owner[body[e, 0]], owner[body[e, 1]])
        E[at] += (multiplier[k, 0] + 0.5 * share * K[k] * C[k, 0]) * C[k, 0]


@kernel
def _second_rates(
    coordinate: Any, left: Indices, right: Indices, W: Array, of: Indices, into: Indices, Q: Array, V: Array,
    out: Array,
) -> None:  # fmt: skip
    """out[into] ← Vᵀ ∇²x V."""
    n = 3 * W.shape[1]
    F, dF, dx, d2x = np.empty(n), np.empty(n), np.empty(n), np.empty(n * n)
    for m in range(len(of)):
        k = of[m]
        gather(W, k, left[k], right[k], Q, F)
        gather(W, k, left[k], right[k], V, dF)
        dx[:] = 0.0
        d2x[:] = 0.0
        call_coordinate(coordinate, F, 1.0, dx, d2x)
        total = 0.0
        for i in range(n):
            for j in range(n):
                total += dF[i] * d2x[n * i + j] * dF[j]
        out[into[m]] = total


def _ends(members: list[Members], start: Indices, joint: Indices) -> Stencils:
    """The left and right bodies of the first coordinate of every row, which stand for all of them."""
    body = Articulations(members, start).body
    count = len(start) - 1
    return Stencils(body[start[:-1], 0], body[start[:-1], 1], np.zeros((count, 1, 8)), joint)


class Combined(Rows):
    """Rows of which row k has the entries start[k] … start[k + 1] − 1 of the members.

    weight (n,) are those of the entries, target (k,) is c; both may change from step to step. joint (k,) is the joint
    whose reaction a row is part of, −1 if it belongs to none.
    """

    def __init__(
        self, members: list[Members], start: Indices, weight: Array, target: Array, joint: Indices,
        compliance: Compliance,
    ) -> None:  # fmt: skip
        super().__init__(_ends(members, start, joint), compliance)
        self._parts = Articulations(members, start)
        self.weight, self.target = np.ascontiguousarray(weight, float), np.ascontiguousarray(target, float)
        self._runs = np.zeros(self.count, np.int64)
        self._at_Q, self._J = np.zeros((0, 4, 3)), np.zeros_like(self._parts.J)
        self._rates = np.zeros(self._parts.count)
        sizes = np.diff(self._parts.start)
        self._row = np.repeat(np.arange(self.count), sizes)  # of each entry
        squares = [np.indices((n, n)).reshape(2, -1) + at for n, at in zip(sizes, self._parts.start, strict=False)]
        self._products: Indices = np.concatenate(squares, axis=1)  # entries that each number of M couples

    def pairs(self) -> Indices:
        return self._parts.pairs()

    def _values(self, Q: Array) -> Array:
        """Coordinates at Q on the branch of the committed ones; their gradients are in `_parts.J`."""
        for part in self._parts.members:
            self._parts.previous[part.into] = part.coordinates.value[part.of]
        return self._parts.values(Q, self._parts.previous)

    def linearise(self, Q: Array, blocks: Blocks) -> float:
        parts = self._parts
        _who_runs(parts.start, parts.body, blocks.position, blocks.active, self._runs)
        x = self._values(Q)
        self._J[:] = parts.J
        self._at_Q = Q
        return float(_sum(parts.start, self.weight, x, self.target, self._runs, self.residual))

    def measure(self, Q: Array, y: Array, blocks: Blocks) -> float:
        moved = Q.copy()
        free = np.flatnonzero(blocks.position >= 0)
        moved[free] -= y[blocks.position[free]].reshape(-1, 4, 3)
        _who_runs(self._parts.start, self._parts.body, blocks.position, blocks.active, self._runs)
        x = self._values(moved)
        return float(_sum(self._parts.start, self.weight, x, self.target, self._runs, self.residual))

    def apply(self, y: Array, blocks: Blocks) -> None:
        parts = self._parts
        _apply(parts.start, parts.body, self.weight, self._J, blocks.position, self._runs, y, self.applied)

    def pull_back(self, values: Array, blocks: Blocks, g: Array) -> None:
        parts = self._parts
        _pull_back(parts.start, parts.body, self.weight, self._J, blocks.position, values, g)

    def add_merit(self, Q: Array, share: float, owner: Indices, E: Array) -> None:
        parts, C = self._parts, np.zeros((self.count, 1))
        _sum(parts.start, self.weight, self._values(Q), self.target, np.ones(self.count, np.int64), C)
        _merit(parts.start, parts.body, self.K, share, self.multiplier, C, owner, E)

    def add_forces(self, Q: Array, out: Array) -> None:
        self._values(Q)
        joint = self.stencils.joint[self._row]
        mine = np.flatnonzero(joint >= 0)
        pull = self.force[self._row, 0] * self.weight
        np.subtract.at(out, joint[mine], (pull[:, None] * self._parts.J[:, 1])[mine].reshape(-1, 4, 3))

    def add_constant(self, blocks: Blocks) -> None:
        self._parts.add_constant(blocks)

    def add_hessian(self, exact: bool, blocks: Blocks) -> None:
        parts = self._parts
        first, second = self._products
        parts.M[:] = self.K[self._row[first]] * self.weight[first] * self.weight[second]
        pull = np.zeros(parts.count)
        couple(
            parts.start, parts.square, parts.M, parts.body, parts.block, blocks.position, pull, self._J, blocks.g,
            blocks.D, blocks.U,
        )  # fmt: skip
        pull[:] = self.weight * self.multiplier[self._row, 0]
        for part in parts.members if exact else ():
            c, s = part.coordinates, part.coordinates.stencils
            curve(
                c.address, s.left, s.right, s.W, s.block, part.of, part.into, pull, blocks.position, self._at_Q,
                blocks.D, blocks.U,
            )  # fmt: skip

    def bend(self, V: Array, scale: float, out: Array) -> None:
        parts = self._parts
        for part in parts.members:
            c, s = part.coordinates, part.coordinates.stencils
            _second_rates(c.address, s.left, s.right, s.W, part.of, part.into, self._at_Q, V, self._rates)
        out.fill(0.0)
        np.add.at(out[:, 0], self._row, scale * self.weight * self._rates)
