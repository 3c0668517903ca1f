"""Phases of a Newton iteration that follow each other without anything in between, each a call of one kernel.

`advance` measures a step, decides what islands do with it, takes it, evaluates and compares. `direct` assembles,
factors and solves. Which phases a call has is told by bits, so that there is one compiled kernel for all of them: a
scene without guards and with nothing but bodies, rows and laws takes two calls an iteration, while guards, contact and
users' terms come in between. What a scene does not have (slides, laws, ARAP, exact joints, combined rows) is None, and
is not compiled.
"""

from __future__ import annotations

from typing import Any

from dovetail.kernel.emit import LANES
from dovetail.kernel.kernel import kernel, mapped
from dovetail.kernel.record import Record, f8, i8, nested
from dovetail.solver.assembly.bodies import Weights, add_body_energies, add_some_energies, assemble_bodies
from dovetail.solver.blocks import Blocks, copy_active, set_to_base
from dovetail.solver.convergence import accept_trials, continue_trials, predict_last, settle
from dovetail.solver.islands import Islands
from dovetail.solver.iterate import damp, measure, move, move_some, set_limits, shorten, total_by_island
from dovetail.solver.joint.caps import mark_bends
from dovetail.solver.joint.combined import assemble_combined, linearise_combined
from dovetail.solver.joint.constraints import add_merits
from dovetail.solver.joint.laws import assemble_laws, law_energies
from dovetail.solver.joint.rows import Rows, assemble_rows, linearise_rows, row_energies
from dovetail.solver.linear.cholesky import factor, solve
from dovetail.solver.natural import natural
from dovetail.solver.steady import mark_stresses
from dovetail.typing import Array, Indices

__all__ = [
    "ACCEPT",
    "BODIES",
    "CCD_TOL",
    "COMPARE",
    "CURVED",
    "DAMP",
    "DECIDE",
    "ENERGIES",
    "FACTOR",
    "JOINTS",
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
    "REST",
    "RISING",
    "SETTLED",
    "STEP",
    "STEP_TOL",
    "STRAIGHT",
    "TRIAL",
    "Standard",
    "advance",
    "advance_bodies",
    "direct",
]


MEASURE, DECIDE, DAMP, TRIAL, LIMIT, MOVE, ENERGIES, COMPARE, ACCEPT, REST = (1 << k for k in range(10))
"""Of `advance`: size of a step; which islands end, curve their step; which step turns back; the first on trial; what
energies must not exceed; the step itself; energies there; which of them rise; which trials are accepted. REST: of the
energies those of rows and laws, where `advance_bodies` has moved the bodies, and weighed these."""

BODIES, JOINTS, FACTOR = 1, 2, 4
"""Of `direct`: derivatives of bodies, of rows and laws; factor and solution."""

(
    PHASES, STEP_TOL, RATE_TOL, CCD_TOL, SETTLED, STRAIGHT, MORE, OPEN,
    STEP, RATE, LEFT, CURVED, MEANINGFUL, RISING, NUMBERS,
) = range(15)  # fmt: skip
"""Entries of `numbers`: what `advance` is told (tolerances, whether a step may be the last, none is to be curved,
another trial may follow, exact joints may be open), and what it tells."""


class Standard(Record):
    """What every scene has: bodies with their weights, the points of joints, and the target Q̃ of the step at hand.

    owner (n,) is a body itself, −1 for a fixed one; merit (n,) is room for energies with how open exact joints are;
    last (n, 12) is the direction before the present one, where that matters.
    """

    weights: Weights = nested(Weights)
    points: Rows = nested(Rows)
    Q_tilde: Array = f8(3)
    owner: Indices = i8(1)
    merit: Array = f8(1)
    last: Array = f8(2)


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
    _joint_energies(p, slides, laws, Q, E)


@kernel
def _joint_energies(p: Standard, slides: Any, laws: Any, Q: Array, E: Array) -> None:
    """E (n,) += energies of penalty rows and laws at Q, by body."""
    kinds, many = _rows(p, slides)
    for k in range(many):
        row_energies(kinds[k], Q, p.owner, E)
    if laws is not None:
        law_energies(laws, Q, p.owner, E, False)


@kernel
def _merits(p: Standard, constraints: Any, s: Islands, is_open: bool, Q: Array, E: Array) -> Array:
    """What a line search compares, by body: the energies E at Q, and how open exact joints are where they may be."""
    if constraints is not None:
        some = is_open
        for b in range(len(E)):
            p.merit[b] = E[b]
            some = some or s.gaps[b] != 0
        if some:
            add_merits(constraints, Q, p.owner, p.merit)
            for b in range(len(E)):
                if not is_open and not s.gaps[b]:
                    p.merit[b] = E[b]
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
        centre, half = p.weights.bodies.centre, p.weights.bodies.half
        numbers[STEP], numbers[RATE] = measure(centre, half, s, y, numbers[STEP_TOL], numbers[RATE_TOL])
    if phases & (DECIDE | TRIAL):
        mark_stresses(p.weights, p.Q_tilde, s, y, Q, numbers[RATE_TOL])
        mark_bends(laws, s, y)
    if phases & DECIDE:
        numbers[LEFT] = settle(s, numbers[CCD_TOL])
        numbers[CURVED] = predict_last(s, numbers[STRAIGHT] != 0.0, numbers[SETTLED] != 0.0)
        if numbers[LEFT] == 0.0:
            # a last step is not tested
            phases &= ~(LIMIT | ENERGIES | COMPARE)
            numbers[RISING] = 0.0
    if phases & DAMP:
        damp(s, y, p.last)
    if phases & DECIDE and constraints is not None and numbers[CURVED] != 0.0 and not is_open:
        return  # joints will open, of which energies are to be told first
    if phases & TRIAL:
        numbers[LEFT], numbers[MEANINGFUL] = continue_trials(s, numbers[MORE] != 0.0)
    if phases & LIMIT:
        set_limits(p.weights, s, Q, _merits(p, constraints, s, is_open, Q, E))
    if phases & MOVE:
        move(s, y, Q, out)
    if phases & ENERGIES:
        _energies(p, slides, laws, arap, out, E_out)
    if phases & REST:
        _joint_energies(p, slides, laws, out, E_out)
    if phases & COMPARE:
        total_by_island(s, _merits(p, constraints, s, is_open, out, E_out))
        numbers[RISING] = shorten(s, False)
    if phases & ACCEPT:
        numbers[LEFT] = accept_trials(s)


@mapped
def advance_bodies(
    p: Standard, arap: Any, s: Islands, y: Array, Q: Array, out: Array, E_out: Array, span: tuple[int, int, int, int]
) -> None:
    """MOVE and ENERGIES of `advance` for some bodies, without rows and laws: whole lanes, so that bits are the same."""
    start, stop = span[1] // LANES * LANES, len(Q) if span[2] == len(Q) else span[2] // LANES * LANES
    if span[3] & MOVE:
        move_some(s, y, Q, out, start, stop)
    if span[3] & ENERGIES:
        for b in range(start, stop):
            E_out[natural(b)] = 0.0
        add_some_energies(p.weights, arap, out, p.Q_tilde, p.owner, E_out, start, stop)


@kernel
def _assemble_bodies(
    p: Standard, arap: Any, exact: bool, Q: Array, active: Indices, blocks: Blocks, start: int, stop: int
) -> None:
    """g, D ← derivatives of some bodies at Q, where these are active; U ← what it begins with, a like share of it."""
    g, many, bodies = blocks.g, len(blocks.U), max(len(Q), 1)
    for b in range(start, stop):
        for i in range(12):
            g[b, i] = 0.0
    set_to_base(blocks, start * many // bodies, stop * many // bodies)
    form = 1.0 if exact else 0.0
    assemble_bodies(p.weights, arap, form, Q, p.Q_tilde, active, blocks.base_D, g, blocks.D, start, stop)


@kernel
def _assemble_joints(
    p: Standard, slides: Any, laws: Any, combined: Any, exact: bool, Q: Array, active: Indices, blocks: Blocks
) -> None:
    """g, D, U += derivatives of rows and laws at Q, of active bodies; positive definite unless `exact`."""
    g, D, U = blocks.g, blocks.D, blocks.U
    kinds, many = _rows(p, slides)
    for k in range(many):
        linearise_rows(kinds[k], active, Q)
        assemble_rows(kinds[k], exact, False, g, D, U)
    if laws is not None:
        assemble_laws(laws, exact, Q, g, D, U)
    if combined is not None:
        linearise_combined(combined, active, Q)
        assemble_combined(combined, exact, False, Q, g, D, U)


@mapped
def direct(
    p: Standard, slides: Any, laws: Any, arap: Any, combined: Any, exact: bool, Q: Array, active: Indices,
    blocks: Blocks, y: Array, span: tuple[int, int, int, int],
) -> int:  # fmt: skip
    """Assemble at Q; factor and solve y (n, 12) = H⁻¹g of active bodies, with all of H by blocks.

    span has where bodies begin and end, and the phases; all but the first are for all bodies. With all of them the
    exact Hessian is tried first if `exact`. Returns −1, or a body at which it is not definite.
    """
    bad, phases, rows = -1, span[3], (0, 0, len(blocks.order))
    while True:
        if phases & BODIES:
            _assemble_bodies(p, arap, exact, Q, active, blocks, span[1], span[2])
        if phases & JOINTS:
            _assemble_joints(p, slides, laws, combined, exact, Q, active, blocks)
        if not phases & FACTOR:
            return bad
        bad = factor(blocks.order, blocks.row_start, blocks.column, active, blocks.D, blocks.U, blocks.R, rows)
        if bad < 0 or not exact or not phases & JOINTS:
            break
        exact = False
    if bad < 0:
        copy_active(active, blocks.g, y)
        solve(blocks.order, blocks.row_start, blocks.column, active, blocks.D, blocks.U, blocks.R, y, rows)
    return bad
