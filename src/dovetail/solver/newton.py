"""Newton's method on the incremental potential: a quick attempt from the first guess, else a guarded descent.

The attempt takes full steps from the extrapolated state and stands only if the steps shrink, the tolerances are
met within a few iterations, and the energy ends no higher than at the start of the step. Otherwise the iteration
begins again at the last accepted state, where a line search lets the energy never rise. Both end at the same
minimiser; the attempt merely finds it in a third of the iterations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dovetail.errors import NotFinite, SolverError
from dovetail.solver.kernel import kernel
from dovetail.solver.system import System
from dovetail.typing import Array, Indices

__all__ = ["Solution", "Tolerances", "minimise"]

_ATTEMPT = 6  # iterations that the first guess is given
_STIR = 0.1  # steps below this share of the first one may grow
_SLACK = 1e-12  # relative rise of the energy that is round-off: some 1e4 sums of terms with 1e-16 each


@dataclass(frozen=True)
class Tolerances:
    """When to stop; names as in the scene's config."""

    velocity_tol: float = 1e-3  # [m/s] largest motion of a vertex in the last full step, divided by h
    transrate_tol: float = 1e-2  # [1/s] largest change of an entry of A in the last full step, divided by h
    max_iter: int = 1024
    min_iter: int = 0
    line_search_max_iter: int = 8
    early_exit: int = -1  # iterations after which one full step is enough; −1 never (newton/semi_implicit)
    substeps: int = 1


@dataclass
class Solution:
    """A minimiser and how it was found.

    step (m) and rate (–) are the largest vertex motion and change of A of the last full step.
    """

    Q: Array
    iterations: int = 0
    restarts: int = 0
    halvings: int = 0
    step: float = math.inf
    rate: float = math.inf
    converged: bool = False


@kernel
def _largest(position: Indices, centre: Array, half: Array, y: Array) -> tuple[float, float]:
    """Largest motion of any corner of the bodies' boxes along an axis, and largest change of an entry of A.

    NaN is passed on: comparisons are written so that it wins.
    """
    step = 0.0
    rate = 0.0
    for b in range(len(position)):
        k = position[b]
        if k < 0:
            continue
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
    return step, rate


@kernel
def _move(position: Indices, y: Array, alpha: float, Q: Array, out: Array) -> None:
    """Out ← Q − α y on the bodies that can move."""
    for b in range(len(position)):
        k = position[b]
        for i in range(4):
            for x in range(3):
                out[b, i, x] = Q[b, i, x] - (alpha * y[k, 3 * i + x] if k >= 0 else 0.0)


class _Iteration:
    """One step's problem: direction, size of a step, energy."""

    def __init__(self, system: System, Q_tilde: Array, h: float, tolerances: Tolerances) -> None:
        self._system, self._Q_tilde = system, Q_tilde
        self._step_tol = tolerances.velocity_tol * h
        self._rate_tol = tolerances.transrate_tol * h

    def energy(self, Q: Array) -> float:
        return self._system.energy(Q, self._Q_tilde)

    def direction(self, Q: Array, exact: bool) -> Array | None:
        """Y with Q − y the Newton iterate; None where the Hessian is not positive definite."""
        self._system.assemble(Q, self._Q_tilde, exact)
        self.bad_body = self._system.blocks.factor()
        return None if self.bad_body >= 0 else self._system.blocks.solve()

    def measure(self, y: Array, solution: Solution) -> float:
        """Size of a full step in units of the tolerances: converged at 1 and below."""
        bodies = self._system.bodies
        solution.step, solution.rate = _largest(self._system.position, bodies.centre, bodies.half, y)
        # arranged so that a NaN in either size gives NaN
        first, second = solution.step / self._step_tol, solution.rate / self._rate_tol
        return first if not first <= second else second


def minimise(
    system: System, Q_start: Array, Q_guess: Array, Q_tilde: Array, h: float, tolerances: Tolerances
) -> Solution:
    """Minimise the incremental potential of one step of length h."""
    solution = Solution(Q_guess.copy())
    if len(system.blocks.D) == 0:
        solution.Q[:] = Q_start
        solution.step = solution.rate = 0.0
        solution.converged = True
        return solution
    problem = _Iteration(system, Q_tilde, h, tolerances)
    system.soft_transforms.approach(Q_start, 1.0)
    start_energy = problem.energy(Q_start)
    if not start_energy < math.inf:
        raise NotFinite(f"the energy at the start of the step is {start_energy}; a body is inverted or not finite")
    stepwise = system.soft_transforms.count > 0 and tolerances.substeps > 1
    if not stepwise and _attempt(system, problem, start_energy, solution, tolerances):
        return solution
    solution.restarts = 0 if stepwise else 1
    solution.Q[:] = Q_start
    _descend(system, problem, Q_start, solution, tolerances)
    return solution


def _attempt(
    system: System, problem: _Iteration, start_energy: float, solution: Solution, tolerances: Tolerances
) -> bool:
    """Full Newton steps from the first guess in solution.Q; False where they do not pay."""
    Q = solution.Q
    first = allowed = math.inf
    for k in range(min(_ATTEMPT + tolerances.min_iter, tolerances.max_iter)):
        y = problem.direction(Q, exact=True)
        solution.iterations += 1
        if y is None:
            return False
        size = problem.measure(y, solution)
        if not (size < allowed or size <= 1.0):
            return False
        _move(system.position, y, 1.0, Q, Q)
        if size <= 1.0 and k >= tolerances.min_iter:
            solution.converged = problem.energy(Q) <= start_energy * (1.0 + _SLACK)
            return solution.converged
        # a stiff mode may stir once the others have settled, so steps need not shrink each time
        first = size if k == 0 else first
        allowed = max(size, _STIR * first)
    return False


def _descend(system: System, problem: _Iteration, Q_start: Array, solution: Solution, tolerances: Tolerances) -> None:
    """Newton with a line search from solution.Q until the tolerances or the iteration limit are reached."""
    Q = solution.Q
    trial = Q.copy()
    for k in range(tolerances.max_iter):
        ratio = min(1.0, (k + 1) / tolerances.substeps)
        system.soft_transforms.approach(Q_start, ratio)
        energy = problem.energy(Q)
        for exact in (True, False):
            y = problem.direction(Q, exact)
            if y is None:
                if exact:
                    continue
                raise SolverError(_indefinite(system, problem.bad_body))
            size = problem.measure(y, solution)
            if not size < math.inf:
                raise NotFinite(_not_finite(system, y))
            done = size <= 1.0 and ratio >= 1.0 and k >= tolerances.min_iter
            alpha = 1.0 if done else _line_search(system, problem, energy, y, Q, trial, solution, tolerances)
            if alpha > 0.0 or not exact:
                break
        assert y is not None
        # a search that failed both ways ends on its shortest trial: the energy differs by round-off there
        _move(system.position, y, alpha if alpha > 0.0 else 0.5**tolerances.line_search_max_iter, Q, Q)
        solution.iterations += 1
        if done or (0 <= tolerances.early_exit <= k and alpha == 1.0 and ratio >= 1.0):
            solution.converged = True
            return


def _line_search(
    system: System, problem: _Iteration, energy: float, y: Array, Q: Array, trial: Array, solution: Solution,
    tolerances: Tolerances,
) -> float:  # fmt: skip
    """Largest of 1, ½, ¼ … at which the energy does not rise; 0 if there is none."""
    alpha = 1.0
    for _ in range(tolerances.line_search_max_iter):
        _move(system.position, y, alpha, Q, trial)
        if problem.energy(trial) <= energy * (1.0 + _SLACK):
            return alpha
        alpha *= 0.5
        solution.halvings += 1
    return 0.0


def _indefinite(system: System, body: int) -> str:
    return (
        f"the linear system is singular at {system.bodies.name(body)}; "
        "its mass, stiffness or a joint on it is zero, infinite or not finite: check those values"
    )


def _not_finite(system: System, y: Array) -> str:
    import numpy as np

    finite = np.isfinite(y).all(axis=1)
    place = int(np.argmin(finite)) if not finite.all() else int(np.argmax(np.abs(y).max(axis=1)))
    body = int(np.flatnonzero(system.position == place)[0])
    return f"the step of {system.bodies.name(body)} is not a finite number; check its velocity, forces and mass"
