"""Phases of a Newton iteration that follow each other without anything in between, each a call of one kernel.

`advance` measures a step, decides what islands do with it, takes it, evaluates and compares. `direct` assembles,
factors and solves. Which phases a call has is told by bits, so that there is one compiled kernel for all of them: a
scene without guards and with nothing but bodies, rows and laws takes two calls an iteration, while guards, contact and
users' terms come in between. What a scene does not have (slides, laws, ARAP, exact joints, combined rows) is None, and
is not compiled.
"""

from __future__ import annotations

from typing import Any

from dovetail.kernel.copy import copy
from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import Record, f8, i8, nested
from dovetail.solver.assembly.bodies import Weights, add_body_energies, assemble_bodies
from dovetail.solver.blocks import Blocks
from dovetail.solver.convergence import accept_trials, continue_trials, predict_last, settle
from dovetail.solver.islands import Islands
from dovetail.solver.iterate import measure, move, set_limits, shorten, total_by_island
from dovetail.solver.joint.combined import assemble_combined, linearise_combined
from dovetail.solver.joint.constraints import add_merits
from dovetail.solver.joint.laws import assemble_laws, law_energies
from dovetail.solver.joint.rows import Rows, assemble_rows, linearise_rows, row_energies
from dovetail.solver.linear.cholesky import factor, solve
from dovetail.typing import Array, Indices

__all__ = [
    "ACCEPT",
    "ASSEMBLE",
    "CCD_TOL",
    "COMPARE",
    "CURVED",
    "DECIDE",
    "ENERGIES",
    "FACTOR",
    "LEFT",
    "LIMIT",
    "MEANINGFUL",
    "MEASURE",
    "MORE",
    "MOVE",
    "NUMBERS",
    "OPEN",
    "PHASES",
    "RATE",
    "RATE_TOL",
    "RISING",
    "SETTLED",
    "STEP",
    "STEP_TOL",
    "STRAIGHT",
    "TRIAL",
    "Standard",
    "advance",
    "direct",
]


MEASURE, DECIDE, TRIAL, LIMIT, MOVE, ENERGIES, COMPARE, ACCEPT = (1 << k for k in range(8))
"""Of `advance`: size of a step; which islands end, curve their step; the same on trial; what energies must not exceed;
the step itself; energies there; which of them rise; which trials are accepted."""

ASSEMBLE, FACTOR = 1, 2
"""Of `direct`."""

(
    PHASES, STEP_TOL, RATE_TOL, CCD_TOL, SETTLED, STRAIGHT, MORE, OPEN,
    STEP, RATE, LEFT, CURVED, MEANINGFUL, RISING, NUMBERS,
) = range(15)  # fmt: skip
"""Entries of `numbers`: what `advance` is told (tolerances, whether a step may be the last, none is to be curved,
another trial may follow, exact joints may be open), and what it tells."""


class Standard(Record):
    """What every scene has: bodies with their weights, the points of joints, and the target Q̃ of the step at hand.

    owner (n,) is a body itself, −1 for a fixed one; merit (n,) is room for energies with how open exact joints are.
    """

    weights: Weights = nested(Weights)
    points: Rows = nested(Rows)
    Q_tilde: Array = f8(3)
    owner: Indices = i8(1)
    merit: Array = f8(1)


@kernel
def _rows(p: Standard, slides: Any) -> Any:
    """Of points and of slides, and how many of these there are; in a loop they are one copy in the machine code."""
    kinds, many = (p.points, p.points), 1
    if slides is not None:
        kinds, many = (p.points, slides), 2
    return kinds, many


@kernel
def _energies(p: Standard, slides: Any, laws: Any, arap: Any, Q: Array, E: Array) -> None:
    """E (n,) ← energies of bodies, penalty rows and laws at Q, by body."""
    for b in range(len(E)):
        E[b] = 0.0
    add_body_energies(p.weights, arap, Q, p.Q_tilde, p.owner, E)
    kinds, many = _rows(p, slides)
    for k in range(many):
        row_energies(kinds[k], Q, p.owner, E)
    if laws is not None:
        law_energies(laws, Q, p.owner, E, False)


@kernel
def _merits(p: Standard, constraints: Any, is_open: bool, Q: Array, E: Array) -> Array:
    """What a line search compares, by body: the energies E at Q, and how open exact joints are."""
    if constraints is not None:  # noqa: SIM102
        if is_open:
            for b in range(len(E)):
                p.merit[b] = E[b]
            add_merits(constraints, Q, p.owner, p.merit)
            return p.merit
    return E


@kernel
def advance(
    p: Standard, slides: Any, laws: Any, arap: Any, constraints: Any, s: Islands, y: Array, Q: Array, E: Array,
    out: Array, E_out: Array, numbers: Array,
) -> None:  # fmt: skip
    """Phases of the step −y from Q, where energies are E (n,), to `out`, where they are E_out."""
    phases, is_open = int(numbers[PHASES]), numbers[OPEN] != 0.0
    if phases & MEASURE:
        numbers[STEP], numbers[RATE] = measure(p.weights.bodies, s, y, numbers[STEP_TOL], numbers[RATE_TOL])
    if phases & DECIDE:
        numbers[LEFT] = settle(s, numbers[CCD_TOL])
        rate = 0.0 if numbers[STRAIGHT] != 0.0 else numbers[RATE]
        numbers[CURVED] = predict_last(s, rate, numbers[SETTLED] != 0.0)
        if numbers[LEFT] == 0.0:
            # a last step is not tested
            phases &= ~(LIMIT | ENERGIES | COMPARE)
            numbers[RISING] = 0.0
    if phases & TRIAL:
        numbers[LEFT], numbers[MEANINGFUL] = continue_trials(s, numbers[RATE], numbers[MORE] != 0.0)
    if phases & LIMIT:
        set_limits(p.weights, s, Q, _merits(p, constraints, is_open, Q, E))
    if phases & MOVE:
        move(s, y, Q, out)
    if phases & ENERGIES:
        _energies(p, slides, laws, arap, out, E_out)
    if phases & COMPARE:
        total_by_island(s, _merits(p, constraints, is_open, out, E_out))
        numbers[RISING] = shorten(s, False)
    if phases & ACCEPT:
        numbers[LEFT] = accept_trials(s)


@kernel
def _assemble(
    p: Standard, slides: Any, laws: Any, arap: Any, combined: Any, exact: bool, Q: Array, active: Indices,
    blocks: Blocks,
) -> None:  # fmt: skip
    """g, D, U ← derivatives of bodies, rows and laws at Q, of active bodies; positive definite unless `exact`."""
    g, D, U = blocks.g, blocks.D, blocks.U
    for b in range(len(g)):
        for i in range(12):
            g[b, i] = 0.0
    copy(blocks.base_U, U)
    assemble_bodies(p.weights, arap, 1.0 if exact else 0.0, Q, p.Q_tilde, active, blocks.base_D, g, D)
    kinds, many = _rows(p, slides)
    for k in range(many):
        linearise_rows(kinds[k], active, Q)
        assemble_rows(kinds[k], exact, g, D, U)
    if laws is not None:
        assemble_laws(laws, exact, Q, g, D, U)
    if combined is not None:
        linearise_combined(combined, active, Q)
        assemble_combined(combined, exact, Q, g, D, U)


@kernel
def direct(
    p: Standard, slides: Any, laws: Any, arap: Any, combined: Any, exact: bool, Q: Array, active: Indices,
    blocks: Blocks, y: Array, phases: int,
) -> int:  # fmt: skip
    """Assemble at Q; factor and solve y (n, 12) = H⁻¹g of active bodies, with all of H by blocks.

    With both phases the exact Hessian is tried first if `exact`. Returns −1, or a body at which it is not definite.
    """
    bad = -1
    while True:
        if phases & ASSEMBLE:
            _assemble(p, slides, laws, arap, combined, exact, Q, active, blocks)
        if not phases & FACTOR:
            return bad
        rows = (0, 0, len(blocks.order))
        bad = factor(blocks.order, blocks.row_start, blocks.column, active, blocks.D, blocks.U, blocks.R, rows)
        if bad < 0 or not exact or not phases & ASSEMBLE:
            break
        exact = False
    if bad < 0:
        for b in range(len(y)):
            if active[b]:
                for i in range(12):
                    y[b, i] = blocks.g[b, i]
        rows = (0, 0, len(blocks.order))
        solve(blocks.order, blocks.row_start, blocks.column, active, blocks.D, blocks.U, blocks.R, y, rows)
    return bad
