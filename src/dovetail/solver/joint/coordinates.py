"""Coordinates of joints: x(F), F = W Q, each by a function that is called by address, with committed values and rates.

An angle is continued: x is moved by whole periods to the branch nearest its reference, which is the committed value,
or that of the last iterate where a hard limit follows it (stops.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.kernel.copy import copy
from dovetail.kernel.kernel import jit_enabled, kernel
from dovetail.kernel.record import f8, i8, integer
from dovetail.solver.joint.function import Coordinate, call_coordinate, nearest
from dovetail.solver.joint.stencil import Pairs, Stencils, image
from dovetail.solver.linear.block12 import add_dyad
from dovetail.solver.linear.ordering import NO_BLOCK, flipped
from dovetail.solver.natural import natural
from dovetail.typing import Array, Indices

__all__ = [
    "Coordinates",
    "add_outer",
    "commit_coordinates",
    "coordinate_at",
    "gather_rows",
    "pull_back_slope",
    "second_rate",
]


class Coordinates(Pairs):
    """All coordinates of a scene, one after the other.

    address, period (c,)    function and period of each; no period: 0
    first (c + 1,)          its rows are W[first[k]] … W[first[k + 1] − 1]
    W, sides (r, 8), (r, 2) weights of the rows, and whether a row weighs the left and the right body at all
    widest                  most rows of a coordinate
    value, rate (c,)        committed x [m or rad] and ∇x·V
    reference (c,)          value that a new one is continued from
    """

    address: Indices = i8(1)
    period: Array = f8(1)
    first: Indices = i8(1)
    W: Array = f8(2)
    sides: Indices = i8(2)
    widest: int = integer()
    value: Array = f8(1)
    rate: Array = f8(1)
    reference: Array = f8(1)

    def __init__(self, batches: Sequence[tuple[Coordinate, Stencils]]) -> None:
        counts = [s.count for _, s in batches]
        rows = np.repeat([f.rows for f, _ in batches], counts).astype(np.int64) if batches else np.zeros(0, np.int64)
        addresses: Any = [f.address for f, s in batches for _ in range(s.count)]
        W = np.concatenate([np.zeros((0, 8)), *(s.W.reshape(-1, 8) for _, s in batches)])

        def joined(name: str) -> Indices:
            return np.concatenate([np.zeros(0, np.int64), *(getattr(s, name) for _, s in batches)])

        count = len(rows)
        value, rate, reference = np.zeros((3, count))  # side by side, see `State`
        super().__init__(
            address=np.array(addresses, np.int64) if jit_enabled else addresses,
            period=np.repeat([float(f.period) for f, _ in batches], counts).astype(float),
            left=joined("left"), right=joined("right"), joint=joined("joint"),
            first=np.concatenate([[0], np.cumsum(rows)]).astype(np.int64), W=W,
            sides=(W.reshape(-1, 2, 4) != 0.0).any(axis=2).astype(np.int64), block=np.full(count, NO_BLOCK),
            widest=int(rows.max(initial=0)), value=value, rate=rate, reference=reference,
        )  # fmt: skip

    def commit(self, Q: Array, V: Array) -> None:
        """Take over values and rates at the end of a step, or after an external write."""
        commit_coordinates(self, Q, V)

    def rates(self, Q: Array, V: Array) -> Array:
        """∇x·V (c,) [m/s or rad/s]."""
        rate = np.empty(self.count)
        _measure(self, Q, V, np.empty(self.count), rate)
        return rate

    def derivatives(self, Q: Array, V: Array) -> tuple[Array, Array, Array]:
        """x (c,), ∇x (c, 2, 12) on the left and right bodies, and V·∇²x V (c,) at Q."""
        x, J, bend = np.empty(self.count), np.empty((self.count, 2, 12)), np.empty(self.count)
        _derivatives(self, Q, V, x, J, bend)
        return x, J, bend

    def inertia(self, Q: Array, mass: Array, is_fixed: Indices) -> Array:
        """What resists a change of each coordinate at Q (c,) [kg or kg·m²], its two bodies alone; mass (n, 4, 4)."""
        out = np.empty(self.count)
        inverse: Array = np.linalg.inv(mass).astype(float)
        inverse[np.asarray(is_fixed) != 0] = 0.0
        _inertias(self, inverse, Q, out)
        return out


@kernel
def gather_rows(c: Coordinates, k: int, Q: Array, F: Array) -> int:
    """F ← W Q of coordinate k; how many numbers that are."""
    left, right, start, end = natural(c.left[k]), natural(c.right[k]), natural(c.first[k]), c.first[k + 1]
    W, sides = c.W, c.sides
    for r in range(start, end):
        r = natural(r)
        at = natural(3 * (r - start))
        x = y = z = 0.0
        if sides[r, 0]:
            x, y, z = image(W[r], 0, Q, left)
        if sides[r, 1]:
            u, v, w = image(W[r], 4, Q, right)
            x, y, z = x + u, y + v, z + w
        F[at], F[at + 1], F[at + 2] = x, y, z
    return 3 * (end - start)


@kernel
def coordinate_at(c: Coordinates, k: int, exact: float, F: Array, n: int, dx: Array, d2x: Array) -> float:
    """x of coordinate k at F (n), on the branch nearest its reference; dx (n) ← ∂x/∂F, d2x (n·n) ← ∂²x/∂F² if exact."""
    for i in range(n):
        dx[i] = 0.0
    if exact > 0.0:
        for i in range(n * n):
            d2x[i] = 0.0
    return nearest(call_coordinate(c.address[k], F, exact, dx, d2x), c.period[k], c.reference[k])


@kernel
def pull_back_slope(c: Coordinates, k: int, dx: Array, J: Array) -> None:
    """J (2, 12) ← ∇x on the left and on the right body."""
    start, W = natural(c.first[k]), c.W
    rows = c.first[k + 1] - start
    for side in range(2):
        for i in range(4):
            x = y = z = 0.0
            for r in range(rows):
                w = W[start + r, 4 * side + i]
                x += w * dx[3 * r]
                y += w * dx[3 * r + 1]
                z += w * dx[3 * r + 2]
            J[side, 3 * i] = x
            J[side, 3 * i + 1] = y
            J[side, 3 * i + 2] = z


@kernel
def add_outer(weight: float, left: int, right: int, block: int, J: Array, weighed: Array, D: Array, U: Array) -> None:
    """D, U += weight ∇x∇xᵀ with J (2, 12) on two bodies; weighed (2, 12) is scratch."""
    for i in range(12):
        weighed[0, i] = weight * J[0, i]
        weighed[1, i] = weight * J[1, i]
    add_dyad(D, left, weighed, 0, J, 0)
    add_dyad(D, right, weighed, 1, J, 1)
    if block >= 0:
        add_dyad(U, block, weighed, 0, J, 1)
    elif block != NO_BLOCK:
        add_dyad(U, flipped(block), weighed, 1, J, 0)


@kernel
def second_rate(n: int, d2x: Array, dF: Array) -> float:
    """Ḟ·∇²x Ḟ."""
    total = 0.0
    for i in range(n):
        for j in range(n):
            total += dF[i] * d2x[n * i + j] * dF[j]
    return total


@kernel
def _measure(c: Coordinates, Q: Array, V: Array, value: Array, rate: Array) -> None:
    """Values and rates ∇x·V (c,) at Q."""
    size = 3 * c.widest
    F, dF, dx, d2x = np.empty(size), np.empty(size), np.empty(size), np.zeros(size * size)
    for k in range(len(c.left)):
        n = gather_rows(c, k, Q, F)
        gather_rows(c, k, V, dF)
        value[k] = coordinate_at(c, k, 0.0, F, n, dx, d2x)
        total = 0.0
        for i in range(n):
            total += dx[i] * dF[i]
        rate[k] = total


@kernel
def commit_coordinates(c: Coordinates, Q: Array, V: Array) -> None:
    """Values and rates ← those at Q with velocities V."""
    _measure(c, Q, V, c.value, c.rate)
    copy(c.value, c.reference)


@kernel
def _derivatives(c: Coordinates, Q: Array, V: Array, x: Array, J: Array, bend: Array) -> None:
    size = 3 * c.widest
    F, dF, dx, d2x = np.empty(size), np.empty(size), np.empty(size), np.zeros(size * size)
    for k in range(len(c.left)):
        n = gather_rows(c, k, Q, F)
        gather_rows(c, k, V, dF)
        x[k] = coordinate_at(c, k, 1.0, F, n, dx, d2x)
        pull_back_slope(c, k, dx, J[k])
        bend[k] = second_rate(n, d2x, dF)


@kernel
def _inertias(c: Coordinates, mass_inverse: Array, Q: Array, out: Array) -> None:
    """out (c,) ← 1/(∇x M⁻¹ ∇xᵀ); M⁻¹ of fixed bodies is zero."""
    size = 3 * c.widest
    F, dx, d2x, J = np.empty(size), np.empty(size), np.zeros(size * size), np.empty((2, 12))
    for k in range(len(c.left)):
        n = gather_rows(c, k, Q, F)
        coordinate_at(c, k, 0.0, F, n, dx, d2x)
        pull_back_slope(c, k, dx, J)
        out[k] = 1.0 / compliance(J, c.left[k], c.right[k], mass_inverse)


@kernel
def compliance(J: Array, left: int, right: int, mass_inverse: Array) -> float:
    """∇x M⁻¹ ∇xᵀ over two bodies by themselves."""
    total = 0.0
    for side in range(2):
        b = natural(right if side else left)
        for i in range(4):
            for a in range(3):
                moved = 0.0
                for j in range(4):
                    moved += mass_inverse[b, i, j] * J[side, 3 * j + a]
                total += J[side, 3 * i + a] * moved
    return total
