"""Steps in which nothing but joints and laws acts, and how they are taken in few calls.

Which those are is asked anew in each step. `Quiet.minimise` is Newton's method in one call (descent.py), with the bits
of newton.py; it has no answer where a step is not quiet, or turns out not to be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dovetail.solver.articulated.arrays import SweepWeights
from dovetail.solver.contact.motion import look_at_step, record_motion
from dovetail.solver.descent import Descent, descend
from dovetail.solver.floor import PATIENCE
from dovetail.solver.kernel import jit_enabled
from dovetail.solver.phases import RATE, RATE_TOL, STEP, STEP_TOL
from dovetail.solver.program import Program
from dovetail.solver.solution import Solution, Tolerances
from dovetail.typing import Array, Indices

if TYPE_CHECKING:
    from dovetail.solver.model import Model

__all__ = ["Quiet"]

_MOST = 4 * PATIENCE  # iterations that a step must be allowed at least, so that none of a descent is the last one


class Quiet:
    """The quiet steps of a model."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._fits: Indices | None = None
        self._descent: Descent | None = None
        self._weights: SweepWeights | None = None
        self._weighed: list[int] = []
        self._states = np.zeros((0, 0, 4, 3))
        potential, sweep = model.potential, model.directions.sweep
        by_joints = jit_enabled and model.stops is None and len(potential.others) == 1
        if sweep is None:
            by_joints = by_joints and potential.exact is None and model.contact is None
        else:
            by_joints = by_joints and not sweep.are_curved
        self._is_possible = by_joints and model.islands.count > 0

    def _is_quiet(self, h: float, Q: Array, tolerances: Tolerances) -> bool:
        """Whether a step of length h from Q may be quiet; contact has begun it then."""
        model, potential = self._model, self._model.potential
        directions, contact = model.directions, model.contact
        if not self._is_possible or potential.soft_transforms.count or directions.damping.acts:
            return False
        if tolerances.early_exit >= 0 or tolerances.min_iter or tolerances.max_iter < _MOST:
            return False
        if (sweep := directions.sweep) is None:
            directions.need_blocks()
            blocks = directions.blocks
            if blocks.net is not None or blocks.iterates(model.islands.is_free):
                return False
        elif sweep.fits is not self._fits:
            if not np.array_equal(sweep.fits, model.islands.is_free):
                return False
            self._fits = sweep.fits
        return contact is None or contact.begin_clear(Q, h)

    def minimise(self, Q: Array, Q_guess: Array, h: float, tolerances: Tolerances, trials: int) -> Solution | None:
        """The minimiser of the potential of one step of length h, or None; see `minimise` in newton.py."""
        if not self._is_quiet(h, Q, tolerances):
            return None
        model, potential = self._model, self._model.potential
        sweep, contact, exact = model.directions.sweep, model.contact, potential.exact
        d = self._descent = self._descent or self._made()
        if sweep is not None and sweep.sweep.weights is not self._weights:
            self._weights = sweep.sweep.weights
            d.words[self._weighed] = self._weights._pointer
        model.islands.by_joints()
        d.is_open = int(exact is not None and not exact.stay_closed)
        d.trials, d.ccd_tol = min(trials, tolerances.max_iter // 2), tolerances.ccd_tol if exact is None else 1.0
        d.swept.fill(0)
        numbers = potential.numbers
        numbers[STEP_TOL], numbers[RATE_TOL] = tolerances.velocity_tol * h, tolerances.transrate_tol * h
        books = None if contact is None else contact.watch.books()
        found, iterations = descend(d, model.islands, Q, Q_guess)
        if found < 0:
            if contact is not None and books is not None:
                contact.watch.return_to(books)
            return None
        if sweep is not None:
            sweep.has_swept(d.swept)
        step, rate = float(numbers[STEP]), float(numbers[RATE])
        return Solution(self._states[found], int(iterations), 0, 0, step, rate, converged=True)

    def _made(self) -> Descent:
        model, potential, islands = self._model, self._model.potential, self._model.islands
        n, program, active = model.bodies.count, Program(), islands.unconverged
        directions, contact, sweep = model.directions, model.contact, model.directions.sweep
        Q, E, y = np.zeros((3, n, 4, 3)), np.zeros((3, n)), directions.y
        states = [(Q[k], E[k]) for k in range(3)]
        between = [[potential.bind(program, y, at, to) for to in states[1:]] for at in states[1:]]
        found = y
        if sweep is None:
            direct = [[potential.bind_solver(program, at, directions.blocks, y)] for at in Q[1:]]
        else:
            found = sweep.found
            bound = [sweep.bind(program, at, active, found) for at in Q[1:]]
            direct, self._weighed = [places for places, _ in bound], [weights for _, weights in bound]
        look, record = [-1, -1, -1], -1
        commits: Indices = np.zeros(0, np.int64)
        if contact is not None:
            watch = contact.watch
            looked = [(Q[1], False), (Q[2], False), (Q[0], True)]
            look = [program.add(look_at_step, watch, at, y, frame, islands.of, model.whole) for at, frame in looked]
            record, commits = program.add(record_motion, watch, islands), watch.commits
        at_start = potential.bind(program, y, states[0], states[0])
        self._program, self._states = program, Q
        return Descent(
            words=program.words(), at_start=at_start, between=np.array(between), direct=np.array(direct),
            look=np.array(look), record=record, numbers=potential.numbers, Q=Q, E=E, y=y, found=found,
            swept=np.zeros(n, np.int64), sweeps=int(sweep is not None), commits=commits, stays=np.zeros(n),
            waits=np.zeros(n, np.int64), has_exact=int(potential.exact is not None),
            skip=int(model.all_exact and contact is None), is_open=0, trials=0, ccd_tol=0.0,
        )  # fmt: skip
