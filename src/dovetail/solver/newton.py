"""Newton's method on the incremental potential, island by island.

Each island starts at the first guess if its energy is no higher there than in the last state, else in the last
state. Every step is bounded by what contact allows and then halved until the energy of the island does not rise;
a step within the tolerances is taken whole and ends the island. Energies therefore never rise, and no iterate is
ever infeasible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dovetail.errors import NotFinite, SolverError
from dovetail.solver.kernel import kernel
from dovetail.solver.polar import determinant
from dovetail.solver.system import System
from dovetail.typing import Array, Flags, Indices

__all__ = ["Solution", "Tolerances", "minimise"]

_ROUNDS = 4  # in which islands may turn the guess down, before all stay where they are
_TURN = -0.5  # cosine between two directions below which the second one turns back
_SLACK = 1e-12  # relative rise of an energy that is round-off: some 1e4 sums of terms with 1e-16 each


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
    """A minimiser and how it was found.

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


@kernel
def _measure(
    position: Indices, centre: Array, half: Array, island: Indices, active: Indices, y: Array, step_tol: float,
    rate_tol: float, size: Array,
) -> tuple[float, float]:  # fmt: skip
    """size (m,) ← full step of each island in units of the tolerances; returns the largest step [m] and rate.

    A step is the largest motion of a corner of a body's box along an axis, a rate the largest change of an entry of A.
    NaN is passed on: comparisons are written so that it wins.
    """
    largest_step = 0.0
    largest_rate = 0.0
    for m in range(len(size)):
        size[m] = 0.0
    for b in range(len(position)):
        k = position[b]
        if k < 0 or not active[k]:
            continue
        step = 0.0
        rate = 0.0
        for x in range(3):
            middle = y[k, x]
            spread = 0.0
            for i in range(3):
                entry = y[k, 3 + 3 * i + x]
                middle += centre[b, i] * entry
                spread += half[b, i] * abs(entry)
                if not abs(entry) <= rate:
                    rate = abs(entry)
            reach = abs(middle) + spread
            if not reach <= step:
                step = reach
        m = island[b]
        for value in (step / step_tol, rate / rate_tol):
            if not value <= size[m]:
                size[m] = value
        if not step <= largest_step:
            largest_step = step
        if not rate <= largest_rate:
            largest_rate = rate
    return largest_step, largest_rate


@kernel
def _settle(size: Array, alpha: Array, ccd_tol: float, running: Indices, done: Flags) -> int:
    """done ← islands whose full step is within the tolerances and free; returns how many run on."""
    left = 0
    for m in range(len(size)):
        done[m] = running[m] != 0 and size[m] <= 1.0 and alpha[m] >= ccd_tol
        if running[m] and not done[m]:
            left += 1
    return left


@kernel
def _keep_from_inverting(island: Indices, Q: Array, alpha: Array) -> bool:
    """α ← 0 in islands where a body would be turned inside out; True if there are any.

    A flattened body may be so by round-off in the last step, which no energy tests.
    """
    found = False
    for b in range(len(island)):
        if island[b] >= 0 and not determinant(Q, b) > 0.0:
            alpha[island[b]] = 0.0
            found = True
    return found


@kernel
def _stop_rising(E: Array, E_before: Array, alpha: Array) -> int:
    """α ← 0 in islands that would gain energy (or whose energy is no number); returns how many there are."""
    rising = 0
    for m in range(len(E)):
        if not E[m] <= E_before[m] * (1.0 + _SLACK):
            alpha[m] = 0.0
            rising += 1
    return rising


@kernel
def _shorten(E: Array, E_before: Array, running: Indices, done: Flags, alpha: Array, halve: bool) -> int:
    """How many searching islands would gain energy; their α is halved."""
    rising = 0
    for m in range(len(E)):
        if running[m] and not done[m] and not E[m] <= E_before[m] * (1.0 + _SLACK):
            rising += 1
            if halve:
                alpha[m] *= 0.5
    return rising


@kernel
def _move(position: Indices, island: Indices, active: Indices, y: Array, alpha: Array, Q: Array, out: Array) -> None:
    """out ← Q − α y, α by island, on the bodies of islands that run."""
    for b in range(len(position)):
        k = position[b]
        moves = k >= 0 and active[k]
        for i in range(4):
            for x in range(3):
                out[b, i, x] = Q[b, i, x] - (alpha[island[b]] * y[k, 3 * i + x] if moves else 0.0)


@kernel
def _damp(
    position: Indices, island: Indices, active: Indices, done: Flags, y: Array, before: Array, sums: Array, alpha: Array
) -> None:
    """Shorten steps that turn back: α ≤ |y₀|/(|y₀| + |y|) in islands where y points against the direction y₀ before it.

    Contact changes stiffness within a step so much that full steps can swing about a minimum without getting nearer.
    `before` (n, 12)
    holds the last direction by body and receives this one; sums (m, 3) is scratch.
    """
    for m in range(len(alpha)):
        for i in range(3):
            sums[m, i] = 0.0
    for b in range(len(position)):
        k = position[b]
        if k < 0 or not active[k]:
            continue
        m = island[b]
        for i in range(12):
            sums[m, 0] += y[k, i] * before[b, i]
            sums[m, 1] += before[b, i] * before[b, i]
            sums[m, 2] += y[k, i] * y[k, i]
            before[b, i] = y[k, i]
    for m in range(len(alpha)):
        old, new = math.sqrt(sums[m, 1]), math.sqrt(sums[m, 2])
        if not done[m] and sums[m, 0] < _TURN * old * new:
            alpha[m] = min(alpha[m], old / (old + new))


class _Newton:
    """The iteration of one step: the present state Q, and energies E by body."""

    def __init__(self, system: System, Q_tilde: Array, h: float, tolerances: Tolerances) -> None:
        self.system, self.Q_tilde, self.tolerances = system, Q_tilde, tolerances
        self._step_tol = tolerances.velocity_tol * h
        self._rate_tol = tolerances.transrate_tol * h

    def start(self, Q_start: Array, Q_guess: Array, solution: Solution) -> None:
        """Go towards the guess as far as the way is free, in the islands where that lowers the energy."""
        system, islands = self.system, self.system.islands
        E_start = system.energies(Q_start, self.Q_tilde)
        before = islands.total(E_start)
        if not math.isfinite(sum(before.tolist())):
            name = system.bodies.name(int(np.argmin(np.isfinite(E_start))))
            raise NotFinite(
                f"the energy of {name} is not finite at the start of the step: it is inverted or has NaN in its state"
            )
        if system.contact is None:
            alpha = islands.ones()
            self.Q = Q_guess
            self.E = system.energies(Q_guess, self.Q_tilde)
            rising = _stop_rising(islands.total(self.E), before, alpha)
        else:
            alpha, rises = self._agree(Q_start, Q_guess, E_start)
            alpha[rises] = 0.0
            rising = int(rises.sum())
        if rising:
            self._go(Q_start, Q_guess, alpha)
        solution.restarts = rising if system.contact is None else int((alpha < 1.0).sum())
        system.moved(alpha)

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
            rises: Flags = ~(self._go(Q_start, Q_guess, alpha) <= islands.total(E_start) * (1.0 + _SLACK))
            strays = (islands.total(commits.astype(float)) > 0.0) & ((alpha < 1.0) | rises)
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
        return islands.total(self.E)

    def direction(self, exact: bool) -> Array:
        """y with Q − y the Newton iterate of the islands that run."""
        for form in (exact, False):
            self.system.assemble(self.Q, self.Q_tilde, form)
            bad = self.system.blocks.factor()
            if bad < 0:
                return self.system.blocks.solve()
        raise SolverError(
            f"the linear system is singular at {self.system.bodies.name(bad)}; "
            "its mass, stiffness or a joint on it is zero, infinite or not finite: check those values"
        )

    def measure(self, y: Array, solution: Solution) -> Array:
        """Size of a full step of every island in units of the tolerances: converged at 1 and below."""
        system, bodies, islands = self.system, self.system.bodies, self.system.islands
        size = np.empty(islands.count)
        solution.step, solution.rate = _measure(
            system.position, bodies.centre, bodies.half, islands.of, islands.active, y, self._step_tol,
            self._rate_tol, size,
        )  # fmt: skip
        if not (solution.step < math.inf and solution.rate < math.inf):
            raise NotFinite(self._not_finite(y))
        return size

    def advance(self, y: Array, alpha: Array, done: Flags, search: bool, trial: Array, solution: Solution) -> bool:
        """Halve α of the islands whose energy would rise, then take the step; False if one found no α.

        Islands that are done take theirs untested; where all are (not `search`) no energy is needed.
        """
        system, islands = self.system, self.system.islands
        found = True
        before = islands.total(self.E)
        for halving in range(self.tolerances.line_search_max_iter + 1):
            _move(system.position, islands.of, islands.active, y, alpha, self.Q, trial)
            if not search:
                if _keep_from_inverting(islands.of, trial, alpha):
                    _move(system.position, islands.of, islands.active, y, alpha, self.Q, trial)
                break
            E = system.energies(trial, self.Q_tilde)
            last = halving == self.tolerances.line_search_max_iter
            rising = _shorten(islands.total(E), before, islands.running, done, alpha, not last)
            if rising == 0 or last:
                # a last trial that still rises stands: it differs by round-off, or the direction was bad
                found = rising == 0
                refused = ~np.isfinite(islands.total(E))
                if refused.any():
                    # … unless it is not allowed at all: a body turned inside out
                    alpha[refused], done[refused] = 0.0, False
                    _move(system.position, islands.of, islands.active, y, alpha, self.Q, trial)
                    E = system.energies(trial, self.Q_tilde)
                self.E = E
                break
            solution.halvings += rising
        self.Q, solution.Q = trial, trial
        return found

    def _not_finite(self, y: Array) -> str:
        finite = np.isfinite(y).all(axis=1)
        place = int(np.argmin(finite)) if not finite.all() else int(np.argmax(np.abs(y).max(axis=1)))
        body = int(np.flatnonzero(self.system.position == place)[0])
        name = self.system.bodies.name(body)
        return f"the step of {name} is not a finite number; check its velocity, forces and mass"


def minimise(
    system: System, Q_start: Array, Q_guess: Array, Q_tilde: Array, h: float, tolerances: Tolerances
) -> Solution:
    """Minimise the incremental potential of one step of length h."""
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
    newton = _Newton(system, Q_tilde, h, tolerances)
    newton.start(Q_start, Q_start.copy() if stepwise else Q_guess, solution)
    trial = np.empty_like(Q_start)
    directions = None if system.contact is None else np.zeros((len(Q_start), 12))
    beta = np.ones(len(Q_start)) if tolerances.early_exit >= 0 else Q_start[:0, 0, 0]
    exact = True
    for k in range(tolerances.max_iter):
        if 1 < k + 1 <= substeps:
            system.soft_transforms.approach(Q_start, (k + 1) / substeps)
            newton.E = system.energies(newton.Q, Q_tilde)
        y = newton.direction(exact)
        solution.iterations += 1
        newton.E, renewed = system.prepare_step(newton.Q, Q_tilde, y, newton.E)
        size = newton.measure(y, solution)
        alpha = system.free_path(y)
        settled = k + 1 >= substeps and k >= tolerances.min_iter and not renewed
        done = np.empty(islands.count, np.bool_)
        left = _settle(size, alpha, tolerances.ccd_tol if settled else math.inf, islands.running, done)
        if directions is not None:
            sums = np.empty((islands.count, 3))
            _damp(system.position, islands.of, islands.active, done, y, directions, sums, alpha)
        before = newton.Q
        exact = newton.advance(y, alpha, done, left > 0, trial, solution)
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
