"""Steps in which nothing but joints and laws acts, and how they are taken in few calls.

Which those are is asked anew in each step. `Quiet.step` is a whole step in one call (course.py), `Quiet.minimise`
Newton's method alone (descent.py), where the start of a step is more than that. Both have the bits of the general way,
and no answer where a step is not quiet, or turns out not to be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dovetail.kernel.kernel import is_awaited, jit_enabled
from dovetail.kernel.program import RESULT, Program
from dovetail.solver.articulated.arrays import SweepWeights
from dovetail.solver.assembly.start import FAR, FAST, WILD, aim_at_start, close_start, mark_turning, push_ahead, scatter
from dovetail.solver.contact.motion import COVERED, EVERYTHING, Books, commit_steps, look_at_chunk, record_chunk
from dovetail.solver.course import Course, take
from dovetail.solver.descent import FREE, IS_OPEN, TRIALS, Descent, descend
from dovetail.solver.floor import PATIENCE
from dovetail.solver.footing import Footing, footing_of
from dovetail.solver.integrator import Methods
from dovetail.solver.islands import Islands
from dovetail.solver.joint.law_start import accept_start
from dovetail.solver.joint.rotors import committing, predicting
from dovetail.solver.phases import RATE, RATE_TOL, STEP, STEP_TOL
from dovetail.solver.predict import first_guess, predict
from dovetail.solver.solution import Solution, Tolerances
from dovetail.solver.state import State, commit_state
from dovetail.typing import Array, Indices

if TYPE_CHECKING:
    from dovetail.solver.model import Model

__all__ = ["GUESS_TRIALS", "MOST", "Quiet", "Watched", "watching"]

GUESS_TRIALS = 4  # steps from the guess after which an island must have an energy as low as in the last state
_AHEAD = 2  # among looks of a descent, that at the step to the guess
MOST = 4 * PATIENCE  # iterations that a step must be allowed at least, so that none of a descent is the last one


class Watched(NamedTuple):
    """Books of motion over some bodies, with the islands that these are numbered in, and 1 for each."""

    watch: Books
    bodies: slice
    islands: Islands
    whole: Array


def watching(watched: Sequence[Watched], Q: Array, y: Array) -> tuple[Program, dict[str, Indices]]:
    """What looks up the steps of a descent in books, see `Descent`; with the places of its calls."""
    program, looked = Program(), ((Q[1], False), (Q[2], False), (Q[0], True))
    look = [
        [
            program.add(look_at_chunk, w.watch, at[w.bodies], y[w.bodies], frame, w.islands.of, w.whole, EVERYTHING)
            for w in watched
        ]
        for at, frame in looked
    ]
    record = [program.add(record_chunk, w.watch, w.islands, EVERYTHING[:3]) for w in watched]
    commit = [[program.add(commit_steps, w.watch, whole) for w in watched] for whole in range(2)]
    places = {"look": look, "record": record, "commit": commit}
    return program, {name: np.array(found, np.int64) for name, found in places.items()}


class Quiet:
    """The quiet steps of a model; is_possible is False where there are none, by what the model has.

    watched    books that every step is looked up in: those of its contacts, or of several worlds that are one model
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._fits: Indices | None = None
        self._descent: Descent | None = None
        self._course: Course | None = None
        self._weights: SweepWeights | None = None
        self._weighed: list[int] = []
        self._given_up = False  # whether the step at hand was tried, and is not quiet
        self.was_whole = False  # whether the last step was taken in one call
        self._footing: Footing | None = None
        self._everyone = np.ones(model.bodies.count, np.int64)
        self.watched: list[Watched] = []
        if model.contact is not None:
            self.watched = [Watched(model.contact.watch, slice(None), model.islands, model.whole)]
        self._lawless: Indices | None = None
        self._starts_by_sweep, self._starts_by_blocks = False, not model.lone.exist
        self._made_for: tuple[Methods, Array] | None = None
        others = model.potential.others
        self.is_possible = jit_enabled and model.stops is None and len(others) == 1 and model.islands.count > 0
        self._may_be_whole = self.is_possible and not model.always_bdf1.any() and not len(model.without_inertia)

    # ---- which steps are quiet -------------------------------------------------------------------------------

    def _is_quiet(self, Q: Array, h: float, tolerances: Tolerances) -> bool:
        """Whether a step of length h from Q may be quiet; contact has begun it then."""
        model, directions, contact = self._model, self._model.directions, self._model.contact
        if not self.is_possible or model.potential.soft_transforms.count or directions.damping.acts:
            return False
        if tolerances.early_exit >= 0 or tolerances.min_iter or tolerances.max_iter < MOST:
            return False
        if (sweep := directions.sweep) is None:
            if not directions.in_one_call(model.islands.is_free) or not (contact is None or directions.lasts):
                return False
        elif sweep.fits is not self._fits:
            if not np.array_equal(sweep.fits, model.islands.is_free):
                return False
            self._fits = sweep.fits
        return contact is None or contact.begin_clear(Q, h)

    def _is_whole(self, state: State, h: float, methods: Methods) -> bool:
        """Whether a step may be taken in one call."""
        model, method = self._model, methods.method
        if not self._may_be_whole or state.dt_before not in (0.0, h) or methods.bdf1_count or methods.some_touched:
            return False
        return not (method.looks_back and model.guards)

    # ---- taking them -----------------------------------------------------------------------------------------

    def step(self, state: State, h: float, methods: Methods, tolerances: Tolerances) -> Solution | None:
        """Advance the state by h; None if it has not, and is as before."""
        self._given_up = self.was_whole = False
        if not self._is_whole(state, h, methods):
            return None
        if is_awaited(take):
            self._given_up = True
            return None
        model, directions = self._model, self._model.directions
        age = directions.age
        model.prepare(h, methods.weight)
        found = None
        if self._is_quiet(state.Q, h, tolerances) and (not methods.is_consistent or self._may_start()):
            found = self._taken(state, h, methods, tolerances)
            if found is None and self._has_looked(state.Q):
                found = self._taken(state, h, methods, tolerances)
        if found is None:
            directions.age, self._given_up = age, True
            return None
        if model.contact is not None:
            model.contact.watch.ahead = 0
            model.contact.commit_clear(h)
        state.accept(h, methods.landing(model.nobody)[1], model.untouched, model.unrubbed, model.nobody, model.nobody)
        model.commit(h, converged=True)
        self.was_whole = True
        return found

    def further(self, state: State, h: float, methods: Methods) -> tuple[Course, Footing | None, Descent] | None:
        """What further steps like the last one work on, as long as nothing but them changes the state; None if none do.

        `take` has the rest, with room for the parameters of a step in `asked`.
        """
        c, d, model, known = self._course, self._descent, self._model, self._made_for
        if not self.was_whole or c is None or d is None or known is None or not self._is_whole(state, h, methods):
            return None
        if c.h != h or known[0] is not methods or known[1] is not model.directions.blocks.U:
            return None
        if model.contact is not None and (model.directions.sweep is None or not model.contact.is_idle):
            return None
        if model.potential.soft_transforms.count:
            return None
        d.asked[TRIALS] = GUESS_TRIALS  # which MOST iterations leave room for
        return c, self._footing, d

    def further_of_many(
        self, h: float, methods: Methods, tolerances: Tolerances
    ) -> tuple[Course, Footing | None, Descent] | None:
        """The same for the model of several worlds whose own steps are quiet; None where they are not alike then."""
        model = self._model
        model.prepare(h, methods.weight)
        sweep = model.directions.sweep
        if not self._may_be_whole or sweep is None or sweep.are_curved:
            return None
        if methods.is_consistent and not self._may_start():
            model.directions.need_blocks()  # of trees with laws
            if not self._may_start():
                return None
        if not np.array_equal(sweep.fits, model.islands.is_free):
            return None
        d = self._ready(h, tolerances, GUESS_TRIALS)
        self._course = self._plotted(d, h, methods)
        return self._course, self._footing, d

    @property
    def programs(self) -> tuple[Program, ...]:
        """What a step in one call runs."""
        return self._program, self._watching, self._plot

    def _may_start(self) -> bool:
        """Whether all mechanisms start alike: by a sweep, or by blocks."""
        model, sweep = self._model, self._model.directions.sweep
        if sweep is not None and sweep.lawless is not self._lawless:
            self._lawless, self._made_for = sweep.lawless, None
            self._starts_by_sweep = np.array_equal(sweep.starts, model.islands.is_free)
            self._starts_by_blocks = not sweep.starts.any()
        if self._starts_by_sweep:
            return True
        return self._starts_by_blocks and model.directions.in_one_call(model.islands.is_free)

    def _has_looked(self, Q: Array) -> bool:
        """Whether a step from Q was given up for want of a look at what is near, which was taken now: nothing is."""
        model, d, contact = self._model, self._descent, self._model.contact
        if d is None or contact is None or d.watching[d.look[_AHEAD, 0] + RESULT] == COVERED:
            return False
        watch = contact.watch
        watch.update_candidates(Q, d.y, model.islands, model.whole, 0, self._everyone)
        watch.ahead = watch.looks
        return contact.is_idle

    def _taken(self, state: State, h: float, methods: Methods, tolerances: Tolerances) -> Solution | None:
        model, (Q_new, V_new, A_new) = self._model, state.spare
        d = self._ready(h, tolerances, GUESS_TRIALS if state.dt_before > 0.0 else 0)
        c, U, known = self._course, model.directions.blocks.U, self._made_for
        if c is None or c.h != h or known is None or known[0] is not methods or known[1] is not U:
            c, self._made_for = self._plotted(d, h, methods), (methods, U)
            self._course = c
        if methods.is_consistent:
            model.start.begin(state.Q, state.V, model.nobody, h, h / (state.dt_before or h))
        books = None
        if model.contact is not None:
            books = model.contact.watch.books()
            d.watching[d.look[_AHEAD, 0] + RESULT] = COVERED
        Q_before, V_before = state.Q_before, state.V_before
        n = take(c, self._footing, d, model.islands, state.Q, state.V, state.A, Q_before, V_before, Q_new, V_new, A_new)
        return self._ended(d, Q_new if n >= 0 else None, n, books)

    def minimise(self, Q: Array, Q_guess: Array, h: float, tolerances: Tolerances, trials: int) -> Solution | None:
        """The minimiser of the potential of one step of length h, or None; see `minimise` in newton.py."""
        if self._given_up or not self._is_quiet(Q, h, tolerances):
            return None
        d, contact = self._ready(h, tolerances, trials), self._model.contact
        d.Q[0], d.Q[1] = Q, Q_guess
        books = None if contact is None else contact.watch.books()
        found, iterations = descend(d, self._model.islands)
        return self._ended(d, None if found < 0 else d.Q[found], iterations, books)

    def _ready(self, h: float, tolerances: Tolerances, trials: int) -> Descent:
        """The descent with all that is asked of it in a step of length h."""
        model, sweep, exact = self._model, self._model.directions.sweep, self._model.potential.exact
        d = self._descent = self._descent or self._made()
        if sweep is not None and sweep.sweep.weights is not self._weights:
            self._weights = sweep.sweep.weights
            d.words[self._weighed] = self._weights._pointer
            self._made_for = None
        model.islands.by_joints()
        asked, numbers = d.asked, d.numbers
        asked[IS_OPEN] = exact is not None and not exact.stay_closed
        asked[TRIALS] = min(trials, tolerances.max_iter // 2)
        asked[FREE] = tolerances.ccd_tol if exact is None else 1.0
        numbers[STEP_TOL], numbers[RATE_TOL] = tolerances.velocity_tol * h, tolerances.transrate_tol * h
        d.swept.fill(0)
        d.worst.fill(0.0)
        return d

    def _ended(self, d: Descent, Q: Array | None, n: int, books: tuple[Array, Array, Array] | None) -> Solution | None:
        """What a descent of n iterations has found, if it has."""
        model = self._model
        if Q is None:
            if model.contact is not None and books is not None:
                model.contact.watch.return_to(books)
            return None
        if model.directions.sweep is not None:
            model.directions.sweep.has_swept(d.swept)
        elif n:
            model.directions.has_lasted()
        if model.potential.exact is not None:
            model.potential.exact.worst = float(d.worst[0])
        return Solution(Q, int(n), 0, 0, float(d.numbers[STEP]), float(d.numbers[RATE]), converged=True)

    # ---- programs --------------------------------------------------------------------------------------------

    def _made(self) -> Descent:
        model, potential, islands = self._model, self._model.potential, self._model.islands
        n, program, active = model.bodies.count, Program(), islands.unconverged
        directions, sweep = model.directions, model.directions.sweep
        Q, E, y = np.zeros((3, n, 4, 3)), np.zeros((3, n)), directions.y
        states = [(Q[k], E[k]) for k in range(3)]
        between = [[potential.bind(program, y, at, to) for to in states[1:]] for at in states[1:]]
        found, exact, export, swept = y, potential.exact, [], np.zeros(n, np.int64)
        if sweep is None:
            direct = [[potential.bind_solver(program, at, directions.blocks, y)] for at in Q[1:]]
        else:
            found = sweep.found
            bound = [sweep.bind(program, at, active, found) for at in Q[1:]]
            direct, self._weighed = [places for places, _ in bound], [weights for _, weights in bound]
            export = sweep.bind_export(program, swept)
        (part, begins), close = potential.parts, [-1, -1]
        if exact is not None and (sweep is None or sweep.are_curved):
            close = [exact.bind(program, sweep is not None, directions.blocks, active, at, y) for at in Q[1:]]
        self._watching, places = watching(self.watched, Q, y)
        at_start = potential.bind(program, y, states[0], states[0])
        self._program, words = program, program.words()
        return Descent(
            words=words, results=words.view(np.float64), at_start=at_start, between=np.array(between),
            direct=np.array(direct), close=np.array(close), export=np.array(export, np.int64),
            watching=self._watching.words(), **places, present=np.ones(len(self.watched), np.int64),
            numbers=potential.numbers, Q=Q, E=E, y=y, found=found, swept=swept, sweeps=int(sweep is not None),
            stays=np.zeros(n), waits=np.zeros(n, np.int64), part=part, begins=begins,
            skip=int(model.all_exact), asked=np.zeros(3), worst=np.zeros(1),
        )  # fmt: skip

    def _plotted(self, d: Descent, h: float, methods: Methods) -> Course:
        """The course of steps of length h with these methods."""
        model = self._model
        bodies, potential, loads = model.bodies, model.potential, model.loads
        n, program, free = bodies.count, Program(), bodies.is_free
        V, A, Q_before, V_before, Q_new, V_new, A_new, total, inner, aims, push, a, a_end = np.zeros((13, n, 4, 3))
        Q, V_start, sweep = d.Q[0], V, model.directions.sweep
        wild = fast = aim = respond = first = again = respond_again = -1
        last, velocity, acceleration = list[int](), list[int](), list[int]()
        turning: Indices = np.zeros(n, np.int64)
        loaded = loads.bind(program, Q, a)
        responses = lawful = np.zeros((0, 0, 0))
        self._footing = None
        if methods.is_consistent:
            V_start = model.start.V
        if methods.is_consistent and not self._starts_by_sweep:
            self._footing = footing_of(model, program, h, methods, Q, a, a_end, total, inner)
        elif methods.is_consistent:
            assert sweep is not None
            some, others = sweep.lawless, sweep.starts - sweep.lawless
            wild, fast = (
                program.add(mark_turning, model.islands.mechanism, bodies_of, V_start, turn / h, turning)
                for bodies_of, turn in ((free, WILD), (some, FAST))
            )
            last = loads.bind_end(program, h, Q, V_start, a_end)
            aiming = h, FAR, a, Q, V_start, aims, push
            if some.any():
                aim, again = (
                    program.add(aim_at_start, potential.weights, chosen, *aiming) for chosen in (some, turning)
                )
                respond, responses = sweep.bind_filter(program, Q, aims, push, some)
                respond_again, _ = sweep.bind_filter(program, Q, aims, push, turning)
                first = program.add(scatter, some, responses[0], 1.0 / FAR, V_start)
                last.append(program.add(close_start, some, h, responses[1], 1.0, a_end, total, inner))
            if others.any():
                aims_at = program.add(aim_at_start, potential.weights, others, *aiming)
                to_velocity, to_acceleration, lawful = sweep.bind_lawful(program, model.start, h, aims, push, others)
                velocity = [aims_at, *to_velocity]
                acceleration = [program.add(scatter, others, lawful[0], 1.0 / FAR, V_start), aims_at]
                acceleration += [program.add(push_ahead, Q, push), *to_acceleration]
                last.append(program.add(close_start, others, h, lawful[1], -1.0, a_end, total, inner))
            if potential.laws is not None:
                last.append(program.add(accept_start, potential.laws, h, V_start, total, inner, free, methods.smooth))
        else:
            total, inner = a, A
        table, is_dynamic = methods.prediction, bodies.is_dynamic
        past, new, laws, rotors = (Q_before, V_before), (Q_new, V_new), potential.laws, -1
        ahead = [
            program.add(predict, table, methods.of, h, free, is_dynamic, total, Q, V_start, *past, potential.Q_tilde)
        ]
        if laws is not None and len(laws.rotors):
            ahead.append(program.add(*predicting(laws, methods, bodies, h, (Q, V_start, total, inner), past)))
            rotors = program.add(*committing(laws, methods, bodies, h, new, (Q, V), model.nobody, Q_before))
        guess = program.add(first_guess, h * h / methods.weight, free, Q, potential.Q_tilde, inner, d.Q[1])
        commits = [
            program.add(
                commit_state, methods.rates, methods.of, h, methods.weight, free, d.Q[k], potential.Q_tilde,
                (V_start, total), Q, Q_before, (Q_new, V_new, A_new),
            )
            for k in (1, 2)
        ]  # fmt: skip
        words = program.words()
        self._plot = program
        return Course(
            h=h, words=words, results=words.view(np.float64), is_consistent=int(methods.is_consistent),
            loads=np.array(loaded), wild=wild, fast=fast, aim=aim, respond=respond, scatter=first, aim_again=again,
            respond_again=respond_again, velocity=np.array(velocity, np.int64),
            acceleration=np.array(acceleration, np.int64), close=np.array(last, np.int64), predict=np.array(ahead),
            guess=guess, commit=commits[0], other=commits[1], rotors=rotors, V=V, A=A, Q_before=Q_before,
            V_before=V_before, Q_new=Q_new, V_new=V_new, A_new=A_new, responses=responses, lawful=lawful,
            turning=turning, slowly=np.zeros((n, 12)),
        )  # fmt: skip
