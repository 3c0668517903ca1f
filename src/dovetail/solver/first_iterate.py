"""Where Newton's method begins: at the first guess, as far as that is free and pays, else in the last state.

A guarded island goes on its straight way to the guess as far as that is free, if its energy is no higher there than in
the last state; one that hardly differs from that is not looked at. A guess on stiff bodies and joints is often near,
but expensive: where no guard is concerned, an island may take a few whole steps from it before energies are compared.
Where joints are exact it must, for energies mean something only where they are closed.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernel.kernel import kernel, plain_kernel
from dovetail.solver import phases
from dovetail.solver.bodies import Bodies
from dovetail.solver.convergence import begin_trials
from dovetail.solver.islands import Islands, finish_islands, restart_islands
from dovetail.solver.iterate import SLACK, measure
from dovetail.solver.iteration import Iteration
from dovetail.solver.potential import Evaluation
from dovetail.typing import Array, Flags

__all__ = ["begin", "hold_still"]

_ROUNDS = 4  # in which islands may turn the guess down, before all stay where they are
_STAYS = 1e-2  # tolerances: a guess that is nearer than so to the last state is no better than it


def begin(newton: Iteration, Q_guess: Array, trials: int) -> bool:
    """Start at the guess or in the last state; True if no further step is needed."""
    islands, solution, potential, moves = newton.islands, newton.solution, newton.potential, True
    if newton.guards:
        Q_guess = _within_limits(newton, Q_guess)
        y = _way(newton, Q_guess)
        if newton.some_guarded:
            tolerances = newton.numbers[phases.STEP_TOL], newton.numbers[phases.RATE_TOL]
            moves = bool(hold_still(newton.model.bodies, islands, tolerances, newton.Q_start, Q_guess, y))
        newton.begin_contacts(y)
        newton.number(y)
    else:
        newton.begin_contacts(newton.Q_start)
    start = newton.at
    if moves and newton.some_guarded and np.count_nonzero(islands.guarded[: islands.count]):
        if potential.exact is not None:
            Q_guess = _closed(newton, Q_guess)
        _agree(newton, Q_guess)
    elif moves:
        islands.alpha[: islands.count] = 1.0
        newton.at = potential.bare(Q_guess, start) if _is_exact(newton) else potential.at(Q_guess, start)
        for guard in newton.guards:
            guard.record_motion(islands)
    _try(newton, start, trials)
    solution.Q = newton.at.Q
    ended = islands.ended[: islands.count]
    if newton.tolerances.min_iter > 0 or not np.count_nonzero(ended):
        return False
    solution.converged = bool(ended.all())
    if not solution.converged:
        finish_islands(islands, ended)
    return solution.converged


@kernel
def hold_still(
    bodies: Bodies, s: Islands, tolerances: tuple[float, float], Q_start: Array, Q_guess: Array, y: Array
) -> bool:
    """Q_guess ← the last state, and the way y (n, 12) to it 0, in islands that hardly move; whether any other does."""
    measure(bodies.centre, bodies.half, s, y, tolerances[0], tolerances[1])
    moves = False
    for b in range(len(s.of)):
        m = s.of[b]
        if m < 0 or not s.size[m] <= _STAYS:
            moves = moves or m >= 0
            continue
        for i in range(4):
            for x in range(3):
                Q_guess[b, i, x], y[b, 3 * i + x] = Q_start[b, i, x], 0.0
    return moves


def _is_exact(newton: Iteration) -> bool:
    """Whether no energy means anything at the guess: all joints are exact, and there is nothing to look for there."""
    return newton.model.all_exact and newton.model.contact is None


def _way(newton: Iteration, Q_guess: Array) -> Array:
    """y (n, 12) of the step from the last state to the guess; an array that is used again."""
    model = newton.model
    np.subtract(newton.Q_start, Q_guess, out=model.way.reshape(Q_guess.shape))
    if len(model.fixed):
        model.way[model.fixed] = 0.0
    return model.way


def _within_limits(newton: Iteration, Q_guess: Array) -> Array:
    """The guess, in islands with hard limits only as far on the way to it as these allow."""
    stops, islands, Q_start = newton.model.stops, newton.islands, newton.Q_start
    if stops is None:
        return Q_guess
    stops.begin()
    islands.alpha[: islands.count] = 1.0
    stops.bound(Q_start, _way(newton, Q_guess), islands)
    share = np.append(islands.alpha[: islands.count], 1.0)[islands.of][:, None, None]
    return np.where(share < 1.0, Q_start + share * (Q_guess - Q_start), Q_guess)


def _closed(newton: Iteration, Q_guess: Array) -> Array:
    """The guess with exact joints of guarded islands closed by the shortest step that does so.

    No Newton step: the forces of contacts are not known there, but are in the guess.
    """
    model, islands, potential = newton.model, newton.islands, newton.potential
    m = islands.count
    chosen = islands.guarded[:m] & islands.has_exact[:m]
    if not np.count_nonzero(chosen):
        return Q_guess
    finish_islands(islands, 1 - chosen)
    at = potential.bare(Q_guess, newton.at)
    y = model.directions.closing(at, islands.unconverged)
    closed = potential.bare(model.buffers.spare(Q_guess), newton.at, at)
    islands.alpha[:m], islands.curved[:m] = 1.0, 0
    potential.run(phases.MOVE, y, at, closed)
    restart_islands(islands)
    return _within_limits(newton, closed.Q)


def _go(newton: Iteration, start: Evaluation, Q_guess: Array) -> None:
    """Move to Q_start + α (Q_guess − Q_start), α by island."""
    Q = newton.model.buffers.spare(Q_guess)
    is_held = _go_towards(newton.islands, newton.Q_start, Q_guess, Q)
    newton.at = newton.potential.at(Q if is_held else Q_guess, start)


@plain_kernel
def _go_towards(s: Islands, Q_start: Array, Q_guess: Array, out: Array) -> bool:
    """out ← Q_start + α (Q_guess − Q_start), where any α is less than 1; whether that is so."""
    is_held = False
    for m in range(s.count):
        is_held = is_held or s.alpha[m] < 1.0
    for b in range(len(s.of) if is_held else 0):
        share = s.alpha[s.of[b]] if s.of[b] >= 0 else 0.0
        for i in range(4):
            for x in range(3):
                out[b, i, x] = Q_start[b, i, x]
                if share != 0.0:
                    out[b, i, x] += share * (Q_guess[b, i, x] - Q_start[b, i, x])
    return is_held


def _agree(newton: Iteration, Q_guess: Array) -> None:
    """Go as far towards the guess as guarded islands can at the same time, others all the way.

    At first all bodies commit themselves to go all the way, and are looked at as moving along with each other.
    Those that cannot, or would gain energy, are looked at again as taking any share.
    """
    islands, potential, start = newton.islands, newton.potential, newton.at
    y = _way(newton, Q_guess)
    commits = np.ones(len(y), np.int64)
    for n in range(_ROUNDS):
        newton.at = start
        newton.bound(y, commits)
        m = islands.count
        alpha = islands.alpha[:m]
        limit = potential.total(start) * (1.0 + SLACK)
        _go(newton, start, Q_guess)
        # written so that a NaN counts as a rise
        rises: Flags = (islands.guarded[:m] != 0) & ~(potential.total(newton.at) <= limit)
        strays = (alpha < 1.0) | rises
        if np.count_nonzero(strays):
            strays &= islands.sum(commits.astype(float)) > 0.0
        if not np.count_nonzero(strays):
            break
        if n == _ROUNDS - 1:
            rises = np.ones(m, np.bool_)  # those that have committed themselves must not go alone
        commits[strays[islands.of] & (islands.of >= 0)] = 0
    if np.count_nonzero(rises):
        alpha[rises] = 0.0
        _go(newton, start, Q_guess)
    newton.solution.restarts = int((alpha < 1.0).sum())
    for guard in newton.guards:
        guard.record_motion(islands)


def _try(newton: Iteration, start: Evaluation, trials: int) -> None:
    """Let islands that are not guarded stay near the guess, or send them back; `ended` ← those that are done with it.

    An island stays if its energy is no higher than in the last state, exact joints closed, at once or after a few
    whole steps that get shorter. Those that turn bodies leave joints a little open; the last one does not.
    """
    model, islands, solution, potential = newton.model, newton.islands, newton.solution, newton.potential
    numbers, contact = newton.numbers, newton.model.contact
    numbers[phases.OPEN] = potential.exact is not None and not potential.exact.stay_closed
    potential.run(phases.LIMIT, potential.no_step, start, start)
    if not (skip := _is_exact(newton)):
        potential.run(phases.COMPARE, potential.no_step, newton.at, newton.at)
    left, stay = begin_trials(islands, skip)
    if stay:
        return
    stays, count = islands.alpha[: islands.count].copy(), islands.count
    on_trial = np.append(stays, 1.0)[islands.of] < 1.0
    for trial in range(trials):
        if left == 0:
            break
        if left < count:
            finish_islands(islands, 1 - islands.tried)
        y = newton.direction()
        newton.bound(y)
        if newton.guards and not _is_free(newton, count):
            break  # they come near something after all
        newton.check(y)
        numbers[phases.MORE] = trial + 1 < trials
        there = potential.bare(model.buffers.spare(newton.at.Q), start, newton.at)
        # islands that are not on trial have no direction, and stay
        potential.run(phases.TRIAL | phases.MOVE, y, newton.at, there)
        for guard in newton.guards:
            guard.record_motion(islands)
        left = int(numbers[phases.LEFT])
        if numbers[phases.MEANINGFUL] or contact is not None:
            potential.run(phases.ENERGIES, y, there, there)
            potential.add_others(there)
            islands.alpha[:count] = stays
            potential.run(phases.COMPARE | phases.ACCEPT, y, there, there)
            left = int(numbers[phases.LEFT])
            stays[:] = islands.alpha[:count]
        newton.at = there
    some_waited = contact is not None and not np.array_equal(islands.unconverged, islands.is_free)
    restart_islands(islands)
    if islands.count != count:  # those that were not on trial stay where they have agreed to go
        stays = np.where(islands.sum(on_trial.astype(float)) > 0.0, 0.0, 1.0)
        islands.ended[:] = 0
    if stays.min() < 1.0:
        solution.restarts += int((stays < 1.0).sum())
        _send_back(newton, stays)
    elif some_waited:
        newton.at = potential.at(newton.at.Q)  # trials have left out the contacts of the others


def _is_free(newton: Iteration, count: int) -> bool:
    """Whether the islands on trial take the step that was bounded last without a guard being concerned."""
    islands = newton.islands
    if not newton.some_guarded:
        return True
    if islands.count != count or (islands.guarded[:count] & islands.tried[:count]).any():
        return False
    return bool(islands.alpha[:count].min() == 1.0)


def _send_back(newton: Iteration, stays: Array) -> None:
    """Put islands that do not stay back to the last state."""
    model, islands, potential, Q_start = newton.model, newton.islands, newton.potential, newton.Q_start
    back = np.append(stays, 1.0)[islands.of] < 1.0
    Q = newton.at.Q.copy()
    Q[back] = Q_start[back]
    if potential.exact is not None:
        potential.exact.restart(back)
    islands.before[: islands.count][stays < 1.0] = math.inf
    if (contact := model.contact) is not None:
        count = islands.count
        y = (newton.at.Q - Q).reshape(-1, 12)
        newton.bound(y)
        if islands.count != count or islands.alpha[: islands.count].min(initial=1.0) < 1.0:
            # the way back is not free, so all go back, to where they were apart
            Q = Q_start.copy()
            contact.look_anew(Q, islands)
            islands.ended[:] = 0
        else:
            contact.record_motion(islands)
    newton.at = potential.at(Q)
