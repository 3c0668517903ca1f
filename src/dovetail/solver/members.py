"""What worlds in company are asked before a step, and told after it, in tables of addresses.

The record of a march is forty lines of memory, of which a step in company needs a few numbers. Sixteen worlds are
asked for theirs one after the other, so the time is that of the lines that are touched: tables name the numbers
themselves. march.py has the readable twins: `look` and `end`.
"""

from __future__ import annotations

from dovetail.kernel.kernel import plain_kernel
from dovetail.kernel.peek import number_at, put_at, put_word_at, word_at
from dovetail.kernel.record import Record, i8
from dovetail.solver.islands import Islands
from dovetail.solver.march import FRAME, ITERATIONS, LAST_RATE, LAST_STEP, VERSION
from dovetail.typing import Indices

__all__ = ["BOOKS", "Members", "is_as_known", "may_join", "tell"]

BOOKS = "counters", "seen", "time", "ages", "told", "is_open", "forces", "pushes"
"""Columns of `books`: arrays of a march, whether its exact joints are open, and how many bodies forces act on."""

_COUNTERS, _SEEN, _TIME, _AGES, _TOLD, _IS_OPEN, _FORCES, _PUSHES = range(len(BOOKS))


class Members(Record):
    """Worlds in company.

    attributes (·, 3)     numbers that are looked at: where each is, of which kind (peek.py), and where what was read is
    attributes_from (k + 1,)   where those of a member begin
    books (k, 8)          addresses, see BOOKS
    islands (k, 2)        of the common model: the first one of each, and one past the last
    """

    attributes: Indices = i8(2)
    attributes_from: Indices = i8(1)
    books: Indices = i8(2)
    islands: Indices = i8(2)


@plain_kernel
def is_as_known(t: Members, k: int) -> bool:
    """Whether nothing but marches has happened to a world, and its attributes have not changed."""
    same = word_at(t.books[k, _COUNTERS], VERSION) == word_at(t.books[k, _SEEN], 0)
    for i in range(t.attributes_from[k], t.attributes_from[k + 1]):
        # no branch: what is not near yet is waited for only once
        same &= number_at(t.attributes[i, 0], 0, t.attributes[i, 1]) == number_at(t.attributes[i, 2], 0, 0)
    return same


@plain_kernel
def may_join(t: Members, k: int) -> bool:
    """Whether a step may be taken in company: the common model knows of no forces on bodies, and of closed joints."""
    if number_at(t.books[k, _IS_OPEN], 0, 0) != 0.0:
        return False
    return word_at(t.books[k, _FORCES], 0) == 0 and word_at(t.books[k, _PUSHES], 0) == 0


@plain_kernel
def tell(t: Members, k: int, s: Islands, h: float) -> int:
    """Time, and all that is counted, ← those after the step; which frame that is."""
    first, last, most = t.islands[k, 0], t.islands[k, 1], 0
    for i in range(first, last):
        most = max(most, s.taken[i])
    step = rate = 0.0
    for i in range(first, last):
        if s.taken[i] == most:
            step, rate = max(step, s.step[i]), max(rate, s.rate[i])
    told, clock, counters = t.books[k, _TOLD], t.books[k, _TIME], t.books[k, _COUNTERS]
    put_at(told, ITERATIONS, float(most))
    put_at(told, LAST_STEP, step)
    put_at(told, LAST_RATE, rate)
    before = number_at(clock, 0, 0)
    time = before + h
    put_at(clock, 1, number_at(clock, 1, 0) + (h - (time - before)))
    put_at(clock, 0, time)
    frame, version = word_at(counters, FRAME) + 1, word_at(counters, VERSION) + 1
    put_word_at(counters, FRAME, frame)
    put_word_at(counters, VERSION, version)
    put_word_at(t.books[k, _SEEN], 0, version)
    put_word_at(t.books[k, _AGES], 0, word_at(t.books[k, _AGES], 0) + 1)
    return frame
