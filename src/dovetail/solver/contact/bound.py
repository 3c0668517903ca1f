"""What contact says of a step, in one call where there is little work.

Whether the step is covered (motion.py), whom it couples into islands (threat.py), how long it is in each of them
(iterate.py), what share of it is free (motion.py, ccd.py), whether it changes forces (steady.py), and which friction it
leads to (friction.py). In several calls, by chunks, `Iteration.bound` says the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail.kernel.kernel import kernel
from dovetail.solver.contact.active import ActiveContacts
from dovetail.solver.contact.candidates import Candidates
from dovetail.solver.contact.ccd import keep_open
from dovetail.solver.contact.friction import Frictions
from dovetail.solver.contact.known import Watched
from dovetail.solver.contact.motion import COVERED, EVERYTHING, look_at_chunk, tighten
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.contact.secant import foresee, size_by_rests
from dovetail.solver.contact.steady import mark_changing
from dovetail.solver.contact.threat import EVERY_PHASE, Threats, couple_phases
from dovetail.solver.islands import Islands
from dovetail.solver.iterate import measure
from dovetail.solver.phases import RATE, RATE_TOL, STEP, STEP_TOL
from dovetail.typing import Array, Indices

if TYPE_CHECKING:
    from dovetail.solver.contact.contact import Contact
    from dovetail.solver.potential import Evaluation

__all__ = [
    "COUPLE", "FORESEE", "FREE", "LOOK", "ask_for_share", "bound", "bound_phases", "guard_what_is_held", "is_small",
]  # fmt: skip

LOOK, COUPLE, FREE, FORESEE = (1 << phase for phase in range(4))
LOW = 0.25
"""Contacts are looked for anew when less than this share of a guarded step fits into what they were found for."""
_REVIVED, _RENUMBERED, _SPENT = 1, 2, 4  # what `bound_phases` finds


@kernel
def ask_for_share(marks: Indices, whole: bool, share: Array) -> None:
    """share (n,) ← what of a step is to be covered: all of it, but for bodies that a guard is concerned with."""
    for b in range(len(marks)):
        share[b] = 1.0 if whole or marks[b] == 0 else LOW


@kernel
def guard_what_is_held(islands: Islands) -> None:
    """Islands that may not take all of a step count as guarded."""
    for m in range(islands.count):
        if islands.alpha[m] < 1.0:
            islands.guarded[m] = 1


@kernel
def bound_phases(
    candidates: Candidates, scene: ContactScene, s: ActiveContacts, watch: Watched, islands: Islands, f: Frictions,
    threats: Threats, Q: Array, y: Array, weight: Array, numbers: Array, asked: tuple[int, int, int, bool],
) -> tuple[int, int]:  # fmt: skip
    """Phases of the step −y from Q: what was found, and how many islands there are.

    It ends where the step is not covered, or if there are not as many islands as before: what is by island comes next.
    weight (n,) is h² m g of bodies.
    """
    contacts, frictions, phases, commits = asked
    count, found, share = islands.count, 0, threats.share
    if phases & LOOK:
        ask_for_share(islands.marks, commits, share)
    if phases & LOOK and look_at_chunk(watch, Q, y, commits, islands.of, share, EVERYTHING) != COVERED:
        return _SPENT, count
    if phases & COUPLE:
        everything, counts = (0, 0, len(candidates.pairs), EVERY_PHASE), (contacts, frictions, False)
        told = couple_phases(candidates, scene, s, watch, islands, y, f.runs, threats, counts, everything)
        count, found = told // 2, _REVIVED if told % 2 else 0
        if count != islands.count:
            return found | _RENUMBERED, count
    if phases & FREE:
        alpha, step_tol, rate_tol = islands.alpha, numbers[STEP_TOL], numbers[RATE_TOL]
        numbers[STEP], numbers[RATE] = measure(watch.centre, watch.half, islands, y, step_tol, rate_tol)
        shares = alpha.reshape((1, len(alpha)))
        tighten(watch, islands, shares, (0, 0, len(watch.near)))
        all_of_them = (0, 0, len(candidates.pairs))
        everyone = islands.is_free
        keep_open(candidates, scene, s.X, watch.path, watch.need, islands, y, everyone, shares, all_of_them)
        guard_what_is_held(islands)
    if phases & FORESEE:
        mark_changing(s, weight, f.mass, islands, y, numbers[STEP_TOL], contacts)
    if phases & FORESEE and frictions and foresee(f, y, islands.unconverged, (0, 0, frictions)):
        size_by_rests(f, frictions, 1, islands, numbers[STEP_TOL])
    return found, count


def is_small(contact: Contact) -> bool:
    """Whether there is something to say, and little work, of steps that are covered to their end."""
    return not (contact.watch.is_short or contact.is_clear or contact.watch.is_large)


def bound(
    contact: Contact, at: Evaluation, y: Array, islands: Islands, numbers: Array, commits: Indices | None, phases: int
) -> bool | None:  # fmt: skip
    """Phases of the step −y from a state; whether bodies run that had converged, None if it is not covered.

    See guard.py for `commits`.
    """
    s, f, watch, threats = contact.go_to(at), contact.friction, contact.watch, contact.threats
    candidates = watch.candidates
    threats.make_room(candidates.count, 1)
    if phases & LOOK:
        watch.commits[:] = 0 if commits is None else commits
    arguments = (candidates, contact.scene, s, watch, islands, f, threats, at.Q, y, contact.borne, numbers)
    all_commit = commits is not None
    found, count = bound_phases(*arguments, (s.count, f.count, phases, all_commit))
    if found == _SPENT:
        return None
    if phases & COUPLE:
        islands.are_by_joints = False
    if found & _RENUMBERED:
        islands.count = count
        bound_phases(*arguments, (s.count, f.count, phases & (FREE | FORESEE), all_commit))
    return bool(found & _REVIVED)
