"""A whole step where nothing but joints and laws acts, in one call: what `step` in step.py does then.

start (by sweeps, or by blocks) → prediction Q̃ → first guess → Newton's method → new state

The same kernels in the same order as in the general way, and thus the same bits. Where a step turns out to be unusual
it is given up, and nothing has changed.
"""

from __future__ import annotations

import math
from typing import Any

from dovetail.kernel.copy import copy_rows
from dovetail.kernel.kernel import kernel
from dovetail.kernel.program import RESULT, call, has_failed
from dovetail.kernel.record import Record, f8, i8, integer, real
from dovetail.solver.assembly.start import FAST, WILD
from dovetail.solver.descent import GIVEN_UP, Descent, descend
from dovetail.solver.footing import start_by_blocks
from dovetail.solver.islands import Islands
from dovetail.typing import Array, Indices

__all__ = ["Course", "take"]


class Course(Record):
    """What a step works on, beside its descent.

    h                        length of the step [s]
    is_consistent            whether it has a start
    words, results           a program, also as floats, with the places of its calls:
    loads                    accelerations by gravity and loads
    aim, respond, scatter    of a start by sweeps, consistent.py; −1 without one
    close                    the end of it, calls that follow each other
    predict                  Q̃, and where rotors would go: calls that follow each other
    guess                    the first guess
    commit, other            the new state, from one and from the other of the two states of the descent
    rotors                   what they keep of the step; −1 without any
    V, A (n, 4, 3)           velocity and inner acceleration; Q is that of the descent
    Q_before, V_before       one step earlier
    Q_new, V_new, A_new      the new state
    responses (2, n, 12)     what a sweep responds with
    """

    h: float = real()
    words: Indices = i8(1)
    results: Array = f8(1)
    is_consistent: int = integer()
    loads: Indices = i8(1)
    aim: int = integer()
    respond: int = integer()
    scatter: int = integer()
    close: Indices = i8(1)
    predict: Indices = i8(1)
    guess: int = integer()
    commit: int = integer()
    other: int = integer()
    rotors: int = integer()
    V: Array = f8(3)
    A: Array = f8(3)
    Q_before: Array = f8(3)
    V_before: Array = f8(3)
    Q_new: Array = f8(3)
    V_new: Array = f8(3)
    A_new: Array = f8(3)
    responses: Array = f8(3)


@kernel
def _respond(c: Course) -> float:
    """Aim and sweep; the largest turn [rad], infinite where there is no start."""
    call(c.words, c.aim)
    turn = c.h * c.results[c.aim + RESULT]
    if turn > WILD:
        return math.inf
    call(c.words, c.respond)
    total = 0.0
    for k in range(2):
        for b in range(c.responses.shape[1]):
            for i in range(12):
                total += c.responses[k, b, i]
    return turn if c.words[c.respond + RESULT] < 0 and abs(total) < math.inf else math.inf


@kernel
def _start(c: Course) -> bool:
    """V_start and accelerations ← those of a consistent start by sweeps; False if there is none."""
    turn = _respond(c)
    if turn == math.inf:
        return False
    call(c.words, c.scatter)
    if turn > FAST and _respond(c) == math.inf:
        return False
    for place in c.close:
        call(c.words, place)
    return True


@kernel
def take(
    c: Course, f: Any, d: Descent, s: Islands, Q: Array, V: Array, A: Array, Q_before: Array, V_before: Array,
    Q_new: Array, V_new: Array, A_new: Array,
) -> int:  # fmt: skip
    """Q_new, V_new, A_new ← the state after a step; returns the iterations it took, or −1.

    f is the footing of a start by blocks, or None.
    """
    has_failed(c.words)  # in a step that was given up
    copy_rows(Q, d.Q[0])
    copy_rows(V, c.V)
    copy_rows(A, c.A)
    copy_rows(Q_before, c.Q_before)
    copy_rows(V_before, c.V_before)
    for place in c.loads:
        call(c.words, place)
    if c.is_consistent:
        if f is None:
            if not _start(c):
                return GIVEN_UP
        elif not start_by_blocks(f, c.words):
            return GIVEN_UP
    for place in c.predict:
        call(c.words, place)
    call(c.words, c.guess)
    found, iterations = descend(d, s)
    if found < 0:
        return GIVEN_UP
    call(c.words, c.commit if found == 1 else c.other)
    if has_failed(c.words):
        return GIVEN_UP
    if c.rotors >= 0:
        call(c.words, c.rotors)
    copy_rows(c.Q_new, Q_new)
    copy_rows(c.V_new, V_new)
    copy_rows(c.A_new, A_new)
    return GIVEN_UP if has_failed(c.words) else iterations
