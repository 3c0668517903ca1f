"""What was chosen: candidates that are contacts, chunk by chunk, in chunks of equal work.

Contacts take most of the time, and are found where bodies lie on each other, not where candidates are. So chunks of
candidates are made equal by the contacts that were found in them (`balance`), whenever there are more than before:
threads are done together, and what one has written it mostly reads itself. Results do not depend on where chunks begin.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import Record, f8, i8, nested
from dovetail.kernel.threads import MOST
from dovetail.solver.contact.runs import Pieces
from dovetail.typing import Array, Indices

__all__ = ["Chosen", "balance", "bound", "place"]

_CONTACT = 8  # times as long as of other candidates takes what is done for a contact


class Chosen(Record):
    """Candidates that are contacts, those of a chunk from where it begins on, and what was measured of them.

    candidate (k,)       row of the candidates
    measured (k, 8)      u, v, r, D and the mollifier m, m′
    total (k,)           energy of contacts that follow each other with the same bodies
    pieces               which these are
    bounds (MOST + 1,)   candidates that begin parts of equal work, however many chunks there are
    counts (parts,)      contacts of each chunk, −1 where a gap is closed
    most (1,)            contacts that there were where the chunks were last made equal
    """

    candidate: Indices = i8(1)
    measured: Array = f8(2)
    total: Array = f8(1)
    pieces: Pieces = nested(Pieces)
    bounds: Indices = i8(1)
    counts: Indices = i8(1)
    most: Indices = i8(1)

    def __init__(self) -> None:
        super().__init__(
            candidate=np.empty(0, np.int64), measured=np.empty((0, 8)), total=np.empty(0), pieces=Pieces(),
            bounds=np.zeros(MOST + 1, np.int64), counts=np.zeros(1, np.int64), most=np.zeros(1, np.int64),
        )  # fmt: skip

    def make_room(self, size: int, parts: int = 1) -> None:
        """Room for so many candidates in so many chunks; what was there is lost."""
        if size > len(self.candidate):
            self.measured, self.candidate = np.empty((2 * size, 8)), np.empty(2 * size, np.int64)
            self.total = np.empty(2 * size)
        self.pieces.make_room(size, parts)
        if len(self.counts) != parts:
            self.counts = np.zeros(parts, np.int64)
        if parts > 1 and self.bounds[-1] != size:
            self.bounds[:], self.most[:] = np.arange(MOST + 1) * size // MOST, 0


@kernel
def bound(bounds: Indices, part: int, parts: int) -> int:
    """The candidate that one of so many chunks begins with."""
    whole, rest = divmod(part * MOST, parts)
    return bounds[whole] + (rest * (bounds[whole + 1] - bounds[whole]) // parts if rest else 0)


@kernel
def place(counts: Indices, part: int) -> tuple[int, int]:
    """The contact that a chunk begins with, and how many there are; −1 where a gap is closed."""
    first = total = 0
    for each in range(len(counts)):
        if counts[each] < 0:
            return 0, -1
        first += counts[each] if each < part else 0
        total += counts[each]
    return first, total


@kernel
def balance(chosen: Chosen) -> None:
    """bounds ← parts of equal work, as contacts lie in the present chunks, `most` of them."""
    bounds, counts, parts, contacts = chosen.bounds.copy(), chosen.counts, len(chosen.counts), 0
    chunk, low, high, total = 0, 0.0, 0.0, bounds[MOST] + _CONTACT * chosen.most[0]
    for part in range(1, MOST):
        wanted = total * part / MOST
        while high < wanted:
            begin, end, low = bound(bounds, chunk, parts), bound(bounds, chunk + 1, parts), high
            contacts += counts[chunk]
            chunk += 1
            high = end + _CONTACT * contacts
        chosen.bounds[part] = begin + int((wanted - low) / (high - low) * (end - begin))
