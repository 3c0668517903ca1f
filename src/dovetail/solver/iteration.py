"""The iteration of one step: islands, guards, and one Newton iteration of all islands that have not converged.

direction → islands and guards of the step → free share → line search. Every step is bounded by what guards allow and
then halved until the energy of the island does not rise; a step within the tolerances is taken whole and ends the
island, as does one that changes nothing that arithmetic can see (floor.py).
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.errors import NotFinite, SolverError
from dovetail.solver.contact.bound import (
    COUPLE,
    FORESEE,
    FREE,
    LOOK,
    ask_for_share,
    bound,
    guard_what_is_held,
    is_small,
)  # fmt: skip
from dovetail.solver.contact.swing import limit_turns, swing
from dovetail.solver.convergence import close_finished
from dovetail.solver.floor import PATIENCE, Floor
from dovetail.solver.iterate import keep_from_inverting, shorten
from dovetail.solver.model import Model
from dovetail.solver.phases import (
    CCD_TOL,
    COMPARE,
    CURVED,
    DAMP,
    DECIDE,
    ENERGIES,
    LEFT,
    LIMIT,
    MEASURE,
    MOVE,
    OPEN,
    RATE,
    RATE_TOL,
    RISING,
    SETTLED,
    STEP,
    STEP_TOL,
    STRAIGHT,
)
from dovetail.solver.potential import Evaluation
from dovetail.solver.solution import Solution, Tolerances
from dovetail.typing import Array, Flags, Indices

__all__ = ["Iteration"]

_FAR = 100.0  # tolerances
_CLOSING = 8  # steps before the limit from which on none is curved: where it ends the iteration, joints are closed


class Iteration:
    """The iteration of one step: `at` is the evaluation of the present iterate, solution what is known so far."""

    def __init__(self, model: Model, Q_start: Array, h: float, tolerances: Tolerances) -> None:
        self.model, self.tolerances, self.Q_start, self.h = model, tolerances, Q_start, h
        self.potential, self.islands, self.guards = model.potential, model.islands, model.guards
        self.solution = Solution(Q_start)
        self.at: Evaluation
        self._floor: Floor | None = None
        self._has_curved = False
        self._straight: Array | None = None  # the direction before bodies were let turn along it
        if self.guards:
            self.islands.marks[:] = 0 if model.stops is None else model.stops.bodies
        self.islands.begin()
        self.potential.begin()
        self.numbers = numbers = self.potential.numbers
        numbers[STEP_TOL], numbers[RATE_TOL] = tolerances.velocity_tol * h, tolerances.transrate_tol * h

    # ---- islands and guards ----------------------------------------------------------------------------------

    def number(self, y: Array) -> bool:
        """Find the islands of the step −y, and which of them are guarded; True if bodies run that had converged."""
        contact, islands = self.model.contact, self.islands
        if contact is None or (contact.is_clear and islands.are_by_joints):
            return False  # joints alone make islands, and hard limits guard the same ones always
        if self._is_small:
            return bool(bound(contact, self.at, y, islands, self.numbers, None, COUPLE))
        if self.model.stops is None and not contact.is_clear:
            return contact.number(self.at, y, islands)
        islands.marks.fill(0)
        islands.separate()
        for guard in self.guards:
            guard.couple(self.at, y, islands)
        return islands.number()

    def bound(self, y: Array, commits: Indices | None = None, foresees: bool = False) -> bool:
        """Have guards look at the step −y from here: True if bodies run that had converged.

        Its islands; their size and α ← what of it is free; those that may not take all of it count as guarded. Bodies
        that commit (n,) take it whole; a direction of Newton's method `foresees` friction.
        """
        contact, islands, numbers, revived = self.model.contact, self.islands, self.numbers, None
        whole = commits is not None or not self.some_guarded
        phases = COUPLE | FREE | (FORESEE if foresees else 0)
        if self._is_small:
            assert contact is not None
            revived = bound(contact, self.at, y, islands, numbers, commits, LOOK | phases)
        if revived is None:
            share = self.model.whole if whole else self.model.share
            if not whole:
                ask_for_share(islands.marks, False, share)
            for guard in self.guards:
                guard.cover(self.at, y, islands, share, commits)
            if self._is_small:
                assert contact is not None
                revived = bound(contact, self.at, y, islands, numbers, commits, phases)
        if revived is None:
            revived = self.number(y)
            self.potential.run(MEASURE, y, self.at, self.at)
            if self.some_guarded:  # else all of it was covered
                for guard in self.guards:
                    guard.free_share(self.at, y, islands)
                guard_what_is_held(islands)
                if foresees and contact is not None:
                    contact.foresee(self.at, y, islands, numbers[STEP_TOL])
        return revived

    @property
    def _is_small(self) -> bool:
        """Whether contact alone is concerned, and says what it has to say in one call."""
        contact = self.model.contact
        return contact is not None and self.model.stops is None and is_small(contact)

    @property
    def some_guarded(self) -> bool:
        """Whether a guard is concerned with any body."""
        contact = self.model.contact
        return self.model.stops is not None or (contact is not None and not contact.is_clear)

    @property
    def _is_open(self) -> bool:
        """Whether a line search has to count how open exact joints are."""
        exact = self.potential.exact
        return exact is not None and not exact.stay_closed

    def lands(self, in_flight: Flags | None) -> bool:
        """Whether a contact of the present iterate holds a body in flight (n,); `landed` ← all that contacts hold."""
        contact, found = self.model.contact, self.at.contacts
        if in_flight is None or contact is None or found is None or not found.count:
            return False
        landed = contact.in_touch(found)
        if not np.count_nonzero(landed & in_flight):
            return False
        self.solution.landed = landed
        return True

    @property
    def is_far(self) -> bool:
        """Whether contact cuts the steps of an island that runs, which are by far too long to be the last ones."""
        s, m, contact = self.islands, self.islands.count, self.model.contact
        if contact is None or contact.is_clear:
            return False
        return bool(((s.running[:m] != 0) & (s.guarded[:m] != 0) & (s.size[:m] > _FAR)).any())

    # ---- steps -----------------------------------------------------------------------------------------------

    def direction(self, exact: bool = True, iteration: int = 0) -> Array:
        """y (n, 12) with Q − y the Newton iterate."""
        self.solution.iterations += 1
        return self.model.directions.newton(self.at, exact, iteration)

    def check(self, y: Array) -> None:
        """Take over the size of a step, infinite where exact joints stay open; refuse one that is not finite."""
        solution, exact, islands = self.solution, self.potential.exact, self.islands
        solution.step, solution.rate = float(self.numbers[STEP]), float(self.numbers[RATE])
        if not (solution.step < math.inf and solution.rate < math.inf):
            raise NotFinite(self._not_finite(y))
        if exact is not None and not exact.closed:
            islands.size[: islands.count][islands.sum(exact.open(len(y))) > 0.0] = math.inf

    def iterate(self, k: int, exact: bool, ccd_tol: float, may_settle: bool) -> tuple[bool, int]:
        """Iteration k: whether a step was found along its direction, and how many islands are not done."""
        islands, numbers, potential, contact = self.islands, self.numbers, self.potential, self.model.contact
        stops = self.model.stops
        if stops is not None and stops.stiffen(self.at.Q):
            self.at = potential.at(self.at.Q)
        y = self.direction(exact, k)
        if stops is not None:
            stops.straighten(self.model.directions, self.at.Q, y)
        numbers[SETTLED], numbers[CCD_TOL] = may_settle, ccd_tol if may_settle else math.inf
        numbers[STRAIGHT] = k + _CLOSING >= self.tolerances.max_iter
        trial = potential.bare(self.model.buffers.spare(self.at.Q), self.at)
        stalled: Flags | None = None
        if not self.guards and potential.exact is None and potential.is_standard and k < PATIENCE:
            numbers[OPEN] = 0.0
            potential.run(MEASURE | DECIDE | LIMIT | MOVE | ENERGIES | COMPARE, y, self.at, trial)
            self.check(y)
            rising = int(numbers[RISING])
        else:
            if self.bound(y, foresees=True):
                self.at = potential.at(self.at.Q, trial)  # contacts of bodies that run again
                numbers[SETTLED], numbers[CCD_TOL] = 0.0, math.inf
            self.check(y)
            touches, self._straight = contact is not None and not contact.is_clear, None
            if touches:
                self._learn_from_contact()
                if exact:  # else its line search has failed before
                    self._swing(y)
            if self._is_open:
                self.model.allow_gaps()
            elif self._has_curved:
                self.model.directions.export_multipliers()
            numbers[OPEN] = self._is_open
            first = DECIDE | DAMP | LIMIT if touches else DECIDE | LIMIT
            if k >= PATIENCE and may_settle:
                potential.run(first & ~LIMIT, y, self.at, trial)
                self._floor = self._floor or Floor(len(y))
                stalled = self._floor.halve_stalled(islands)
                first = LIMIT
            rising = self._try_step(y, trial, first)
        found = self._line_search(y, trial, rising) if numbers[LEFT] else self._finish(y, trial)
        left = int(numbers[LEFT]) - close_finished(islands)
        if left and self._stiffens(k):
            self.at = potential.at(self.at.Q)
        if self._floor is not None and stalled is not None and left:
            ended = self._floor.end_stalled(islands, stalled)
            left, self.solution.at_floor = left - ended, self.solution.at_floor or ended > 0
        for guard in self.guards:
            guard.record_motion(islands)
        return found, left

    def _try_step(self, y: Array, trial: Evaluation, first: int = 0) -> int:
        """Take α of the step, evaluate there; in how many islands the energy rises. Where all are done, only move."""
        potential, numbers = self.potential, self.numbers
        compare = COMPARE if potential.is_standard else 0
        potential.run(first | MOVE | (ENERGIES | compare if first & DECIDE or numbers[LEFT] else 0), y, self.at, trial)
        if not numbers[LEFT]:
            return 0
        if first & DECIDE and numbers[CURVED] and potential.exact is not None and not numbers[OPEN]:
            self._has_curved = True
            self.model.directions.export_multipliers()
            return self._try_step(y, trial, LIMIT)
        if not compare:
            potential.add_others(trial)
            potential.run(COMPARE, y, self.at, trial)
        return int(numbers[RISING])

    def _finish(self, y: Array, trial: Evaluation) -> bool:
        """The last step of all islands, which no energy tests."""
        if keep_from_inverting(self.islands, trial.Q):
            self.potential.run(MOVE, y, self.at, trial)
        self.solution.Q = trial.Q
        return True

    def _line_search(self, y: Array, trial: Evaluation, rising: int) -> bool:
        """Halve α of the islands whose energy rises, then take the step; False if one found no α.

        Islands that are done take theirs untested.
        """
        islands, solution, most = self.islands, self.solution, self.tolerances.line_search_max_iter
        if rising and self.potential.exact is not None and not self.numbers[OPEN]:
            # a sweep closes joints of stiff bodies to 1e-10 m and no better: closing that may cost energy
            self.model.allow_gaps()
            self.numbers[OPEN] = 1.0
            self.potential.run(LIMIT | COMPARE, y, self.at, trial)
            rising = int(self.numbers[RISING])
        for _ in range(most if rising else 0):
            solution.halvings += rising
            shorten(islands, True)
            if self._straight is not None:
                np.copyto(y, self._straight)
                self._swing(y)
            rising = self._try_step(y, trial)
            if not rising:
                break
        # a final trial that still rises stands: it differs by round-off, or the direction was bad
        if not math.isfinite(np.add.reduce(trial.E)):
            # … unless it is not allowed at all: a body turned inside out
            refused = ~np.isfinite(islands.sum(trial.E))
            islands.alpha[: islands.count][refused], islands.done[: islands.count][refused] = 0.0, 0
            self._try_step(y, trial)
        self.at, solution.Q = trial, trial.Q
        return rising == 0

    def _learn_from_contact(self) -> None:
        """Damping for the next iteration, from the size of this step and what of it is free."""
        contact, islands, m = self.model.contact, self.islands, self.islands.count
        assert contact is not None
        free = islands.alpha[:m]
        if contact.watch.is_short:  # a step that is taken in parts is not blocked
            free = free / np.maximum(contact.covered, 1e-300)
        self.model.directions.damping.update(islands.of, free, islands.size)

    def _swing(self, y: Array) -> None:
        """Let y turn bodies without stretching them: for the α at hand, so again after each halving.

        What of it is free is asked once more for these bodies alone: it was asked for the others.
        """
        contact, contacts, mass, turns = self.model.contact, self.at.contacts, self.model.bodies.mass, self.model.turns
        assert contact is not None and contacts is not None
        limit_turns(self.islands, y)
        straight = y.copy() if self._straight is None else self._straight
        turned, on_joints = swing(self.islands, mass, contacts, contacts.count, self.at.Q, y, turns)
        if turned:
            self._straight = straight
            if on_joints:
                self.model.allow_gaps()
            contact.keep_apart(self.at, y, self.islands, turns)

    def _stiffens(self, k: int) -> bool:
        """Whether contacts have become firmer, which changes energies."""
        contact, before = self.model.contact, self.solution.E_before
        if contact is None or before is None:
            return False
        return contact.firmness.stiffen(self.at.contacts, self.islands, k, before - self.at.E)

    def end_early(self, not_taken: Array, left: int) -> int:
        """Semi-implicit steps: end islands of which enough was taken; not_taken (n,) is the share that was not."""
        islands, m = self.islands, self.islands.count
        not_taken *= 1.0 - np.append(islands.alpha[:m], 1.0)[islands.of]
        late = islands.sum((not_taken > self.tolerances.early_exit_tol).astype(float)) == 0.0
        left -= int((late & (islands.done[:m] == 0) & (islands.running[:m] != 0)).sum())
        islands.done[:m] |= late
        return left

    def _not_finite(self, y: Array) -> str:
        finite = np.isfinite(y).all(axis=1)
        body = int(np.argmin(finite)) if not finite.all() else int(np.argmax(np.abs(y).max(axis=1)))
        return f"the step of {self.model.bodies.name(body)} is not a finite number; check its velocity, forces and mass"

    def begin_contacts(self, y: Array) -> None:
        """`at` ← the start of the step, which is expected to be −y; raises where surfaces intersect."""
        start, contact = self.potential.bare(self.Q_start), self.model.contact
        if contact is not None and not contact.begin(start, y, self.h, self.islands):
            raise SolverError(
                "surfaces intersect or touch at the start of the step; bodies were placed into each other from outside"
            )
        self.potential.run(ENERGIES, self.potential.no_step, start, start)
        self.potential.add_others(start, is_start=True)
        self.solution.E_before = start.E.copy()
        if not math.isfinite(np.add.reduce(start.E)):
            name = self.model.bodies.name(int(np.argmin(np.isfinite(start.E))))
            raise NotFinite(
                f"the energy of {name} is not finite at the start of the step: it is inverted or has NaN in its state"
            )
        self.at = start
