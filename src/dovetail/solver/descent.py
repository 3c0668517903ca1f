"""Newton's method where no guard is concerned, in one call: what newton.py, first_iterate.py and iteration.py do then.

The same kernels in the same order, and thus the same bits; what Python does between them is here. A descent gives up
where anything unusual happens (a guess that does not pay, an energy that rises, contacts that have to be looked for,
joints that do not close, a kernel that fails), and leaves everything as it was: the general way then begins anew.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.kernel.program import RESULT, call, has_failed
from dovetail.kernel.record import Record, f8, i8, integer
from dovetail.solver.contact.motion import COVERED
from dovetail.solver.convergence import begin_trials, close_finished
from dovetail.solver.floor import PATIENCE
from dovetail.solver.islands import Islands, begin_islands, finish_islands, restart_islands
from dovetail.solver.iterate import keep_from_inverting
from dovetail.solver.joint.constraints import GAP
from dovetail.solver.phases import (
    ACCEPT,
    CCD_TOL,
    COMPARE,
    CURVED,
    DECIDE,
    ENERGIES,
    LEFT,
    LIMIT,
    MEANINGFUL,
    MEASURE,
    MORE,
    MOVE,
    OPEN,
    PHASES,
    RATE,
    RISING,
    SETTLED,
    STEP,
    STRAIGHT,
    TRIAL,
)
from dovetail.typing import Array, Indices

__all__ = ["FREE", "GIVEN_UP", "IS_OPEN", "TRIALS", "Descent", "descend", "nowhere"]

GIVEN_UP = -1
IS_OPEN, TRIALS, FREE = range(3)
"""Entries of `asked`."""


class Descent(Record):
    """What a descent works on, beside the islands.

    words, results   the program, also as floats, with the places of its calls;
    watching         another one, that looks out for contacts:
    at_start         `advance` in the state of the start,
    between (2, 2)   and from one of two states to another or itself
    direct (2, k)    what finds y in each of both, one after the other
    close (2,)       what closes exact joints by it, or finds out how far it does; −1 where it always does
    export           what hands over multipliers that sweeps have found
    look (3, w), record (w,)   what looks at y in both states and at the step to the guess, and books it, for each of
                     the watches over contacts: none without contact, one for a world, more for worlds in company
    commit (2, w)    what tells the books that bodies take any share of a step, or all of it
    present (w,)     1 for watches that are asked
    Q (3, n, 4, 3), E (3, n)   the start and the two states, and their energies
    y, found (n, 12)   the step, and where directions are found
    swept (n,)       1 for bodies that a sweep has had; `sweeps` says whether there is one
    stays, waits     by island: whether it stays near the guess; room
    part, begins (m,)   of laws, see caps.py
    skip             whether no energy means anything at the guess
    asked (3,)       whether exact joints may be open; how many trials there may be; ccd_tol
    worst (1,)       how far the last y leaves exact joints open
    """

    words: Indices = i8(1)
    results: Array = f8(1)
    watching: Indices = i8(1)
    at_start: int = integer()
    between: Indices = i8(2)
    direct: Indices = i8(2)
    close: Indices = i8(1)
    export: Indices = i8(1)
    look: Indices = i8(2)
    record: Indices = i8(1)
    commit: Indices = i8(2)
    present: Indices = i8(1)
    numbers: Array = f8(1)
    Q: Array = f8(4)
    E: Array = f8(2)
    y: Array = f8(2)
    found: Array = f8(2)
    swept: Indices = i8(1)
    sweeps: int = integer()
    stays: Array = f8(1)
    waits: Indices = i8(1)
    part: Indices = i8(1)
    begins: Indices = i8(1)
    skip: int = integer()
    asked: Array = f8(1)
    worst: Array = f8(1)


def nowhere(bodies: int, numbers: Array) -> Descent:
    """What a march works on whose steps find their minimisers in another way; `numbers` are those of the potential."""
    none, places, states = np.zeros(0, np.int64), np.zeros((0, 0), np.int64), np.zeros((0, bodies, 4, 3))
    return Descent(
        words=none, results=np.zeros(0), watching=none, at_start=-1, between=places, close=none, export=none,
        direct=places, look=places, record=none, commit=places, present=none, numbers=numbers, Q=states,
        E=np.zeros((0, bodies)), y=np.zeros((0, 12)), found=np.zeros((0, 12)), swept=none, sweeps=0,
        stays=np.zeros(0), waits=none, part=none, begins=none, skip=0, asked=np.zeros(3), worst=np.zeros(1),
    )  # fmt: skip


@kernel
def _run(d: Descent, place: int, phases: int) -> None:
    d.numbers[PHASES] = phases
    call(d.words, place)


@kernel
def _is_finite(E: Array) -> bool:
    total = 0.0
    for b in range(len(E)):
        total += E[b]
    return abs(total) < math.inf


@kernel
def _find(d: Descent, s: Islands, here: int) -> bool:
    """y ← Newton's step of unconverged bodies in one of the two states, 0 for the others; False if it leaves gaps."""
    y = d.y
    if d.sweeps == 0:
        for b in range(len(y)):
            for i in range(12):
                y[b, i] = 0.0
    last = 0
    for k in range(d.direct.shape[1]):
        last = d.direct[here, k]
        call(d.words, last)
    if d.words[last + RESULT] >= 0:
        return False
    if d.sweeps:
        for b in range(len(y)):
            d.swept[b] |= s.unconverged[b]
            for i in range(12):
                y[b, i] = d.found[b, i] if s.unconverged[b] else 0.0
    if d.close[here] >= 0:
        call(d.words, d.close[here])
        d.worst[0] = d.results[d.close[here] + RESULT]
    return d.worst[0] <= GAP


@kernel
def _is_covered(d: Descent, k: int) -> bool:
    """Whether contacts need not be looked for in a step: k is the state it begins in, or 2 for that to the guess."""
    for w in range(len(d.record)):
        if d.present[w]:
            call(d.watching, d.commit[1 if k == 2 else 0, w])
            call(d.watching, d.look[k, w])
            if d.watching[d.look[k, w] + RESULT] != COVERED:
                return False
    return True


@kernel
def _book(d: Descent) -> None:
    for w in range(len(d.record)):
        if d.present[w]:
            call(d.watching, d.record[w])


@kernel
def _try(d: Descent, s: Islands) -> int:
    """Whole steps from the guess until energies are as low as in the last state; how many were taken."""
    numbers, here, taken = d.numbers, 0, 0
    left, stay = begin_trials(s, d.skip != 0)
    if stay:
        return taken
    for m in range(s.count):
        d.stays[m] = s.alpha[m]
    trials = int(d.asked[TRIALS])
    for trial in range(trials):
        if left == 0:
            break
        if left < s.count:
            for m in range(s.count):
                d.waits[m] = 1 - s.tried[m]
            finish_islands(s, d.waits)
        if not _find(d, s, here) or not _is_covered(d, here):
            return GIVEN_UP
        taken += 1
        numbers[MORE] = trial + 1 < trials
        _run(d, d.between[here, 1 - here], MEASURE | TRIAL | MOVE)
        if not (numbers[STEP] < math.inf and numbers[RATE] < math.inf):
            return GIVEN_UP
        _book(d)
        here = 1 - here
        left = int(numbers[LEFT])
        if numbers[MEANINGFUL] != 0.0 or len(d.record) > 0:
            _run(d, d.between[here, here], ENERGIES)
            for m in range(s.count):
                s.alpha[m] = d.stays[m]
            _run(d, d.between[here, here], COMPARE | ACCEPT)
            left = int(numbers[LEFT])
            for m in range(s.count):
                d.stays[m] = s.alpha[m]
    restart_islands(s)
    for m in range(s.count):
        if d.stays[m] != 1.0:
            return GIVEN_UP
    return taken


@kernel
def _open(d: Descent) -> None:
    """Exact joints may be open: energies count by how much, with the multipliers of the last step."""
    for place in d.export:
        call(d.words, place)
    for b in range(len(d.swept)):
        d.swept[b] = 0


@kernel
def _descend(d: Descent, s: Islands) -> tuple[int, int]:
    numbers, Q = d.numbers, d.Q
    for b in range(len(s.of)):
        s.marks[b] = 0
        for i in range(4):
            for x in range(3):
                d.y[b, 3 * i + x] = Q[0, b, i, x] - Q[1, b, i, x] if s.of[b] >= 0 else 0.0
    begin_islands(s)
    for i in range(len(d.part)):
        d.part[i] = d.begins[i]
    _run(d, d.at_start, ENERGIES)
    if not _is_finite(d.E[0]) or not _is_covered(d, 2):
        return GIVEN_UP, 0
    for m in range(s.count):
        s.alpha[m] = 1.0
    if d.skip == 0:
        _run(d, d.between[0, 0], ENERGIES)
    elif len(d.record) > 0 and keep_from_inverting(s, Q[1]):
        return GIVEN_UP, 0  # of which the general way asks the energy
    _book(d)
    numbers[OPEN] = d.asked[IS_OPEN]
    _run(d, d.at_start, LIMIT)
    if d.skip == 0:
        _run(d, d.between[0, 0], COMPARE)
    taken = _try(d, s)
    if taken < 0:
        return GIVEN_UP, 0
    here, some, every = taken % 2, False, True
    for m in range(s.count):
        some, every = some or s.ended[m] != 0, every and s.ended[m] != 0
    if every:
        return 1 + here, taken
    if some:
        finish_islands(s, s.ended)
    curved = False
    while taken < PATIENCE:
        if not _find(d, s, here) or not _is_covered(d, here):
            return GIVEN_UP, 0
        numbers[SETTLED], numbers[CCD_TOL], numbers[STRAIGHT] = 1.0, d.asked[FREE], 0.0
        there = 1 - here
        _run(d, d.between[here, there], MEASURE | DECIDE)
        if not (numbers[STEP] < math.inf and numbers[RATE] < math.inf):
            return GIVEN_UP, 0
        curved = curved or numbers[CURVED] != 0.0
        if curved or d.asked[IS_OPEN] != 0.0:
            _open(d)
        _run(d, d.between[here, there], MOVE if numbers[LEFT] == 0.0 else LIMIT | MOVE | ENERGIES | COMPARE)
        if numbers[LEFT] == 0.0:
            if keep_from_inverting(s, Q[1 + there]):
                return GIVEN_UP, 0
        elif numbers[RISING] > 0.0 or not _is_finite(d.E[1 + there]):
            return GIVEN_UP, 0
        left = int(numbers[LEFT]) - close_finished(s)
        _book(d)
        taken, here = taken + 1, there
        if left == 0:
            return 1 + here, taken
        finish_islands(s, s.done)
    return GIVEN_UP, 0


@kernel
def descend(d: Descent, s: Islands) -> tuple[int, int]:
    """Minimise from Q[0] with the guess Q[1]: which of the three states is the minimiser, or −1; and iterations."""
    found, iterations = _descend(d, s)
    failed = has_failed(d.words)
    if len(d.record) > 0:
        failed = has_failed(d.watching) or failed
    return GIVEN_UP if failed else found, iterations
