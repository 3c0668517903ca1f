"""One time step, on one page.

loads at Qₙ → consistent start (ctr) → prediction Q̃ → first guess → Newton minimises the incremental potential → commit
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.errors import NewtonStalled
from dovetail.kernel.threads import cut_finely
from dovetail.solver.blow import Flight, blow
from dovetail.solver.consistent import consistent_start
from dovetail.solver.held import Touch, by_touch, set_rolling, touch
from dovetail.solver.integrator import Methods
from dovetail.solver.joint.rotors import committing, predicting
from dovetail.solver.model import Model
from dovetail.solver.newton import minimise
from dovetail.solver.predict import first_guess, predict, stay_if_struck
from dovetail.solver.quiet import GUESS_TRIALS
from dovetail.solver.scheme import Scheme
from dovetail.solver.solution import Solution, Tolerances
from dovetail.solver.state import State, commit_state
from dovetail.solver.step_check import check_end
from dovetail.typing import Array, Flags

__all__ = ["StepReport", "step"]


@dataclass(slots=True)
class StepReport:
    """What happened in a step.

    iterations      Newton iterations, those of a given-up first guess included
    restarts        1 if the first guess did not pay and the step began again at the last state
    halvings        trials that the line search turned down
    step, rate      largest vertex motion [m] and change of an entry of A of the last full Newton step
    converged       False if the iteration limit was reached
    at_floor        True if round-off has ended it before the tolerances were met (floor.py)
    contacts        active contacts at the start of the step
    candidates      pairs of features that were watched for collisions at its end
    detections      how often they were looked for
    islands         groups of bodies that were solved apart from each other, at the end of the step
    friction_loss   work done against friction [J]: heat, but for what sticking contacts hold as springs and give back
    bdf1_bodies     bodies that took the step as bdf1 although the integrator is ctr or bdf2
    parts           in how many shorter steps it was taken, since as a whole it was refused (world/parts.py)
    open_joint      where it has not converged: the exact joint that is open the most, in words
    """

    dt: float
    iterations: int
    restarts: int
    halvings: int
    step: float
    rate: float
    converged: bool
    contacts: int = 0
    candidates: int = 0
    detections: int = 0
    islands: int = 0
    friction_loss: float = 0.0
    bdf1_bodies: int = 0
    open_joint: str = ""
    at_floor: bool = False
    parts: int = 1

    def complaint(self, tolerances: Tolerances) -> str:
        """What to tell the user where the iteration limit or the floor of round-off was reached."""
        if self.converged:
            return (
                f"Newton ended at the floor of round-off after {self.iterations} iterations: steps of {self.step:.2g} "
                f"m and {self.rate:.2g} in an entry of A get no shorter and change no energy, because bodies are stiff "
                f"or far from the origin. The tolerances, {tolerances.velocity_tol:.2g} m/s · dt and "
                f"{tolerances.transrate_tol:.2g} /s · dt, ask for less; set newton/velocity_tol and "
                "newton/transrate_tol higher"
            )
        return (
            f"Newton stopped after {self.iterations} iterations, the last step moved a vertex by {self.step:.2g} m "
            f"(tolerance {tolerances.velocity_tol:.2g} m/s · dt) and an entry of A by {self.rate:.2g} "
            f"(tolerance {tolerances.transrate_tol:.2g} /s · dt). "
            + (
                f"The {self.open_joint}: contact is in its way, or joints contradict each other. "
                if self.open_joint
                else ""
            )
            + "Try a smaller dt or a larger newton/max_iter"
        )


def _report(model: Model, h: float, methods: Methods, work: Solution, is_open: str = "") -> StepReport:
    contact = model.contact
    contacts, candidates, looks = 0, 0, 0
    if contact is not None:
        contacts, candidates, looks = contact.count_at_start, contact.candidates.count, contact.watch.looks
    return StepReport(
        h, work.iterations, work.restarts, work.halvings, work.step, work.rate, work.converged, contacts, candidates,
        looks, model.islands.count, 0.0, methods.bdf1_count, is_open, work.at_floor,
    )  # fmt: skip


@dataclass(slots=True)
class _Attempt:
    """A solved step that can still be refused: its methods, what it began with, and where it has led.

    held is what touching has added to its start, None where nothing is held.
    """

    methods: Methods
    Q_before: Array
    start: tuple[Array, Array]
    pushes: tuple[Array, Array]
    Q_tilde: Array
    solution: Solution
    held: Touch | None


def _attempt(
    model: Model, state: State, h: float, methods: Methods, in_flight: Flags | None, tolerances: Tolerances,
    known: tuple[Flags, Array] | None = None,
) -> _Attempt:  # fmt: skip
    """One step with given methods, as far as bodies in flight (n,) are not held by a contact.

    known are bodies (n,) that have a guess, and where (n, 4, 3).

    The state is not changed, and the same is computed from the same state again.
    """
    bodies, Q = model.bodies, state.Q
    Q_before, V_before = state.past(h)
    model.prepare(h, methods.weight)
    V_start, a, inner = state.V, model.loads.accelerations(Q), state.A
    held = touch(model, state, h, a, methods.held) if methods.some_held else None
    if methods.is_consistent:
        V_start, a, inner = consistent_start(model, state, h, a, methods, held)
        set_rolling(model, state, h, V_start, methods)
    Q_tilde, Q_guess = model.potential.Q_tilde, model.buffers.spare()
    predict(
        methods.prediction, methods.of, h, bodies.is_free, bodies.is_dynamic, a, Q, V_start, Q_before, V_before, Q_tilde
    )
    laws = model.potential.laws
    if laws is not None and len(laws.rotors):
        kernel, *args = predicting(laws, methods, bodies, h, (Q, V_start, a, inner), (Q_before, V_before))
        kernel(*args)
    # what pushes a body that touches something is known from the last step alone
    A_guess = inner if held is None else np.where(methods.held[:, None, None], state.A, inner)
    first_guess(h * h / methods.weight, bodies.is_free, Q, Q_tilde, A_guess, Q_guess)
    if held is not None:
        ratio = h / (state.dt_before or h)
        stay_if_struck(bodies, model.islands.mechanism, state.lagging, ratio, state.Q_before, Q, Q_tilde, Q_guess)
    # a body without inertia goes nowhere by itself: what no energy moves must not follow its old velocity or gravity
    if len(model.without_inertia):
        Q_guess[model.without_inertia] = Q[model.without_inertia]
    # a first guess without a past knows no inner forces: free fall may have its minimum on another turn of a thread
    trials = GUESS_TRIALS if state.dt_before > 0.0 else 0
    if known is not None:
        np.copyto(Q_guess, known[1], where=known[0][:, None, None])
    solution = minimise(model, Q, Q_guess, h, tolerances, trials, in_flight)
    pushes = model.untouched
    if held is not None:
        pushes = by_touch(model, Q, inner, methods.held, held), model.start.carried.copy()
    return _Attempt(methods, Q_before, (V_start, a), pushes, Q_tilde, solution, held)


def _solve(
    model: Model, state: State, h: float, methods: Methods, scheme: Scheme, tolerances: Tolerances
) -> tuple[_Attempt, Solution, Flags]:
    """A step, taken again where a contact begins that asks for other methods; its work, and who touches something."""
    work: Solution | None = None
    known: tuple[Flags, Array] | None = None
    while True:
        trial, before = _attempt(model, state, h, methods, scheme.in_flight(model, methods), tolerances, known), methods
        work = trial.solution if work is None else trial.solution.after(work)
        if trial.solution.landed is not None:
            methods = scheme.landing(model, methods, trial.solution.landed)
        else:
            safer, touched = scheme.at_end(model, state, methods, work.Q, h)
            if safer is methods:
                return trial, work, touched
            methods = safer
        # who takes it as before does so from where it began, as it does where no one else is
        known = (np.zeros(len(work.Q), np.bool_), np.empty_like(work.Q)) if known is None else known
        differs = methods.of != before.of
        known[0][differs], known[1][differs] = True, work.Q[differs]
        if model.contact is not None:
            model.contact.return_to(state.Q, work.Q, model.islands)


def _flight(model: Model, state: State, h: float, trial: _Attempt) -> Flight:
    """The step just taken as it would have been without any force of its own."""
    is_free, methods = model.bodies.is_free, trial.methods
    unused, V, none = np.empty((3, *state.Q.shape))
    commit_state(
        methods.rates, methods.of, h, methods.weight, is_free, trial.Q_tilde, trial.Q_tilde, trial.start,
        state.Q_before, trial.Q_before, (unused, V, none),
    )  # fmt: skip
    lag = np.zeros_like(V) if trial.held is None else (state.V_before - trial.held.V) * methods.held[:, None, None]
    return Flight(trial.start[0].copy(), V, lag)


def _lagged(lagging: Flags, trial: _Attempt) -> tuple[Flags, Flags]:
    """Whose velocity (n,) lagged behind at the start of the step, of bodies that are held; who had an impact before."""
    if trial.held is None:
        return np.zeros_like(lagging), np.zeros_like(lagging)
    lagged, lasts = lagging & trial.methods.held, trial.held.lasts()
    return lagged & lasts, lagged & ~lasts


def step(
    model: Model, state: State, h: float, scheme: Scheme, tolerances: Tolerances, strict: bool = False
) -> StepReport:
    """Advance the state by h [s]. If anything is raised, the state is as before.

    Where the iteration limit is reached the last iterate is taken, unless `strict` makes that an error.
    """
    methods = scheme.at_start(model, state, h)
    if (quiet := model.quiet.step(state, h, methods, tolerances)) is not None:
        return _report(model, h, methods, quiet)
    if (still := model.still.step(state, h, methods, tolerances)) is not None:
        report = _report(model, h, methods, still[0])
        report.friction_loss = still[1]
        return report
    cut_finely(model.contact is not None and model.contact.watch.is_large)
    trial, work, touched = _solve(model, state, h, methods, scheme, tolerances)
    exact = model.potential.exact
    is_open = "" if exact is None or work.converged else exact.widest(work.Q, model.bodies.is_free)
    report = _report(model, h, trial.methods, work, is_open)
    if strict and not report.converged:
        raise NewtonStalled(report.complaint(tolerances))
    check_end(model, state, h, trial.solution, is_open, is_again=work is not trial.solution)
    rubbing, changed, lagging = model.unrubbed, model.nobody, state.lagging
    if model.contact is not None:
        changed = model.contact.changed(work.Q, h)
        report.friction_loss, rubbing = model.contact.commit(work.Q, h)
    state.commit(
        trial.methods, h, model.bodies.is_free, work.Q, trial.Q_tilde, trial.Q_before, trial.start, trial.pushes,
        rubbing, touched, changed,
    )  # fmt: skip
    laws = model.potential.laws
    if laws is not None and len(laws.rotors):
        now, before = (state.Q, state.V), (state.Q_before, state.V_before)
        kernel, *args = committing(laws, trial.methods, model.bodies, h, now, before, touched, trial.Q_before)
        kernel(*args)
    if not work.converged:
        state.begin_afresh(model.bodies.mass, model.islands.mechanisms_of(model.islands.unconverged != 0))
    if model.contact is not None:
        model.contact.arrive(work.Q, state.Q)
    blow(
        model, state, h, trial.methods, lambda: _lagged(lagging, trial), lambda: _flight(model, state, h, trial)
    )  # fmt: skip
    model.still.learn(work)
    model.commit(h, report.converged)
    return report
