"""A whole step of machines that stand, in one call: what `step` in step.py does where all touch something and rest.

lag of what touches → start → prediction Q̃ → first guess, which hardly moves → friction → one step of Newton's method →
new state

The same kernels in the same order as in the general way, called by address, and thus the same bits: held.py, stance.py,
first_iterate.py, iteration.py and `Contact` are its readable twins. Where anything is unusual the step is given up: a
load that changes so that it has to be followed, a guess that moves, candidates that have to be looked for, islands
that contacts unite, a Newton step that is not the last one, a machine that leaves the ground, a kernel that fails.
"""

from __future__ import annotations

import math

from dovetail.kernel.copy import copy, copy_rows
from dovetail.kernel.kernel import kernel, plain_kernel, spared
from dovetail.kernel.program import RESULT, call, has_failed
from dovetail.kernel.record import Record, f8, i8, integer, nested, real
from dovetail.solver.blocks import Blocks
from dovetail.solver.contact.active import ActiveContacts
from dovetail.solver.contact.friction import Frictions
from dovetail.solver.contact.motion import COVERED
from dovetail.solver.contact.runs import Runs, list_runs
from dovetail.solver.contribution import Start
from dovetail.solver.convergence import begin_trials, close_finished
from dovetail.solver.footing import Footing, start_by_blocks
from dovetail.solver.islands import Islands, begin_islands, number_islands, separate_islands, unite_pairs
from dovetail.solver.iterate import keep_from_inverting
from dovetail.solver.joint.constraints import GAP
from dovetail.solver.linear.ordering import has_blocks
from dovetail.solver.phases import (
    CCD_TOL,
    COMPARE,
    DAMP,
    DECIDE,
    ENERGIES,
    LEFT,
    LIMIT,
    MOVE,
    OPEN,
    PHASES,
    RATE,
    RATE_TOL,
    SETTLED,
    STEP,
    STEP_TOL,
    STRAIGHT,
)
from dovetail.typing import Array, Indices

__all__ = ["CALLS", "CONTACTS", "COUNTS", "FRICTIONS", "GIVEN_UP_LATE", "TAKEN", "Repose", "rest", "stand"]

CALLS = (
    "compare", "judge", "follow", "predict", "guess", "stay", "hold", "look", "freeze", "name", "recall", "begin",
    "rub", "couple", "direct", "touch", "factor", "solve", "clear", "close", "bound", "damp", "swing", "step",
    "remember", "find", "slip", "drag", "turn", "commit", "record", "rates",
)  # fmt: skip
"""What is called, in this order."""

(
    _COMPARE, _JUDGE, _FOLLOW, _PREDICT, _GUESS, _STAY, _HOLD, _LOOK, _FREEZE, _NAME, _RECALL, _BEGIN,
    _RUB, _COUPLE, _DIRECT, _TOUCH, _FACTOR, _SOLVE, _CLEAR, _CLOSE, _BOUND, _DAMP, _SWING, _STEP,
    _REMEMBER, _FIND, _SLIP, _DRAG, _TURN, _COMMIT, _RECORD, _RATES,
) = range(len(CALLS))  # fmt: skip

CONTACTS, FRICTIONS, KNOWN, COUNTS = range(4)
"""Entries of `counts`: contacts, at the start and then at the end; frictions; those that are remembered."""

TAKEN, GIVEN_UP, GIVEN_UP_LATE = range(3)
"""What becomes of a step; late is after the contacts of the start were overwritten."""


class Repose(Record):
    """What such a step works on.

    h                     length of the step [s]
    words, results        a program, also as floats
    calls                 places of its calls, −1 for what there is not
    counts                how many there are of what
    by_contacts, by_frictions, by_both, by_known     words that say how many
    start, islands, blocks, survey, friction         of the model
    numbers, last, part, begins   of the potential; asked are entries of `numbers` that are told in the beginning
    Q (3, n, 4, 3)        the start, the guess and the end
    V, A, Q_before, moved         of the start; the way of the last step
    E (2, n), E_contact (n,)      energies at the start and at the end; those of contacts
    way, y (n, 12)        to the guess, and of Newton's method
    before, rubbing       of the state
    rubbed (n, 16)        friction that slides, at the end
    pushes (n, 19)        what pushes, at the end
    carried               by joints, of the state
    known, past           what is remembered of friction, see stick.py
    keys, force           what will be, times h²
    load, pairs           of friction, before anything is recalled; bodies of it
    commits (n,)          of the books of motion
    marked (n,)           mechanisms that touch something
    ages, life            of the blocks, and how old they may become
    lost, dissipated (1,) work done against friction in the step, and before [J]
    Q_new, V_new, A_new   the new state
    """

    h: float = real()
    words: Indices = i8(1)
    results: Array = f8(1)
    calls: Indices = i8(1)
    counts: Indices = i8(1)
    by_contacts: Indices = i8(1)
    by_frictions: Indices = i8(1)
    by_both: Indices = i8(1)
    by_known: Indices = i8(1)
    start: Start = nested(Start)
    islands: Islands = nested(Islands)
    blocks: Blocks = nested(Blocks)
    survey: ActiveContacts = nested(ActiveContacts)
    friction: Frictions = nested(Frictions)
    numbers: Array = f8(1)
    asked: Array = f8(1)
    last: Array = f8(2)
    part: Indices = i8(1)
    begins: Indices = i8(1)
    Q: Array = f8(4)
    V: Array = f8(3)
    A: Array = f8(3)
    Q_before: Array = f8(3)
    moved: Array = f8(3)
    E: Array = f8(2)
    E_contact: Array = f8(1)
    way: Array = f8(2)
    y: Array = f8(2)
    before: Array = f8(2)
    rubbing: Array = f8(2)
    rubbed: Array = f8(2)
    pushes: Array = f8(2)
    carried: Array = f8(2)
    known: Indices = i8(2)
    past: Array = f8(2)
    keys: Indices = i8(2)
    force: Array = f8(2)
    load: Array = f8(1)
    pairs: Indices = i8(2)
    commits: Indices = i8(1)
    marked: Indices = i8(1)
    ages: Indices = i8(1)
    life: int = integer()
    lost: Array = f8(1)
    dissipated: Array = f8(1)
    Q_new: Array = f8(3)
    V_new: Array = f8(3)
    A_new: Array = f8(3)


@kernel
def _run(r: Repose, which: int) -> int:
    """What a call returns, if that is a whole number."""
    call(r.words, r.calls[which])
    return r.words[r.calls[which] + RESULT]


@kernel
def _advance(r: Repose, which: int, phases: int) -> None:
    r.numbers[PHASES] = phases
    call(r.words, r.calls[which])


@kernel
def _say(r: Repose, where: Indices, count: int) -> None:
    for k in where:
        r.words[k] = count


@kernel
def _fill(out: Array, value: float) -> None:
    flat = out.reshape(out.size)
    for k in range(len(flat)):
        flat[k] = value


@kernel
def _number(r: Repose) -> bool:
    """Number the islands; whether there are as many as joints alone make."""
    s = r.islands
    count, _ = number_islands(s)
    return count == s.count


@kernel
def _lean(r: Repose, f: Footing, words: Indices) -> bool:
    """What touching adds to the start, and the start; see held.py and stance.py. Whether nothing has to be followed."""
    s, start = r.islands, r.start
    Q, V = r.Q[0], r.V
    for b in range(len(V)):
        for i in range(4):
            for x in range(3):
                r.moved[b, i, x] = Q[b, i, x] - r.Q_before[b, i, x]
    _run(r, _COMPARE)
    separate_islands(s)
    unite_pairs(s.parent, s.is_free, r.survey.runs.pairs, r.survey.runs.number[0])
    if not _number(r) or _run(r, _JUDGE) != 0:
        return False
    _run(r, _FOLLOW)
    copy_rows(Q, start.Q)
    copy_rows(V, start.V)
    for b in range(len(start.held)):
        start.held[b] = 1
    _fill(start.carried, 0.0)
    return start_by_blocks(f, words)


@kernel
def _begin(r: Repose) -> bool:
    """Islands, friction and energies at the start, where the guess hardly moves anything; whether it does not."""
    s, E = r.islands, r.E[0]
    _run(r, _PREDICT)
    _run(r, _GUESS)
    _run(r, _STAY)
    for b in range(len(s.marks)):
        s.marks[b] = 0
        for i in range(4):
            for x in range(3):
                r.way[b, 3 * i + x] = r.Q[0, b, i, x] - r.Q[1, b, i, x]
    separate_islands(s)
    if not _number(r):
        return False
    begin_islands(s)
    _fill(r.last, 0.0)
    for m in range(len(r.part)):
        r.part[m] = r.begins[m]
    if _run(r, _HOLD) != 0:
        return False
    for b in range(len(r.commits)):
        r.commits[b] = 1
    if _run(r, _LOOK) != COVERED:
        return False
    contacts = r.counts[CONTACTS]
    _say(r, r.by_contacts, contacts)
    frictions = r.counts[FRICTIONS] = _run(r, _FREEZE)
    _say(r, r.by_frictions, frictions)
    _say(r, r.by_both, contacts + frictions)
    list_runs(r.friction.pieces, frictions, r.friction.runs)
    _run(r, _NAME)
    for k in range(frictions):
        r.load[k] = r.friction.load[k]
    if r.counts[KNOWN]:
        _say(r, r.by_known, r.counts[KNOWN])
        _run(r, _RECALL)
    _advance(r, _BEGIN, ENERGIES)
    total = 0.0
    for b in range(len(E)):
        E[b] += r.E_contact[b]
    if frictions:
        _run(r, _RUB)
    for b in range(len(E)):
        total += E[b]
    if not abs(total) < math.inf or _run(r, _COUPLE) != 0:
        return False
    _advance(r, _BEGIN, LIMIT)
    _advance(r, _BEGIN, COMPARE)
    _, stays = begin_trials(s, False)
    return stays


@kernel
def _iterate(r: Repose) -> bool:
    """A step of Newton's method, to the end; whether it is the last one."""
    s, numbers, blocks = r.islands, r.numbers, r.blocks
    for runs in (r.survey.runs, r.friction.runs):
        if not has_blocks(runs.number[0], runs.pairs, blocks.position, blocks.row_start, blocks.column):
            return False
    _run(r, _DIRECT)
    _run(r, _TOUCH)
    if _run(r, _FACTOR) >= 0:
        return False
    _run(r, _SOLVE)
    _run(r, _CLEAR)
    if r.calls[_CLOSE] >= 0:
        _run(r, _CLOSE)
        if not r.results[r.calls[_CLOSE] + RESULT] <= GAP:
            return False
    copy(blocks.g, r.y)
    for b in range(len(r.commits)):
        r.commits[b] = 0
    if _run(r, _BOUND) != 0 or not (numbers[STEP] < math.inf and numbers[RATE] < math.inf):
        return False
    if _run(r, _DAMP) != 0 or (r.calls[_SWING] >= 0 and _run(r, _SWING) != 0):
        return False
    _advance(r, _STEP, DECIDE | DAMP | LIMIT | MOVE | ENERGIES)
    return numbers[LEFT] == 0.0 and not keep_from_inverting(s, r.Q[2]) and close_finished(s) == 0


@kernel
def _all_touch(r: Repose) -> bool:
    """Whether every mechanism has a body in touch."""
    s, bodies = r.islands, r.survey.bodies
    for b in range(len(r.marked)):
        r.marked[b] = 0
    for k in range(r.counts[CONTACTS]):
        for side in range(2):
            if bodies[k, side] >= 0:
                r.marked[s.mechanism[bodies[k, side]]] = 1
    touched = 0
    for b in range(len(r.marked)):
        touched += r.marked[s.mechanism[b]]
    return touched == len(r.marked)


@kernel
def _are_the_same(pairs: Indices, runs: Runs) -> bool:
    """Whether runs are those of these pairs of bodies (k, 2)."""
    same = runs.number[0] == len(pairs)
    for k in range(len(pairs) if same else 0):
        same = same and runs.pairs[k, 0] == pairs[k, 0] and runs.pairs[k, 1] == pairs[k, 1]
    return same


@kernel
def _end(r: Repose) -> bool:
    """The new state, its contacts and friction; whether all is well."""
    frictions = r.counts[FRICTIONS]
    _run(r, _REMEMBER)
    _fill(r.E_contact, 0.0)
    before = r.survey.runs.pairs[: r.survey.runs.number[0]].copy()
    r.counts[CONTACTS] = _run(r, _FIND)
    if r.counts[CONTACTS] < 0 or not _all_touch(r) or not _are_the_same(before, r.survey.runs):
        return False
    _fill(r.rubbed, 0.0)
    if frictions:
        _run(r, _SLIP)
        _run(r, _DRAG)
    for k in range(frictions):
        for side in range(2):
            r.pairs[k, side] = r.friction.bodies[k, side]
    _run(r, _TURN)
    _run(r, _COMMIT)
    return not has_failed(r.words)


@spared
def rest(
    r: Repose, f: Footing, words: Indices, Q: Array, V: Array, A: Array, Q_before: Array,
    out: tuple[Array, Array, Array], before: Array, rubbing: Array, known: Indices, past: Array,
) -> int:  # fmt: skip
    """out ← Q, V and A after a step from a state; whether it was taken.

    f and words are a footing and its program; before and rubbing are `pushed` and `rubbing` of the state, known and
    past what contacts remember.
    """
    has_failed(r.words)
    has_failed(words)
    for k in (STEP_TOL, RATE_TOL, CCD_TOL, SETTLED, STRAIGHT, OPEN):
        r.numbers[k] = r.asked[k]
    copy_rows(Q, r.Q[0])
    copy_rows(V, r.V)
    copy_rows(A, r.A)
    copy_rows(Q_before, r.Q_before)
    copy(before, r.before)
    copy(rubbing, r.rubbing)
    r.counts[KNOWN] = len(known)
    for k in range(len(known)):
        for i in range(4):
            r.known[k, i], r.past[k, i] = known[k, i], past[k, i]
    if not _lean(r, f, words) or has_failed(words) or not _begin(r) or not _iterate(r):
        return GIVEN_UP
    if not _end(r):
        return GIVEN_UP_LATE
    _run(r, _RECORD)
    copy_rows(r.Q_new, out[0])
    copy_rows(r.V_new, out[1])
    copy_rows(r.A_new, out[2])
    return TAKEN


@plain_kernel
def stand(
    r: Repose, f: Footing, words: Indices, Q: Array, V: Array, A: Array, Q_before: Array,
    out: tuple[Array, Array, Array], before: Array, rubbing: Array, known: Indices, past: Array,
) -> int:  # fmt: skip
    """The same as part of a march (march.py): all that outlives the step, but for the books, is written in place.

    Returns the iterations that it took, −1 where it is given up: also if there are not as many contacts as before.
    """
    contacts, frictions, scale = r.counts[CONTACTS], r.counts[FRICTIONS], r.h * r.h
    if r.ages[0] + 1 >= r.life or rest(r, f, words, Q, V, A, Q_before, out, before, rubbing, known, past) != TAKEN:
        return -1
    if r.counts[CONTACTS] != contacts or r.counts[FRICTIONS] != frictions:
        return -1
    copy(r.pushes, before)
    copy(r.rubbed, rubbing)
    copy(r.start.carried, r.carried)
    for k in range(frictions):
        for i in range(4):
            known[k, i] = r.keys[k, i]
            past[k, i] = r.force[k, i] if i < 3 else r.load[k] / scale
    r.lost[0] = r.results[r.calls[_SLIP] + RESULT] / scale if frictions else 0.0
    r.dissipated[0] += r.lost[0]
    _run(r, _RATES)
    return 1
