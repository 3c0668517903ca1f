"""Newton's method on the incremental potential, island by island, on one page.

    begin      every island starts at the first guess if that pays, else in the last state (first_iterate.py)
    repeat     one iteration of all islands that have not converged (iteration.py)

Energies never rise, and no iterate is ever infeasible. Where no guard is concerned, an island also ends where the last
two steps predict that the next one would be well within the tolerances (convergence.py), and steps that turn bodies are
curved: what a straight one would stretch them by is taken out (`move` in iterate.py).
"""

from __future__ import annotations

import numpy as np

from dovetail.errors import StepTooLong
from dovetail.solver.first_iterate import begin
from dovetail.solver.islands import finish_islands
from dovetail.solver.iteration import Iteration
from dovetail.solver.model import Model
from dovetail.solver.quiet import GUESS_TRIALS
from dovetail.solver.solution import Solution, Tolerances
from dovetail.typing import Array, Flags

__all__ = ["minimise"]


def minimise(
    model: Model, Q_start: Array, Q_guess: Array, h: float, tolerances: Tolerances, trials: int = GUESS_TRIALS,
    in_flight: Flags | None = None,
) -> Solution:  # fmt: skip
    """Minimise the potential of one step of length h; a guess may take `trials` steps to prove itself.

    It is broken off at the first iterate where a contact holds one of the bodies in flight (n,).
    """
    if model.islands.count == 0:
        return Solution(Q_guess, converged=True)
    quiet = model.quiet.minimise(Q_start, Q_guess, h, tolerances, trials)
    if quiet is not None:
        return quiet
    soft = model.potential.soft_transforms
    substeps = tolerances.substeps if soft.count else 1
    soft.approach(Q_start, 1.0 / substeps)
    if substeps > 1 or 0 <= tolerances.early_exit < trials:
        trials = 0
    newton = Iteration(model, Q_start, h, tolerances)
    solution = newton.solution
    is_settled = begin(newton, Q_start.copy() if substeps > 1 else Q_guess, min(trials, tolerances.max_iter // 2))
    if newton.lands(in_flight) or is_settled:
        return solution
    # what exact joints lack is made up by whole steps alone
    ccd_tol = tolerances.ccd_tol if model.potential.exact is None else 1.0
    not_taken = np.ones(len(Q_start))  # of full steps, by body: for semi-implicit ones
    found = True
    for k in range(solution.iterations, tolerances.max_iter):
        if 1 < k + 1 <= substeps:
            soft.approach(Q_start, (k + 1) / substeps)
            newton.at = model.potential.at(newton.at.Q)
        may_settle = k + 1 >= substeps and k >= tolerances.min_iter
        found, left = newton.iterate(k, found, ccd_tol, may_settle)
        if 0 <= tolerances.early_exit <= k and may_settle:
            left = newton.end_early(not_taken, left)
        if left == 0:
            solution.converged = True
            break
        if newton.lands(in_flight):
            break
        if k == tolerances.patience and newton.is_far:
            raise StepTooLong(f"Newton's method is far from its end after {k} iterations")
        finish_islands(model.islands, model.islands.done)
    return solution
