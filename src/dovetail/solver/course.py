"""A whole step where nothing but joints and laws acts, in one call: what `step` in step.py does then.

start (by sweeps, or by blocks) → prediction Q̃ → first guess → Newton's method → new state

The same kernels in the same order as in the general way, and thus the same bits. Where a step turns out to be unusual
it is given up, and nothing has changed.
"""

from __future__ import annotations

import math
from typing import Any

from dovetail.kernel.copy import copy, hand_over
from dovetail.kernel.kernel import kernel, spared
from dovetail.kernel.program import RESULT, call, has_failed
from dovetail.kernel.record import Record, f8, i8, integer, real
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
    wild, fast               of a start by sweeps, consistent.py: which bodies turn so; −1 without one
    aim, respond, scatter    of trees without laws, and
    aim_again, respond_again of those that turn fast
    velocity, acceleration   of trees with laws: calls that follow each other, and a sweep
    close                    the end of it, calls that follow each other
    predict                  Q̃, and where rotors would go: calls that follow each other
    guess                    the first guess
    commit, other            the new state, from one and from the other of the two states of the descent
    rotors                   what they keep of the step; −1 without any
    V, A (n, 4, 3)           velocity and inner acceleration; Q is that of the descent
    Q_before, V_before       one step earlier
    Q_new, V_new, A_new      the new state
    responses (2, n, 12)     what a sweep responds with, and
    lawful (2, n, 12)        what those of trees with laws do
    turning (n,), slowly     which bodies turn fast, and room for the accelerations (n, 12) of the others
    """

    h: float = real()
    words: Indices = i8(1)
    results: Array = f8(1)
    is_consistent: int = integer()
    loads: Indices = i8(1)
    wild: int = integer()
    fast: int = integer()
    aim: int = integer()
    respond: int = integer()
    scatter: int = integer()
    aim_again: int = integer()
    respond_again: int = integer()
    velocity: Indices = i8(1)
    acceleration: Indices = i8(1)
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
    lawful: Array = f8(3)
    turning: Indices = i8(1)
    slowly: Array = f8(2)


@kernel
def _is_fine(words: Indices, sweep: int, responses: Array) -> bool:
    """Whether a sweep has found what it was asked for."""
    fine = words[sweep + RESULT] < 0
    for k in range(responses.shape[0]):
        for b in range(responses.shape[1]):
            for i in range(12):
                fine &= abs(responses[k, b, i]) < math.inf
    return fine


@kernel
def _responds(c: Course, aim: int, respond: int) -> bool:
    """Aim and sweep; False where there is no start."""
    call(c.words, aim)
    call(c.words, respond)
    return _is_fine(c.words, respond, c.responses)


@kernel
def _start_lawless(c: Course) -> bool:
    """V_start, and responses[1] ← accelerations, of trees without laws; False if there are none."""
    call(c.words, c.fast)
    fast = c.words[c.fast + RESULT] != 0
    if not _responds(c, c.aim, c.respond):
        return False
    call(c.words, c.scatter)
    if fast:
        copy(c.responses[1], c.slowly)
        if not _responds(c, c.aim_again, c.respond_again):
            return False
        for b in range(len(c.turning)):
            if not c.turning[b]:
                for i in range(12):
                    c.responses[1, b, i] = c.slowly[b, i]
    return True


@kernel
def _start(c: Course) -> bool:
    """V_start and accelerations ← those of a consistent start by sweeps; False if there is none."""
    call(c.words, c.wild)
    if c.words[c.wild + RESULT] != 0 or (c.aim >= 0 and not _start_lawless(c)):
        return False
    if len(c.velocity) > 0:
        for place in c.velocity:
            call(c.words, place)
        if not _is_fine(c.words, c.velocity[-1], c.lawful[:1]):
            return False
        for place in c.acceleration:
            call(c.words, place)
        if not _is_fine(c.words, c.acceleration[-1], c.lawful[1:]):
            return False
    for place in c.close:
        call(c.words, place)
    return True


@spared
def take(
    c: Course, f: Any, d: Descent, s: Islands, Q: Array, V: Array, A: Array, Q_before: Array, V_before: Array,
    Q_new: Array, V_new: Array, A_new: Array,
) -> int:  # fmt: skip
    """Q_new, V_new, A_new ← the state after a step; returns the iterations it took, or −1.

    f is the footing of a start by blocks, or None. States may be those that the course works on.
    """
    has_failed(c.words)  # in a step that was given up
    hand_over(Q, d.Q[0])
    hand_over(V, c.V)
    hand_over(A, c.A)
    hand_over(Q_before, c.Q_before)
    hand_over(V_before, c.V_before)
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
    hand_over(c.Q_new, Q_new)
    hand_over(c.V_new, V_new)
    hand_over(c.A_new, A_new)
    return GIVEN_UP if has_failed(c.words) else iterations
