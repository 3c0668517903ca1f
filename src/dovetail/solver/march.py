"""Quiet steps one after the other, without Python in between: what `Simulation.advance` does around `take` (course.py).

    parameters of the last step → targets on their way → multipliers → take → new state → coordinates, time

A march ends where a step is given up, and all is then as it was before that step. It has the bits of steps from Python.
Many marches are one call (`march_all`), which lets go of Python's lock.
"""

from __future__ import annotations

from dovetail.kernel.copy import copy, copy_rows
from dovetail.kernel.kernel import mapped, plain_kernel
from dovetail.kernel.program import RESULT, call, has_failed
from dovetail.kernel.record import Record, f8, i8, integer, nested, real
from dovetail.kernel.threads import Span
from dovetail.solver.contribution import Start
from dovetail.solver.descent import IS_OPEN, Descent
from dovetail.solver.joint.approach import Approaches, approach
from dovetail.solver.load.body_force import BodyForces
from dovetail.solver.phases import RATE, STEP
from dovetail.typing import Array, Indices

__all__ = [
    "CHANGED",
    "DISTURBED",
    "DONE",
    "FRAME",
    "GIVEN_UP",
    "ITERATIONS",
    "LAST_RATE",
    "LAST_STEP",
    "REASON",
    "STRAINED",
    "TOLD",
    "TOUCHED",
    "VERSION",
    "March",
    "begin",
    "conclude",
    "end",
    "give_up",
    "has_strain",
    "keep_books",
    "land",
    "look",
    "march",
    "march_all",
    "refresh",
]

ITERATIONS, LAST_STEP, LAST_RATE, TOLD = range(4)
"""Entries of `told`, and how many there are."""

DONE, CHANGED, STRAINED, GIVEN_UP, DISTURBED, TOUCHED = range(6)
"""Why a march has ended: it is done; attributes have changed; bodies are strained, which is to be told; a step is not
quiet; something else has happened to the world; it is done, and a machine that stands has other contacts than before.
"""

REASON = 32
"""Bits of what `march` returns that are the number of steps; those above are the reason."""

FRAME, VERSION = range(2)
"""Entries of `counters`."""


class March(Record):
    """What quiet steps of one world work on.

    h                       length of a step [s]
    words, take, commit     a program, with the places of a step and of the coordinates' commit, −1 where there are none
    reads                   places of what looks at attributes
    descent, start          of the step
    is_open                 whether exact joints may be open at its start
    Q, V, A, Q_before, V_before (n, 4, 3)   the state
    Q_new, V_new, A_new     room for the next one
    p, past, before         parameters of all laws now, of the last two steps (2, …), and as the last step left them
    kept_past               room for the older of them
    now, rates, steps       places in p of coordinates at the start of the step, which these are; and of h
    approaches              drives on their way
    value                   of the coordinates
    points_force, … (k, 3)   forces of exact joints and their multipliers: points, slides, on coordinates
    used, spent, planes     books of motion, and room for them; of contact, empty without it
    time (2,)               simulated time and what rounding has lost of it [s]
    counters, ages          frame and version; age of the blocks
    seen (2,)               version after the last step, and uses
    uses (1,)               how often others than marches have looked for contacts; empty where no machine stands
    counts, settled         of contacts of a machine that stands, now, and as Python has them
    pushes                  forces on it from outside
    every, strain           frames from one look for strains to the next, and from which strain on that is told
    told (3,)               of the last step: iterations, step and rate
    """

    h: float = real()
    words: Indices = i8(1)
    take: int = integer()
    commit: int = integer()
    reads: Indices = i8(1)
    descent: Descent = nested(Descent)
    is_open: float = real()
    start: Start = nested(Start)
    Q: Array = f8(3)
    V: Array = f8(3)
    A: Array = f8(3)
    Q_before: Array = f8(3)
    V_before: Array = f8(3)
    Q_new: Array = f8(3)
    V_new: Array = f8(3)
    A_new: Array = f8(3)
    p: Array = f8(1)
    past: Array = f8(2)
    before: Array = f8(1)
    kept_past: Array = f8(1)
    now: Indices = i8(1)
    rates: Indices = i8(1)
    steps: Indices = i8(1)
    approaches: Approaches = nested(Approaches)
    value: Array = f8(1)
    points_force: Array = f8(2)
    points_multiplier: Array = f8(2)
    slides_force: Array = f8(2)
    slides_multiplier: Array = f8(2)
    combined_force: Array = f8(2)
    combined_multiplier: Array = f8(2)
    used: Array = f8(1)
    spent: Array = f8(1)
    planes: Array = f8(1)
    kept_used: Array = f8(1)
    kept_spent: Array = f8(1)
    kept_planes: Array = f8(1)
    time: Array = f8(1)
    counters: Indices = i8(1)
    ages: Indices = i8(1)
    seen: Indices = i8(1)
    uses: Indices = i8(1)
    counts: Indices = i8(1)
    settled: Indices = i8(1)
    pushes: BodyForces = nested(BodyForces)
    every: int = integer()
    strain: float = real()
    told: Array = f8(1)


@plain_kernel
def _begin_rows(scale: float, force: Array, multiplier: Array) -> None:
    for k in range(len(force)):
        for x in range(3):
            multiplier[k, x] = force[k, x] * scale


@plain_kernel
def _end_rows(scale: float, multiplier: Array, force: Array) -> None:
    for k in range(len(force)):
        for x in range(3):
            force[k, x] = multiplier[k, x] / scale


@plain_kernel
def refresh(m: March) -> None:
    """Parameters ← those of the step that begins, as `JointRefresh.run` has them."""
    copy(m.past[1], m.kept_past)
    copy(m.past[0], m.past[1])
    copy(m.before, m.past[0])
    approach(m.approaches, m.value, m.past, m.h, m.p)
    for k in range(len(m.now)):
        m.p[m.now[k]] = m.value[m.rates[k]]
    for at in m.steps:
        m.p[at] = m.h


@plain_kernel
def keep_books(m: March) -> None:
    """Remember the books of motion, of which a step that is given up must leave nothing."""
    copy(m.used, m.kept_used)
    copy(m.spent, m.kept_spent)
    copy(m.planes, m.kept_planes)


@plain_kernel
def begin(m: March) -> None:
    """Multipliers and start ← those of the step that begins."""
    scale = m.h * m.h
    _begin_rows(scale, m.points_force, m.points_multiplier)
    _begin_rows(scale, m.slides_force, m.slides_multiplier)
    _begin_rows(scale, m.combined_force, m.combined_multiplier)
    copy_rows(m.Q, m.start.Q)
    copy_rows(m.V, m.start.V)
    for b in range(len(m.start.held)):
        m.start.held[b] = 0
    for k in range(len(m.start.carried)):
        for x in range(3):
            m.start.carried[k, x] = 0.0
    for b in range(len(m.descent.swept)):
        m.descent.swept[b] = 0
    m.descent.worst[0] = 0.0
    m.descent.asked[IS_OPEN] = m.is_open


@plain_kernel
def give_up(m: March) -> None:
    """Have all that outlives a step as it was; parameters that were changed since the last one are to be read anew."""
    copy(m.before, m.p)
    copy(m.past[1], m.past[0])
    copy(m.kept_past, m.past[1])
    copy(m.kept_used, m.used)
    copy(m.kept_spent, m.spent)
    copy(m.kept_planes, m.planes)


@plain_kernel
def land(m: March) -> None:
    """The step was taken: state, forces of joints and coordinates ← those at its end."""
    copy_rows(m.Q, m.Q_before)
    copy_rows(m.V, m.V_before)
    copy_rows(m.Q_new, m.Q)
    copy_rows(m.V_new, m.V)
    copy_rows(m.A_new, m.A)
    conclude(m)


@plain_kernel
def conclude(m: March) -> None:
    """The same of forces and coordinates alone."""
    for place in m.descent.export:
        call(m.descent.words, place)
    scale = m.h * m.h
    _end_rows(scale, m.points_multiplier, m.points_force)
    _end_rows(scale, m.slides_multiplier, m.slides_force)
    _end_rows(scale, m.combined_multiplier, m.combined_force)
    if m.commit >= 0:
        call(m.words, m.commit)


@plain_kernel
def end(m: March) -> int:
    """Time, and all that is counted, ← those after the step; DONE, or STRAINED."""
    copy(m.p, m.before)
    time = m.time[0] + m.h
    m.time[1] += m.h - (time - m.time[0])
    m.time[0] = time
    counters = m.counters
    counters[FRAME] += 1
    counters[VERSION] += 1
    m.seen[0] = counters[VERSION]
    m.ages[0] += 1
    return STRAINED if counters[FRAME] % m.every == 0 and has_strain(m.Q, m.strain) else DONE


@plain_kernel
def has_strain(Q: Array, least: float) -> bool:
    """Whether an entry of AᵀA − 1 is as large as that for any body."""
    for b in range(len(Q)):
        for i in range(1, 4):
            for j in range(i, 4):
                total = -1.0 if i == j else 0.0
                for x in range(3):
                    total += Q[b, i, x] * Q[b, j, x]
                if not abs(total) < least:
                    return True
    return False


@plain_kernel
def _has_changed(m: March) -> bool:
    """Look at attributes: whether any has changed."""
    changed = False
    for place in m.reads:
        call(m.words, place)
        changed = changed or m.words[place + RESULT] != 0
    return changed


@plain_kernel
def look(m: March) -> int:
    """DONE, or why there can be no march now."""
    if m.counters[VERSION] != m.seen[0]:
        return DISTURBED
    if len(m.uses) and (m.uses[0] != m.seen[1] or len(m.pushes.body)):
        return DISTURBED
    return CHANGED if _has_changed(m) else DONE


@plain_kernel
def _is_touched(m: March) -> bool:
    """Whether Python has other numbers of contacts than there are."""
    touched = False
    for k in range(len(m.counts)):
        touched = touched or m.counts[k] != m.settled[k]
    return touched


@plain_kernel
def march(m: March, steps: int) -> int:
    """Take so many steps, as long as they are quiet; how many were taken, and why it has ended: see REASON."""
    told, numbers = m.told, m.descent.numbers
    reason = look(m)
    if reason != DONE:
        return reason << REASON
    for taken in range(steps):
        refresh(m)
        keep_books(m)
        begin(m)
        call(m.words, m.take)
        iterations = m.words[m.take + RESULT]
        if iterations < 0 or has_failed(m.words):
            give_up(m)
            return (GIVEN_UP << REASON) + taken
        land(m)
        told[ITERATIONS], told[LAST_STEP], told[LAST_RATE] = iterations, numbers[STEP], numbers[RATE]
        if end(m) == STRAINED:
            return (STRAINED << REASON) + taken + 1
    return (TOUCHED << REASON) + steps if _is_touched(m) else steps


@mapped
def march_all(words: Indices, chosen: Indices, fetch_at: int, span: Span) -> None:
    """March of some of the chosen worlds; rows of words (n, ·) are a program each, with what fetches their memory."""
    for k in range(span[1], span[2]):
        if k + 1 < span[2]:
            call(words[chosen[k + 1]], fetch_at)
        call(words[chosen[k]], 1)
