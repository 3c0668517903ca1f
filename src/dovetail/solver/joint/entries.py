"""Several coordinates that act together: in an articulation, or in an exact row such as that of a gear.

Group a has the entries start[a] … start[a + 1] − 1, each of which is a coordinate of a joint. A matrix M over the
entries of a group couples all of its bodies: Σ M_km ∇x_k ∇x_mᵀ.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import Record, f8, i8, nested
from dovetail.solver.blocks import Blocks
from dovetail.solver.joint.coordinates import Coordinates, coordinate_at, gather_rows, pull_back_slope
from dovetail.solver.joint.function import nearest
from dovetail.solver.joint.laws import add_bend
from dovetail.solver.linear.ordering import NO_BLOCK
from dovetail.typing import Array, Indices

__all__ = ["Entries", "couple", "curve_entries", "linearise_entries"]


class Entries(Record):
    """Entries of some groups.

    of (e,)                     coordinate of an entry
    start, square (a + 1,)      first entry of a group, and first number of its matrix in M
    M                           matrices of all groups, row by row, one after the other; symmetric
    block (…, 2, 2)             for every number of M the blocks of the bodies of its two entries
    x (e,), J (e, 2, 12)        coordinates and ∇x on their left and right bodies, as last linearised
    """

    coordinates: Coordinates = nested(Coordinates)
    of: Indices = i8(1)
    start: Indices = i8(1)
    square: Indices = i8(1)
    M: Array = f8(1)
    block: Indices = i8(3)
    x: Array = f8(1)
    J: Array = f8(3)

    def __init__(self, coordinates: Coordinates, of: Indices, start: Indices) -> None:
        sizes = np.diff(start)
        square = np.concatenate([[0], np.cumsum(sizes**2)]).astype(np.int64)
        super().__init__(
            coordinates=coordinates, of=np.ascontiguousarray(of, np.int64), start=np.ascontiguousarray(start, np.int64),
            square=square, M=np.zeros(int(square[-1])), block=np.full((int(square[-1]), 2, 2), NO_BLOCK),
            x=np.zeros(len(of)), J=np.zeros((len(of), 2, 12)),
        )  # fmt: skip
        self.group = np.repeat(np.arange(len(sizes)), sizes)  # of each entry
        squares = [np.indices((n, n)).reshape(2, -1) + at for n, at in zip(sizes, self.start, strict=False)]
        self.products: Indices = np.concatenate([np.zeros((2, 0), np.int64), *squares], axis=1)  # entries of each M

    @property
    def count(self) -> int:
        return len(self.of)

    @property
    def groups(self) -> int:
        return len(self.start) - 1

    @property
    def body(self) -> Indices:
        """Left and right bodies (e, 2)."""
        return self.coordinates.pairs[self.of]

    @property
    def pairs(self) -> Indices:
        """All pairs (k, 2) of bodies of a group."""
        found, body = [np.zeros((0, 2), np.int64)], self.body
        for a in range(self.groups):
            bodies = np.unique(body[self.start[a] : self.start[a + 1]])
            first, second = np.triu_indices(len(bodies), 1)
            found.append(np.stack([bodies[first], bodies[second]], axis=1))
        return np.concatenate(found)

    def locate(self, blocks: Blocks) -> None:
        """Find the blocks of all pairs; once per structure."""
        body, (first, second) = self.body, self.products
        for s in range(2):
            for t in range(2):
                found = np.empty(len(first), np.int64)
                blocks.locate(body[first, s], body[second, t], found)
                self.block[:, s, t] = found


@kernel
def linearise_entries(entries: Entries, reference: Array, Q: Array) -> None:
    """x, J ← those at Q; angles on the branch nearest the reference (e,)."""
    c = entries.coordinates
    size = 3 * c.widest
    F, dx, d2x = np.empty(size), np.empty(size), np.zeros(size * size)
    for e in range(len(entries.of)):
        k = entries.of[e]
        n = gather_rows(c, k, Q, F)
        entries.x[e] = nearest(coordinate_at(c, k, 0.0, F, n, dx, d2x), c.period[k], reference[e])
        pull_back_slope(c, k, dx, entries.J[e])


@kernel
def couple(entries: Entries, pull: Array, g: Array, D: Array, U: Array) -> None:
    """g += Σ pull_k ∇x_k; D, U += Σ M_km ∇x_k ∇x_mᵀ."""
    c, J = entries.coordinates, entries.J
    for a in range(len(entries.start) - 1):
        n = entries.start[a + 1] - entries.start[a]
        for k in range(n):
            e = entries.start[a] + k
            for s in range(2):
                row = c.right[entries.of[e]] if s else c.left[entries.of[e]]
                for i in range(12):
                    g[row, i] += pull[e] * J[e, s, i]
                for m in range(n):
                    f, at = entries.start[a] + m, entries.square[a] + n * k + m
                    for t in range(2):
                        column = c.right[entries.of[f]] if t else c.left[entries.of[f]]
                        block = entries.block[at, s, t]
                        # the transpose of this pair, (m, t) with (k, s), comes by itself: M is symmetric
                        if column == row:
                            for i in range(12):
                                for j in range(i, 12):
                                    D[row, i, j] += entries.M[at] * J[e, s, i] * J[f, t, j]
                        elif block >= 0:
                            for i in range(12):
                                for j in range(12):
                                    U[block, i, j] += entries.M[at] * J[e, s, i] * J[f, t, j]


@kernel
def curve_entries(entries: Entries, pull: Array, Q: Array, D: Array, U: Array) -> None:
    """D, U += Σ pull_k ∇²x_k."""
    c = entries.coordinates
    size = 3 * c.widest
    F, dx, d2x = np.empty(size), np.empty(size), np.empty(size * size)
    for e in range(len(entries.of)):
        if pull[e] != 0.0:
            k = entries.of[e]
            n = gather_rows(c, k, Q, F)
            coordinate_at(c, k, 1.0, F, n, dx, d2x)
            add_bend(c, k, pull[e], n, d2x, D, U)
