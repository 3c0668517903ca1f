"""Machines that stand: which steps are taken in one call (repose.py), and what of them Python keeps.

A step is tried where the last one was like it: everything that moves touches something and has a start by blocks in one
call (stance.py), candidates and structure are what they were. One that is given up leaves the state alone, and the
general way begins it anew; another one is tried after a step that was like those, later and later if in vain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dovetail.kernel.kernel import is_awaited, jit_enabled
from dovetail.kernel.program import RESULT, Program
from dovetail.solver.blocks import clear_resting
from dovetail.solver.contact.standing import StandingContact, rooms_of
from dovetail.solver.damping import damp
from dovetail.solver.descent import nowhere
from dovetail.solver.directions import STRUCTURE_LIFE
from dovetail.solver.following import compare, follow, judge, remember
from dovetail.solver.footing import Footing
from dovetail.solver.integrator import CARRIED, Methods
from dovetail.solver.linear.cholesky import factor, solve
from dovetail.solver.phases import CCD_TOL, NUMBERS, OPEN, RATE, RATE_TOL, SETTLED, STEP, STEP_TOL
from dovetail.solver.predict import first_guess, predict, stay_if_struck
from dovetail.solver.quiet import MOST
from dovetail.solver.repose import CALLS, CONTACTS, COUNTS, FRICTIONS, GIVEN_UP_LATE, TAKEN, Repose, rest
from dovetail.solver.solution import Solution, Tolerances
from dovetail.solver.state import State, commit_state, mean_rates
from dovetail.typing import Array, Indices

if TYPE_CHECKING:
    from dovetail.solver.model import Model

__all__ = ["Still"]

_PATIENCE = 16  # steps at most that are not tried after one that was given up


class Still:
    """The steps of a model that stands; is_possible is False where there are none, by what the model has."""

    def __init__(self, model: Model) -> None:
        self._model, contact, laws = model, model.contact, model.potential.laws
        self.is_possible = jit_enabled and model.stance.is_possible and model.stops is None and contact is not None
        if contact is not None:
            scene = contact.scene
            self.is_possible &= contact.stick is not None and not scene.some_roll and not scene.restitution.any()
        self.is_possible &= not len(model.without_inertia) and (laws is None or not len(laws.rotors))
        self.taken, self.was_taken, self._rests = 0, False, False
        self._waits, self._failures = 0, 0
        self._asked_for: tuple[object, ...] = ()
        self._made_for: tuple[object, ...] = ()
        self._touching = np.ones(model.bodies.count, np.bool_)
        self._everyone = self._touching.tobytes()
        self._mechanisms = int(model.islands.mechanism.max(initial=-1)) + 1

    # ---- which steps they are --------------------------------------------------------------------------------

    def _is_made(self, h: float, methods: Methods, tolerances: Tolerances) -> bool:
        """Whether there is a program for steps like this one; it is made where the last one was like it."""
        contact, stance = self._model.contact, self._model.stance.made_for(h, methods)
        assert contact is not None
        if stance is None:
            return False
        asked_for = stance, tolerances, *rooms_of(contact)
        if list(map(id, asked_for)) != list(map(id, self._made_for)):
            lasts, self._asked_for = list(map(id, asked_for)) == list(map(id, self._asked_for)), asked_for
            if not lasts or is_awaited(rest):
                return False
            self._made_for = ()  # an interrupt may come before both are set
            self._make(h, methods, tolerances)
            self._made_for, self._footing = asked_for, stance[:2]
        aimed = self._contact.aim()
        if aimed is None:
            self._made_for = ()
        if aimed and self._repose.survey is not contact.found:
            self._repose.survey = contact.found
        return bool(aimed)

    def _fits(self, state: State, h: float, methods: Methods, tolerances: Tolerances) -> bool:
        """Whether a step may be tried."""
        model, directions, start = self._model, self._model.directions, self._model.start
        if not self._rests or not methods.all_held or state.dt_before != h or start.h != h or start.ratio != 1.0:
            return False
        if self._waits:
            self._waits -= 1
            return False
        if tolerances.early_exit >= 0 or tolerances.min_iter or tolerances.max_iter < MOST:
            return False
        if model.loads.act or model.potential.soft_transforms.count or directions.age + 1 >= STRUCTURE_LIFE:
            return False
        if not self._is_made(h, methods, tolerances) or not self._contact.is_ready(state.Q, h):
            return False
        return state.lagging.tobytes() == self._everyone and not np.count_nonzero(state.changed)

    # ---- taking them -----------------------------------------------------------------------------------------

    def step(self, state: State, h: float, methods: Methods, tolerances: Tolerances) -> tuple[Solution, float] | None:
        """Advance the state by h; what was found, and what friction has taken [J]. None if it is as before."""
        self.was_taken = False
        if not self._fits(state, h, methods, tolerances):
            return None
        model, r = self._model, self._repose
        directions, islands, exact, numbers = model.directions, model.islands, model.potential.exact, r.numbers
        age = directions.age
        model.prepare(h, methods.weight)
        directions.export_multipliers()
        r.asked[OPEN] = exact is not None and not exact.stay_closed
        if islands.count != self._mechanisms:
            islands.are_by_joints = False
            islands.by_joints()
        assert model.contact is not None and model.contact.stick is not None
        r.counts[CONTACTS], stick = model.contact.found.count, model.contact.stick
        found = rest(
            r, *self._footing, state.Q, state.V, state.A, state.Q_before, state.spare, state.pushed, state.rubbing,
            stick.keys, stick.force,
        )  # fmt: skip
        if found != TAKEN:
            directions.age = age
            self.give_up(found == GIVEN_UP_LATE)
            return None
        islands.are_by_joints = False
        self._failures, self.taken, self.was_taken = 0, self.taken + 1, True
        counts, frictions, Q_before = r.counts.tolist(), int(r.counts[FRICTIONS]), state.Q
        pushes = r.pushes.copy(), model.start.carried.copy()
        lost = float(r.results[self._slip + RESULT]) / (h * h) if frictions else 0.0
        state.accept(h, self._touching.copy(), pushes, r.rubbed.copy(), self._touching.copy(), model.nobody)
        self._contact.take_over(Q_before, state.Q, h, *counts)
        if exact is not None:
            exact.worst, exact.size = r.results[self._close + RESULT : self._close + RESULT + 2].tolist()
        model.commit(h, converged=True)
        return Solution(state.Q, 1, 0, 0, float(numbers[STEP]), float(numbers[RATE]), converged=True), lost

    def give_up(self, is_late: bool) -> None:
        """A step was given up, late in it or not: the general way begins it anew, and the next ones."""
        self._model.islands.are_by_joints = False
        self._model.directions.damping.renew()
        self._contact.give_up(is_late)
        self._rests = False
        if self._model.directions.age + 1 < STRUCTURE_LIFE:  # else it was bound to be
            self._failures = min(2 * self._failures + 1, _PATIENCE)
            self._waits = self._failures

    def learn(self, solution: Solution) -> None:
        """A step was taken in the general way: whether one like it may be one of these."""
        self._rests = self.is_possible and solution.iterations == 1 and solution.restarts == 0

    # ---- as part of marches ----------------------------------------------------------------------------------

    def further(self, h: float) -> tuple[Repose, Footing, Indices] | None:
        """What further steps like the last one work on, as long as nothing but them changes the state; None if none do.

        `stand` has the rest.
        """
        model = self._model
        if not self.was_taken or self._repose.h != h or model.loads.act or model.potential.soft_transforms.count:
            return None
        return self._repose, *self._footing

    def aim(self, state: State, dissipated: Array) -> None:
        """Have marches begin in the present state; they add to what friction has dissipated [J]."""
        r, exact = self._repose, self._model.potential.exact
        r.carried, r.dissipated, r.friction.in_place = state.carried, dissipated, True
        r.asked[OPEN] = exact is not None and not exact.stay_closed

    @property
    def counts(self) -> Indices:
        """Of contacts at the end of the last step: see `settle`."""
        return self._repose.counts

    def settle(self, state: State) -> None:
        """A march has ended in the present state."""
        self._contact.settle(state.Q_before, state.Q, self._repose.h, *self._repose.counts.tolist())

    @property
    def lost(self) -> float:
        """Work done against friction in the last step of a march [J]."""
        return float(self._repose.lost[0])

    # ---- the program -----------------------------------------------------------------------------------------

    def _make(self, h: float, methods: Methods, tolerances: Tolerances) -> None:
        from dovetail.solver.first_iterate import hold_still  # which imports the model

        model, program = self._model, Program()
        bodies, potential, islands, contact = model.bodies, model.potential, model.islands, model.contact
        start, directions, blocks, n = model.start, model.directions, model.directions.blocks, bodies.count
        assert contact is not None
        half, total, inner = model.stance.room
        Q, E, way, y = np.zeros((3, n, 4, 3)), np.zeros((2, n)), np.zeros((n, 12)), directions.y
        V, A, Q_before, moved, u, change, *new = np.zeros((9, n, 4, 3))
        before, rubbing, pushed, out = (np.zeros((n, k)) for k in (19, 16, 13, 19))
        sizes, phi, rigour = np.zeros((6, n)), np.zeros(n), np.ones(n + 1)
        chosen, waits, marked = np.zeros((3, n), np.int64)
        within, free = (tolerances.velocity_tol * h, tolerances.transrate_tol * h), bodies.is_free
        self._contact = made = StandingContact(contact, program, islands, h)
        calls: dict[str, int] = {}
        calls["compare"] = program.add(
            compare, bodies, free, model.nobody, Q[0], A, Q_before, before, rubbing, pushed, u, change, sizes
        )
        calls["judge"] = program.add(judge, islands, sizes, h, h, free, phi, rigour, chosen, waits)
        calls["follow"] = program.add(
            follow, bodies, h, phi, waits, Q[0], moved, rubbing, before, u, potential.no_step, (V, half, pushed)
        )
        calls["predict"] = program.add(
            predict, methods.prediction, methods.of, h, free, bodies.is_dynamic, total, Q[0], start.V, Q_before, V,
            potential.Q_tilde,
        )  # fmt: skip
        calls["guess"] = program.add(first_guess, h * h / methods.weight, free, Q[0], potential.Q_tilde, A, Q[1])
        calls["stay"] = program.add(
            stay_if_struck, bodies, islands.mechanism, self._touching, 1.0, Q_before, Q[0], potential.Q_tilde, Q[1]
        )
        calls["hold"] = program.add(hold_still, bodies, islands, within, Q[0], Q[1], way)
        calls |= made.bind(
            blocks, Q[0], way, y, E[0], Q[2], potential.numbers, None if model.all_exact else bodies.mass
        )
        calls["begin"] = potential.bind(program, y, (Q[0], E[0]), (Q[0], E[0]))
        calls["step"] = potential.bind(program, y, (Q[0], E[0]), (Q[2], E[1]))
        calls["direct"] = potential.bind_assembly(program, Q[0], blocks)
        active, rows = islands.unconverged, (0, 0, len(blocks.order))
        matrix = blocks.order, blocks.row_start, blocks.column, active, blocks.D, blocks.U, blocks.R
        calls["factor"] = program.add(factor, *matrix, rows)
        calls["solve"] = program.add(solve, *matrix, blocks.g, rows)
        calls["clear"] = program.add(clear_resting, active, blocks.g)
        calls["close"] = -1
        if potential.exact is not None:
            calls["close"] = potential.exact.bind(program, False, blocks, active, Q[0], blocks.g)
        damping = directions.damping
        calls["damp"] = program.add(damp, islands.of, islands.alpha[: self._mechanisms], islands.size, damping.sigma)
        calls["remember"] = program.add(remember, bodies.mass, Q[0], 1.0 - CARRIED, inner, methods.held, pushed, out)
        calls["commit"] = program.add(
            commit_state, methods.rates, methods.of, h, methods.weight, free, Q[2], potential.Q_tilde,
            (start.V, total), Q[0], Q_before, tuple(new),
        )  # fmt: skip
        self.rates, self.descent = np.zeros((n, 4, 3)), nowhere(n, potential.numbers)
        calls["rates"] = program.add(mean_rates, bodies.mass, self._touching, h, Q[0], Q[2], self.rates)
        words = program.words()
        made.begin(words)
        self.program, self._slip, self._close = program, calls["slip"], calls["close"]
        asked = np.zeros(NUMBERS)
        asked[[STEP_TOL, RATE_TOL, SETTLED]] = *within, 1.0
        asked[CCD_TOL] = tolerances.ccd_tol if potential.exact is None else 1.0
        counted = {
            name: np.array(getattr(made, name)) for name in ("by_contacts", "by_frictions", "by_both", "by_known")
        }
        part, begins = potential.parts
        self._repose = Repose(
            h=h, words=words, results=words.view(np.float64), calls=np.array([calls[name] for name in CALLS]),
            counts=np.zeros(COUNTS, np.int64), start=start, islands=islands, blocks=blocks, survey=contact.found,
            friction=contact.friction, numbers=potential.numbers, asked=asked, last=potential.last,
            part=part, begins=begins, Q=Q, V=V, A=A,
            Q_before=Q_before, moved=moved, E=E, E_contact=contact.E_found, way=way, y=y, before=before,
            rubbing=rubbing, rubbed=made.rubbed, pushes=out, carried=start.carried, known=made.known, past=made.past,
            keys=made.keys, force=made.force, load=made.load, pairs=made.pairs, commits=contact.watch.commits,
            marked=marked, ages=directions.ages, life=STRUCTURE_LIFE, lost=np.zeros(1), dissipated=np.zeros(1),
            Q_new=new[0], V_new=new[1], A_new=new[2], **counted,
        )  # fmt: skip
