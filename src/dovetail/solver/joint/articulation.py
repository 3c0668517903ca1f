"""Articulations: the coordinates of several joints drawn to a wanted change together, weighed by a mass matrix.

    E = ½ dᵀ M d,   d = δθ − δθ̃,   δθ_k = x_k(Q) − x_k(Q_prev)

With y = M d the gradient is Σ y_k ∇x_k and the Hessian Σ M_km ∇x_k ∇x_mᵀ + Σ y_k ∇²x_k, the last part only when
exact. M couples every joint to every other, so all bodies of an articulation are neighbours in the linear system.
No h²: M weighs as a mass does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail.solver.blocks import Blocks
from dovetail.solver.contribution import Contribution
from dovetail.solver.joint.function import call_coordinate, nearest
from dovetail.solver.joint.stencil import gather, pull_back_hessian
from dovetail.solver.joint.terms import Coordinates
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["Articulations", "Members", "couple", "curve"]


@kernel
def _gradients(
    coordinate: Any, period: float, left: Indices, right: Indices, W: Array, of: Indices, into: Indices,
    reference: Array, Q: Array, x: Array, J: Array,
) -> None:  # fmt: skip
    """x[into], J[into] (2, 12) ← coordinates `of` and their gradients on the left and the right body."""
    n = 3 * W.shape[1]
    F, dx, d2x = np.empty(n), np.empty(n), np.zeros(n * n)
    for m in range(len(of)):
        k, e = of[m], into[m]
        gather(W, k, left[k], right[k], Q, F)
        dx[:] = 0.0
        x[e] = nearest(call_coordinate(coordinate, F, 0.0, dx, d2x), period, reference[e])
        J[e, :, :] = 0.0
        for r in range(W.shape[1]):
            for i in range(4):
                for a in range(3):
                    J[e, 0, 3 * i + a] += W[k, r, i] * dx[3 * r + a]
                    J[e, 1, 3 * i + a] += W[k, r, 4 + i] * dx[3 * r + a]


@kernel
def _residual(
    start: Indices, square: Indices, M: Array, body: Indices, previous: Array, target: Array, x: Array, island: Indices,
    y: Array, E: Array,
) -> None:  # fmt: skip
    """y ← M d, E[island] += ½ dᵀ M d."""
    for a in range(len(start) - 1):
        total = 0.0
        at = -1
        n = start[a + 1] - start[a]
        for k in range(n):
            e = start[a] + k
            y[e] = 0.0
            for m in range(n):
                f = start[a] + m
                y[e] += M[square[a] + n * k + m] * (x[f] - previous[f] - target[f])
            total += 0.5 * y[e] * (x[e] - previous[e] - target[e])
            at = max(at, island[body[e, 0]], island[body[e, 1]])
        E[at] += total


@kernel
def couple(
    start: Indices, square: Indices, M: Array, body: Indices, block: Indices, position: Indices, y: Array, J: Array,
    g: Array, D: Array, U: Array,
) -> None:  # fmt: skip
    """Add Σ y_k ∇x_k and Σ M_km ∇x_k ∇x_mᵀ; block (…, 2, 2) are the off-diagonal blocks of the bodies of k and m."""
    for a in range(len(start) - 1):
        n = start[a + 1] - start[a]
        for k in range(n):
            e = start[a] + k
            for s in range(2):
                row = position[body[e, s]]
                if row < 0:
                    continue
                for i in range(12):
                    g[row, i] += y[e] * J[e, s, i]
                for m in range(n):
                    f = start[a] + m
                    weight = M[square[a] + n * k + m]
                    for t in range(2):
                        column = position[body[f, t]]
                        # the transpose of this pair, (m, t) with (k, s), comes by itself: M is symmetric
                        if column < row:
                            continue
                        if column == row:
                            for i in range(12):
                                for j in range(i, 12):
                                    D[row, i, j] += weight * J[e, s, i] * J[f, t, j]
                        else:
                            at = block[square[a] + n * k + m, s, t]
                            for i in range(12):
                                for j in range(12):
                                    U[at, i, j] += weight * J[e, s, i] * J[f, t, j]


@kernel
def curve(
    coordinate: Any, left: Indices, right: Indices, W: Array, block: Indices, of: Indices, into: Indices, y: Array,
    position: Indices, Q: Array, D: Array, U: Array,
) -> None:  # fmt: skip
    """Add Σ y_k ∇²x_k."""
    n = 3 * W.shape[1]
    F, dx, H = np.empty(n), np.empty(n), np.empty(n * n)
    for m in range(len(of)):
        k, e = of[m], into[m]
        if y[e] == 0.0:
            continue
        gather(W, k, left[k], right[k], Q, F)
        dx[:] = 0.0
        H[:] = 0.0
        call_coordinate(coordinate, F, 1.0, dx, H)
        for i in range(n * n):
            H[i] *= y[e]
        pull_back_hessian(W, k, position[left[k]], position[right[k]], block[k], H, D, U)


@dataclass(frozen=True)
class Members:
    """Coordinates `of` (m,) of one batch, which are the entries `into` (m,) of the articulations."""

    coordinates: Coordinates
    of: Indices
    into: Indices


class Articulations(Contribution):
    """All articulations of a scene; the joints of articulation a are the entries start[a] … start[a + 1] − 1.

    target, previous (n,)    δθ̃ and x(Q_prev) of every entry [rad or m], set for each step
    M                        the mass matrices, row by row, one after the other; symmetric, positive semi-definite
    J (n, 2, 12)             gradients of the entries by their left and right body, as `values` left them
    block                    off-diagonal blocks of all pairs of bodies of each articulation
    """

    def __init__(self, members: list[Members], start: Indices) -> None:
        self.members = members
        self.start = np.ascontiguousarray(start, np.int64)
        sizes = np.diff(self.start)
        self.square = np.concatenate([[0], np.cumsum(sizes**2)]).astype(np.int64)
        count = int(self.start[-1])
        self.M = np.zeros(int(self.square[-1]))
        self.target, self.previous = np.zeros(count), np.zeros(count)
        self.body = np.zeros((count, 2), np.int64)
        for part in members:
            self.body[part.into] = part.coordinates.stencils.pairs[part.of]
        self.block = np.full((len(self.M), 2, 2), -1)
        self._x, self._y, self.J = np.zeros(count), np.zeros(count), np.zeros((count, 2, 12))

    @property
    def count(self) -> int:
        return int(self.start[-1])

    def matrix(self, a: int) -> Array:
        """M of articulation a, (n, n), writable."""
        n = self.start[a + 1] - self.start[a]
        return self.M[self.square[a] : self.square[a + 1]].reshape(n, n)

    def values(self, Q: Array, reference: Array) -> Array:
        """x of every entry at Q; angles on the branch nearest the reference."""
        for part in self.members:
            c, s = part.coordinates, part.coordinates.stencils
            _gradients(
                c.address, c.function.period, s.left, s.right, s.W, part.of, part.into, reference, Q, self._x, self.J
            )
        return self._x

    def change(self, Q: Array) -> Array:
        """δθ of every entry."""
        difference: Array = self.values(Q, self.previous) - self.previous
        return difference

    def pairs(self) -> Indices:
        found = [np.zeros((0, 2), np.int64)]
        for a in range(len(self.start) - 1):
            bodies = np.unique(self.body[self.start[a] : self.start[a + 1]])
            first, second = np.triu_indices(len(bodies), 1)
            found.append(np.stack([bodies[first], bodies[second]], axis=1))
        return np.concatenate(found)

    def rough(self) -> Indices:
        """All its bodies: δθ̃ is the step of another integrator, which ends when this one does."""
        bodies: Indices = np.unique(self.body)
        return bodies

    def add_constant(self, blocks: Blocks) -> None:
        for part in self.members:
            part.coordinates.stencils.locate(blocks)
        block_of = {(int(i), int(j)): blocks.block_of(int(i), int(j)) for i, j in self.pairs()}
        for a in range(len(self.start) - 1):
            bodies = self.body[self.start[a] : self.start[a + 1]].tolist()
            pairs = [(i, j) for left in bodies for right in bodies for i in left for j in right]
            table = [block_of.get((min(pair), max(pair)), -1) for pair in pairs]
            self.block[self.square[a] : self.square[a + 1]] = np.reshape(table, (-1, 2, 2))

    def add_energy(self, Q: Array, island: Indices, E: Array) -> None:
        x = self.values(Q, self.previous)
        _residual(
            self.start, self.square, self.M, self.body, self.previous, self.target, x, island, self._y, E
        )  # fmt: skip

    def assemble(self, Q: Array, exact: bool, blocks: Blocks) -> None:
        self.energy(Q)  # leaves J and y behind
        couple(
            self.start, self.square, self.M, self.body, self.block, blocks.position, self._y, self.J,
            blocks.g, blocks.D, blocks.U,
        )  # fmt: skip
        for part in self.members if exact else ():
            c, s = part.coordinates, part.coordinates.stencils
            curve(
                c.address, s.left, s.right, s.W, s.block, part.of, part.into, self._y, blocks.position, Q,
                blocks.D, blocks.U,
            )  # fmt: skip
