"""Newton's method on the incremental potential, island by island.

Each island starts at the first guess if its energy is no higher there than in the last state, else in the last
state. Every step is bounded by what contact allows and then halved until the energy of the island does not rise;
a step within the tolerances is taken whole and ends the island. Energies therefore never rise, and no iterate is
ever infeasible.

Without contact an island also ends where the last two steps foretell that the next one would be well within the
tolerances, and steps that turn bodies go round: what a straight one would stretch them by is taken out (`move`).

A guess on stiff bodies and joints is often near, but expensive: without contact it may take a few whole steps before
energies are compared. Where joints are exact it must, for energies mean something only where they are closed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dovetail.errors import NotFinite
from dovetail.solver.direction import closing_direction, newton_direction
from dovetail.solver.iterate import SLACK, damp, keep_from_inverting, measure, move, settle, shorten, stop_rising
from dovetail.solver.outlook import conclude, foresee, keep, sift
from dovetail.solver.system import System
from dovetail.typing import Array, Flags

__all__ = ["TRIALS", "Solution", "Tolerances", "minimise"]

TRIALS = 4  # steps from the guess after which an island must have an energy as low as in the last state
_ROUND_OFF = 1e-14  # relative error of a position after the hundred operations behind it
_CLOSING = 8  # steps before the limit from which on none goes round: where it ends the iteration, joints are closed
_ROUNDS = 4  # in which islands may turn the guess down, before all stay where they are


@dataclass(frozen=True)
class Tolerances:
    """When to stop; names as in the scene's config."""

    velocity_tol: float = 1e-3  # [m/s] largest motion of a vertex in the last full step, divided by h
    transrate_tol: float = 1e-2  # [1/s] largest change of an entry of A in the last full step, divided by h
    ccd_tol: float = 1.0  # share of a full step that must be free of collisions in the last iteration
    max_iter: int = 1024
    min_iter: int = 0
    line_search_max_iter: int = 8
    early_exit: int = -1  # iteration from which on full steps end an island soon; −1 never (newton/semi_implicit)
    early_exit_tol: float = 1e-3
    substeps: int = 1


@dataclass
class Solution:
    """A minimiser and how it was found. Q may be a buffer of the system, which the next step uses again.

    step (m) and rate (–) are the largest vertex motion and change of A of the last full step. restarts counts the
    islands that did not begin at the first guess.
    """

    Q: Array
    iterations: int = 0
    restarts: int = 0
    halvings: int = 0
    step: float = 0.0
    rate: float = 0.0
    converged: bool = False

    def after(self, earlier: Solution) -> Solution:
        """The same with the work of an attempt before it."""
        return replace(
            self,
            iterations=self.iterations + earlier.iterations,
            restarts=self.restarts + earlier.restarts,
            halvings=self.halvings + earlier.halvings,
        )


class _Newton:
    """The iteration of one step: the present state Q, and energies E by body."""

    def __init__(self, system: System, Q_tilde: Array, h: float, tolerances: Tolerances, trials: int) -> None:
        self.system, self.Q_tilde, self.tolerances = system, Q_tilde, tolerances
        self._step_tol = tolerances.velocity_tol * h
        self._rate_tol = tolerances.transrate_tol * h
        self._trials = min(trials, tolerances.max_iter // 2)
        self._size = np.full(system.islands.count, math.inf)

    def begin(self, Q_start: Array, Q_guess: Array, solution: Solution) -> bool:
        """Start at the guess or in the last state; True if no further step is needed."""
        system, islands = self.system, self.system.islands
        Q_guess = system.restrain(Q_start, Q_guess)
        E_start = system.energies(Q_start, self.Q_tilde)
        if not math.isfinite(float(E_start.sum())):
            name = system.bodies.name(int(np.argmin(np.isfinite(E_start))))
            raise NotFinite(
                f"the energy of {name} is not finite at the start of the step: it is inverted or has NaN in its state"
            )
        if system.contact is None:
            if system.stops and system.exact_joints is not None:
                # from a stop Newton gets away by tiny steps, which look converged: the guess must be usable at once
                Q_guess = system.restrain(Q_start, self._closed(Q_guess))
            alpha, ended = self._try(Q_start, E_start, Q_guess, solution)
            solution.Q = self.Q
            if ended is None:
                return False
            solution.restarts = int((alpha < 1.0).sum())
            if self.tolerances.min_iter <= 0:
                solution.converged = bool(ended.all())
                if ended.any() and not solution.converged:
                    islands.finish(ended)
            return solution.converged
        if system.exact_joints is not None:
            Q_guess = self._closed(Q_guess)
        alpha, rises = self._agree(Q_start, Q_guess, E_start)
        if rises.any():
            alpha[rises] = 0.0
            self._go(Q_start, Q_guess, alpha)
        solution.restarts = int((alpha < 1.0).sum())
        system.moved(alpha)
        return False

    def _try(self, Q_start: Array, E_start: Array, Q_guess: Array, solution: Solution) -> tuple[Array, Flags | None]:
        """Go to the guess, without contact: 1 for the islands that stay there, and those that are done with it, if any.

        An island stays if its energy is no higher than in the last state, exact joints closed, at once or after a few
        whole steps that get shorter. Those that turn bodies leave joints a little open; the last one does not. Bodies
        with hard limits take none of these: their joints are closed in the guess. An island that does not stay is sent
        back.
        """
        system, islands = self.system, self.system.islands
        before = self._total(Q_start, E_start)
        self.Q, alpha = Q_guess, islands.ones()
        if system.all_held and not system.stops:
            # energies mean nothing where joints are open
            alpha.fill(0.0)
            tried = np.ones(islands.count, np.bool_)
        else:
            self.E = system.energies(Q_guess, self.Q_tilde)
            there = self._total(Q_guess, self.E)
            if stop_rising(there, before, alpha) == 0 and system.exact_joints is None and not system.stops:
                return alpha, None
            limited = islands.total(system.limited) > 0.0
            alpha[system.grips & ~limited] = 0.0
            tried = (alpha == 0.0) & np.isfinite(there) & ~limited
        before *= 1.0 + SLACK
        ended, last, turned, left = islands.none(), islands.none(), islands.none(), int(tried.sum())
        shortest, whole = np.full(islands.count, math.inf), islands.ones()
        for trial in range(self._trials):
            if left == 0:
                break
            if left < islands.count:
                islands.finish(~tried)
            y = newton_direction(system, self.Q, self.Q_tilde, True)
            solution.iterations += 1
            size, more = self.measure(y, solution), trial + 1 < self._trials
            left, telling = sift(size, self._size, shortest, solution.rate, more, system.grips, tried, last, turned)
            Q = system.buffers.spare(self.Q, self.Q_tilde)
            move(system.position, islands.of, islands.active, turned, y, whole, self.Q, Q)
            self.Q = Q
            if telling:
                self.E = system.energies(Q, self.Q_tilde)
                left = keep(self._total(Q, self.E), before, system.grips, turned, last, tried, alpha, ended)
        islands.restart()
        if alpha.min() < 1.0:
            if system.exact_joints is not None:
                system.exact_joints.restart(np.append(alpha, 1.0)[islands.of] < 1.0)
            self._go(Q_start, self.Q, alpha)
            self._size[alpha < 1.0] = math.inf
        return alpha, ended

    def _closed(self, Q_guess: Array) -> Array:
        """The guess with its exact joints closed by the shortest step that does so.

        No Newton step: the forces of contacts are not known there, but are in the guess.
        """
        system, islands = self.system, self.system.islands
        islands.finish(islands.total(system.held) == 0.0)
        y = closing_direction(system, Q_guess, self.Q_tilde)
        closed = system.buffers.spare(Q_guess, self.Q_tilde)
        move(system.position, islands.of, islands.active, islands.none(), y, islands.ones(), Q_guess, closed)
        islands.restart()
        return closed

    def _total(self, Q: Array, E: Array) -> Array:
        """What must not rise, by island: the energies E at Q by body, and how open exact joints are there."""
        return self.system.islands.total(self.system.merits(Q, E))

    def _agree(self, Q_start: Array, Q_guess: Array, E_start: Array) -> tuple[Array, Flags]:
        """Shares α of the way to the guess that islands can take at the same time, and where energies would rise.

        At first all bodies commit themselves to go all the way, and are looked at as moving along with each other.
        Those that cannot, or would gain energy, are looked at again as taking any share.
        """
        system, islands = self.system, self.system.islands
        commits = np.ones(len(Q_start), np.int64)
        for _ in range(_ROUNDS):
            alpha = system.way(Q_start, Q_guess, self.Q_tilde, commits)
            # written so that a NaN counts as a rise
            limit = self._total(Q_start, E_start) * (1.0 + SLACK)
            rises: Flags = ~(self._go(Q_start, Q_guess, alpha) <= limit)
            strays = (alpha < 1.0) | rises
            if strays.any():
                strays &= islands.total(commits.astype(float)) > 0.0
            if not strays.any():
                return alpha, rises
            commits[strays[islands.of] & (islands.of >= 0)] = 0
            system.energies(Q_start, self.Q_tilde)  # distances are to be those at the start again
        return alpha, np.ones(islands.count, np.bool_)

    def _go(self, Q_start: Array, Q_guess: Array, alpha: Array) -> Array:
        """Move to Q_start + α (Q_guess − Q_start), α by island; the energies of the islands there."""
        islands = self.system.islands
        if alpha.min() == 1.0:
            self.Q = Q_guess
        else:
            share = np.append(alpha, 0.0)[islands.of]
            goes = np.flatnonzero(share)
            self.Q = Q_start.copy()
            self.Q[goes] += share[goes, None, None] * (Q_guess[goes] - Q_start[goes])
        self.E = self.system.energies(self.Q, self.Q_tilde)
        return self._total(self.Q, self.E)

    def measure(self, y: Array, solution: Solution) -> Array:
        """Size of a full step of every island in units of the tolerances: converged at 1 and below."""
        system, bodies, islands = self.system, self.system.bodies, self.system.islands
        size = np.empty(islands.count)
        solution.step, solution.rate = measure(
            system.position, bodies.centre, bodies.half, islands.of, islands.active, y, self._step_tol,
            self._rate_tol, size,
        )  # fmt: skip
        if not (solution.step < math.inf and solution.rate < math.inf):
            raise NotFinite(self._not_finite(y))
        if system.exact_joints is not None and not system.exact_joints.closed:
            size[islands.total(system.exact_joints.open(bodies.count)) > 0.0] = math.inf
        return size

    def foresee(self, size: Array, turn: float, settled: bool, done: Flags) -> tuple[Flags, Flags]:
        """Islands whose last step this is if it is taken whole, and those that go round; none with contact."""
        islands = self.system.islands
        last, turned = islands.none(), islands.none()
        if self.system.contact is None and foresee(
            size, self._size, self.system.turns, turn, settled, islands.running, done, last, turned
        ):
            self.system.loosen()
        return last, turned

    def advance(
        self, y: Array, alpha: Array, done: Flags, turned: Flags, search: bool, trial: Array, solution: Solution
    ) -> bool:
        """Halve α of the islands whose energy would rise, then take the step; False if one found no α.

        Islands that are done take theirs untested; where all are (not `search`), no energy is needed. Where `turned`,
        steps go round.
        """
        system, islands = self.system, self.system.islands
        found = True
        limit = self._total(self.Q, self.E) * (1.0 + SLACK)
        for halving in range(self.tolerances.line_search_max_iter + 1):
            move(system.position, islands.of, islands.active, turned, y, alpha, self.Q, trial)
            if not search:
                if keep_from_inverting(islands.of, trial, alpha):
                    move(system.position, islands.of, islands.active, turned, y, alpha, self.Q, trial)
                break
            E = system.energies(trial, self.Q_tilde)
            final = halving == self.tolerances.line_search_max_iter
            total = self._total(trial, E)
            rising = shorten(total, limit, islands.running, done, alpha, False)
            if rising and halving == 0:
                limit += self._noise(limit)
                rising = shorten(total, limit, islands.running, done, alpha, False)
            if rising and not final:
                shorten(total, limit, islands.running, done, alpha, True)
            if rising == 0 or final:
                # a final trial that still rises stands: it differs by round-off, or the direction was bad
                found = rising == 0
                refused = ~np.isfinite(islands.total(E))
                if refused.any():
                    # … unless it is not allowed at all: a body turned inside out
                    alpha[refused], done[refused] = 0.0, False
                    move(system.position, islands.of, islands.active, turned, y, alpha, self.Q, trial)
                    E = system.energies(trial, self.Q_tilde)
                self.E = E
                break
            solution.halvings += rising
        self.Q, solution.Q = trial, trial
        return found

    def _noise(self, energies: Array) -> Array:
        """By island, how much an energy may change because positions are rounded: ε √(2E Σ m|p|²)."""
        p = self.Q[:, 0]
        moments = self.system.c * self.system.bodies.mass[:, 0, 0] * np.einsum("bx,bx->b", p, p)
        noise: Array = _ROUND_OFF * np.sqrt(2.0 * np.maximum(energies, 0.0) * self.system.islands.total(moments))
        return noise

    def _not_finite(self, y: Array) -> str:
        finite = np.isfinite(y).all(axis=1)
        place = int(np.argmin(finite)) if not finite.all() else int(np.argmax(np.abs(y).max(axis=1)))
        body = int(np.flatnonzero(self.system.position == place)[0])
        name = self.system.bodies.name(body)
        return f"the step of {name} is not a finite number; check its velocity, forces and mass"


def minimise(
    system: System,
    Q_start: Array,
    Q_guess: Array,
    Q_tilde: Array,
    h: float,
    tolerances: Tolerances,
    trials: int = TRIALS,
) -> Solution:
    """Minimise the incremental potential of one step of length h; a guess may take `trials` steps to prove itself."""
    solution = Solution(Q_guess)
    islands = system.islands
    if islands.count == 0:
        solution.converged = True
        return solution
    islands.restart()
    system.begin_contacts(Q_start, Q_guess, h)
    stepwise = system.soft_transforms.count > 0 and tolerances.substeps > 1
    substeps = tolerances.substeps if stepwise else 1
    system.soft_transforms.approach(Q_start, 1.0 / substeps)
    if stepwise or 0 <= tolerances.early_exit < trials:
        trials = 0
    newton = _Newton(system, Q_tilde, h, tolerances, trials)
    if newton.begin(Q_start, Q_start.copy() if stepwise else Q_guess, solution):
        return solution
    # what exact joints lack is made up by whole steps alone
    ccd_tol = tolerances.ccd_tol if system.exact_joints is None else 1.0
    trial = system.buffers.spare(newton.Q, Q_tilde)
    directions = None if system.contact is None else np.zeros((len(Q_start), 12))
    beta = np.ones(len(Q_start)) if tolerances.early_exit >= 0 else Q_start[:0, 0, 0]
    exact = True
    for k in range(solution.iterations, tolerances.max_iter):
        if 1 < k + 1 <= substeps:
            system.soft_transforms.approach(Q_start, (k + 1) / substeps)
            newton.E = system.energies(newton.Q, Q_tilde)
        y = newton_direction(system, newton.Q, Q_tilde, exact, k)
        solution.iterations += 1
        newton.E, renewed = system.prepare_step(newton.Q, Q_tilde, y, newton.E)
        size = newton.measure(y, solution)
        alpha = system.free_path(newton.Q, y)
        system.learn(alpha, size, tolerances.velocity_tol * h)
        settled = k + 1 >= substeps and k >= tolerances.min_iter and not renewed
        done = np.empty(islands.count, np.bool_)
        left = settle(size, alpha, ccd_tol if settled else math.inf, islands.running, done)
        if directions is not None:
            sums = np.empty((islands.count, 3))
            damp(system.position, islands.of, islands.active, done, y, directions, sums, alpha)
        before = newton.Q
        turn = solution.rate if k + _CLOSING < tolerances.max_iter else 0.0
        last, turned = newton.foresee(size, turn, settled, done)
        exact = newton.advance(y, alpha, done, turned, left > 0, trial, solution)
        left -= conclude(alpha, last, done)
        system.moved(alpha)
        trial = before
        if 0 <= tolerances.early_exit <= k and settled:
            beta *= 1.0 - np.append(alpha, 1.0)[islands.of]
            late = islands.total((beta > tolerances.early_exit_tol).astype(float)) == 0.0
            left -= int((late & ~done & (islands.running != 0)).sum())
            done |= late
        if left == 0:
            solution.converged = True
            break
        if done.any():
            islands.finish(done)
    return solution
