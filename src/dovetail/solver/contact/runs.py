"""Contacts by body: what a contact adds to two bodies is gathered by each of them, so that bodies are independent work.

Contacts of one body pair follow each other, in a run. A body gathers from its runs in their order, which makes its sum
the same however the bodies are divided among threads.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import Record, i8
from dovetail.typing import Array, Indices

__all__ = ["Runs", "add_force", "list_runs"]


class Runs(Record):
    """Runs of rows (k, 2) with the same two bodies: run r has the rows from first[r] up to first[r + 1].

    Those of body b are of[start[b]], … up to start[b + 1]; start (n + 1,).
    """

    first: Indices = i8(1)
    of: Indices = i8(1)
    start: Indices = i8(1)

    def __init__(self, bodies: int) -> None:
        self.count = 0
        super().__init__(
            first=np.zeros(1, np.int64), of=np.zeros(0, np.int64), start=np.zeros(bodies + 1, np.int64)
        )  # fmt: skip

    def make_room(self, rows: int) -> None:
        """Room for as many runs."""
        if 2 * rows > len(self.of):
            self.first, self.of = np.empty(2 * rows + 1, np.int64), np.empty(4 * rows, np.int64)

    def list(self, bodies: Indices, count: int) -> None:
        """List the runs of the first `count` rows; `self.count` is how many there are."""
        self.make_room(count)
        self.count = int(list_runs(bodies, count, self))


@kernel
def list_runs(bodies: Indices, count: int, runs: Runs) -> int:
    """Fill the runs, for which there is room; how many."""
    first, of, start = runs.first, runs.of, runs.start
    number, one, other = 0, -2, -2
    start[:] = 0
    for k in range(count):
        low, high = min(bodies[k, 0], bodies[k, 1]), max(bodies[k, 0], bodies[k, 1])
        if low == one and high == other:
            continue
        one, other, first[number] = low, high, k
        number += 1
        start[high] += 1
        if 0 <= low < high:
            start[low] += 1
    first[number] = count
    for b in range(1, len(start)):
        start[b] += start[b - 1]  # where those of b end
    for run in range(number - 1, -1, -1):
        for side in range(2):
            b = bodies[first[run], side]
            if b >= 0 and (side == 0 or b != bodies[first[run], 0]):
                start[b] -= 1
                of[start[b]] = run
    return number


@kernel
def add_force(xi: Array, bodies: Indices, k: int, force: Array, sign: float, b: int, g: Array) -> None:
    """g[b] += ± ξ ⊗ force of contact k: on body a with this sign, on body b with the other."""
    for side in range(2):
        if bodies[k, side] == b:
            f0, f1, f2 = sign * force[k, 0], sign * force[k, 1], sign * force[k, 2]
            for i in range(4):
                w = xi[k, 4 * side + i]
                g[b, 3 * i] += w * f0
                g[b, 3 * i + 1] += w * f1
                g[b, 3 * i + 2] += w * f2
        sign = -sign
