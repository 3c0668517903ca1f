"""Contacts by body: what a contact adds to two bodies is gathered by each of them, so that bodies are independent work.

Contacts of one body pair follow each other, in a run. Chunks that write contacts note the runs that they come across,
and these pieces are joined: who asks which bodies touch reads a run instead of all of its contacts, which are in the
cache of the thread that has written them. A body gathers from its runs in their order, which makes its sum the same
however the bodies are divided among threads. They are divided by their rows (`by_rows`): that is equal work, and most
rows are read by the thread that has written them.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.ahead import write_soon
from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import Record, i8
from dovetail.typing import Array, Indices

__all__ = [
    "LINE", "Pieces", "Runs", "add_force", "by_rows", "join_pieces", "list_runs", "note_run", "owner_of", "run_of",
    "sort_by_body",
]  # fmt: skip

LINE = 8
"""Words of a line of the cache."""


class Pieces(Record):
    """Runs as chunks of rows find them, those of a chunk from where it begins on.

    row (k,)         the first row of a run
    pair (k, 2)      its bodies, see `Runs`
    span (parts, 2)  where those of a chunk begin and end
    """

    row: Indices = i8(1)
    pair: Indices = i8(2)
    span: Indices = i8(2)

    def __init__(self) -> None:
        super().__init__(
            row=np.empty(0, np.int64), pair=np.empty((0, 2), np.int64), span=np.zeros((1, 2), np.int64)
        )  # fmt: skip

    def make_room(self, rows: int, parts: int = 1) -> None:
        """Room for so many rows in so many chunks; what was there is lost."""
        if rows > len(self.row):
            self.row, self.pair = np.empty(2 * rows, np.int64), np.empty((2 * rows, 2), np.int64)
        if parts != len(self.span):
            self.span = np.zeros((parts, 2), np.int64)


class Runs(Record):
    """Runs of rows with the same two bodies: run r has the rows from first[r] up to first[r + 1].

    pairs (r, 2)    the bodies, the larger number first; −1 for a half-plane, twice the same for a body itself
    number (1,)     how many runs there are
    of, start (n + 1,)   those of body b are of[start[b]], … up to start[b + 1]
    before (n + 1,)      how many rows bodies before b have
    """

    first: Indices = i8(1)
    pairs: Indices = i8(2)
    number: Indices = i8(1)
    of: Indices = i8(1)
    start: Indices = i8(1)
    before: Indices = i8(1)

    def __init__(self, bodies: int) -> None:
        super().__init__(
            first=np.zeros(1, np.int64), pairs=np.empty((0, 2), np.int64), number=np.zeros(1, np.int64),
            of=np.zeros(0, np.int64), start=np.zeros(bodies + 1, np.int64), before=np.zeros(bodies + 1, np.int64),
        )  # fmt: skip

    def make_room(self, rows: int) -> None:
        """Room for as many runs."""
        if rows > len(self.pairs):
            self.first, self.pairs = np.empty(2 * rows + 1, np.int64), np.empty((2 * rows, 2), np.int64)
            self.of = np.empty(4 * rows, np.int64)


@kernel
def note_run(pieces: Pieces, k: int, row: int, a: int, b: int) -> None:
    """Piece k begins with a row of two bodies; b is −1 for a half-plane."""
    pieces.row[k], pieces.pair[k, 0], pieces.pair[k, 1] = row, max(a, b), min(a, b)
    write_soon(pieces.row, k + LINE)  # which one thread has read all of
    write_soon(pieces.pair, k + LINE // 2)


@kernel
def join_pieces(pieces: Pieces, rows: int, runs: Runs) -> None:
    """List the runs of so many rows, for which there is room: some go on from one chunk to the next."""
    row, pair, span, first, pairs = pieces.row, pieces.pair, pieces.span, runs.first, runs.pairs
    number = 0
    for part in range(len(span)):
        for k in range(span[part, 0], span[part, 1]):
            a, b = pair[k, 0], pair[k, 1]
            if number > 0 and pairs[number - 1, 0] == a and pairs[number - 1, 1] == b:
                continue
            pairs[number, 0], pairs[number, 1], first[number] = a, b, row[k]
            number += 1
    first[number], runs.number[0] = rows, number


@kernel
def sort_by_body(runs: Runs) -> None:
    """Find the runs of each body, and how many rows bodies have."""
    first, pairs, of, start, before, number = runs.first, runs.pairs, runs.of, runs.start, runs.before, runs.number[0]
    start[:] = before[:] = 0
    for run in range(number):
        a, b, rows = pairs[run, 0], pairs[run, 1], first[run + 1] - first[run]
        start[a] += 1
        before[a + 1] += rows
        if 0 <= b < a:
            start[b] += 1
            before[b + 1] += rows
    for b in range(1, len(start)):
        start[b] += start[b - 1]  # where those of b end
        before[b] += before[b - 1]
    for run in range(number - 1, -1, -1):
        a, b = pairs[run, 0], pairs[run, 1]
        start[a] -= 1
        of[start[a]] = run
        if 0 <= b < a:
            start[b] -= 1
            of[start[b]] = run


@kernel
def list_runs(pieces: Pieces, rows: int, runs: Runs) -> None:
    """List the runs of so many rows, and find those of each body."""
    join_pieces(pieces, rows, runs)
    sort_by_body(runs)


@kernel
def owner_of(owner: Indices, a: int, b: int) -> int:
    """Whose energy that of a pair of a run is: of its two bodies the first one that owner (n,) is not −1 for.

    That is the thread's that has most of its contacts, which lie in the order of first bodies.
    """
    return owner[b] if b >= 0 and owner[b] >= 0 else owner[a]


@kernel
def run_of(runs: Runs, row: int) -> int:
    """The run that a row is in."""
    low, high = 0, runs.number[0]
    while high - low > 1:
        middle = (low + high) // 2
        if runs.first[middle] <= row:
            low = middle
        else:
            high = middle
    return low


@kernel
def by_rows(runs: Runs, b: int) -> int:
    """The body before which as large a share of the rows is as there are bodies before b: chunks of equal work."""
    before, bodies = runs.before, len(runs.before) - 1
    if b == bodies or before[bodies] == 0:
        return b
    low, high, wanted = 0, bodies, b * before[bodies]
    while low < high:
        middle = (low + high) // 2
        if bodies * before[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


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
