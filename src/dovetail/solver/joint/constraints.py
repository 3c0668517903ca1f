"""The linear algebra of exact joints: all their rows as one vector, and steps that close them. See exact.py."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail.kernel.copy import copy
from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import Record, f8, i8, integer, nested
from dovetail.solver.blocks import Blocks, clear_resting, set_to_base
from dovetail.solver.joint.combined import (
    Combined,
    apply_combined,
    assemble_combined,
    bend_combined,
    combined_merits,
    linearise_combined,
    measure_combined,
    pull_back_combined,
)
from dovetail.solver.joint.row_algebra import apply_rows, bend_rows, measure_rows, pull_back_rows
from dovetail.solver.joint.rows import Rows, assemble_rows, linearise_rows, row_merits
from dovetail.solver.linear.cholesky import solve
from dovetail.solver.linear.dual import solve_points
from dovetail.solver.natural import natural
from dovetail.typing import Array, Indices

__all__ = [
    "ALONG",
    "CLOSED",
    "GAP",
    "STILL",
    "Constraints",
    "add_bends",
    "add_merits",
    "close_direction",
    "linearise_constraints",
    "measure_constraints",
    "restrict_direction",
    "set_closing_gradient",
    "start_rows",
    "survey_direction",
]

ALONG = 1e-10  # |J x| over |x| of a start or an adjoint that is not; the error of its μ is this times K: 1e-4 and more
CLOSED = 1e-13  # [m, –] a residual that is not worth a correction, for a scene of the size of a metre
STILL = 1e-16  # [m, –] h |J V̂| that is lost in the round-off of positions: a machine that stands has no velocity
GAP = 1e-11  # [m, –] a residual at which a joint does not count as closed: 1e-9 rad on a hinge of a centimetre

_MERIT = 1e-4  # K_m / K, the strength of a usual penalty: a stiff one would only let a slider creep along its curve
_ROUNDS = 6  # in which curved constraints are evaluated again
_CORRECTIONS = 40  # at most in a round; one or two are usual
_LOST = 1e-5  # J A⁻¹Jᵀ over K⁻¹, below which rows count as dependent on each other


class Constraints(Record):
    """All exact rows one after the other: those of points, of slides, combined ones.

    K, yields (r,)     weights, and their inverses; 0 for rows between fixed bodies
    residual (r, 3)    C where it was last measured
    bend (r, 3)        what J x is to be in a consistent start
    slides_from, combined_from   the first rows that are those of slides, and combined ones
    of (r,), body_of (n,)        mechanism of each row and body, −1 where all is fixed; there are so many `mechanisms`
    """

    points: Rows = nested(Rows)
    slides: Rows = nested(Rows)
    combined: Combined = nested(Combined)
    K: Array = f8(1)
    yields: Array = f8(1)
    residual: Array = f8(2)
    bend: Array = f8(2)
    slides_from: int = integer()
    combined_from: int = integer()
    of: Indices = i8(1)
    body_of: Indices = i8(1)
    mechanisms: int = integer()


@kernel
def measure_constraints(c: Constraints, active: Indices, Q: Array, y: Array, out: Array) -> float:
    """out ← C(Q − y); its largest component."""
    first = measure_rows(c.points, active, Q, y, 0, out)
    second = measure_rows(c.slides, active, Q, y, c.slides_from, out)
    third = measure_combined(c.combined, active, Q, y, c.combined_from, out)
    return max(first, max(second, third))


@kernel
def _apply(c: Constraints, active: Indices, y: Array, out: Array) -> None:
    """out ← J y."""
    apply_rows(c.points, active, y, 0, out)
    apply_rows(c.slides, active, y, c.slides_from, out)
    apply_combined(c.combined, active, y, c.combined_from, out)


@kernel
def _pull_back(c: Constraints, values: Array, g: Array) -> None:
    """g += Jᵀ values."""
    pull_back_rows(c.points, values, 0, g)
    pull_back_rows(c.slides, values, c.slides_from, g)
    pull_back_combined(c.combined, values, c.combined_from, g)


@kernel
def add_merits(c: Constraints, Q: Array, owner: Indices, E: Array) -> None:
    """E[owner] += λ·C + K_m/2 ‖C‖² at Q, which is 0 where the joints are closed."""
    row_merits(c.points, _MERIT, Q, owner, E)
    row_merits(c.slides, _MERIT, Q, owner, E)
    combined_merits(c.combined, _MERIT, Q, owner, E)


@kernel
def linearise_constraints(c: Constraints, active: Indices, Q: Array) -> float:
    """C and J of all rows ← those at Q; the largest component of C."""
    first = linearise_rows(c.points, active, Q)
    second = linearise_rows(c.slides, active, Q)
    third = linearise_combined(c.combined, active, Q)
    return max(first, max(second, third))


@kernel
def add_bends(c: Constraints, h: float, Q: Array, V: Array, g: Array) -> None:
    """bend ← h² (∂J/∂Q V) V; g += Jᵀ K times it."""
    values = np.empty((len(c.K), 3))
    bend_rows(c.points, V, h * h, 0, c.bend)
    bend_rows(c.slides, V, h * h, c.slides_from, c.bend)
    bend_combined(c.combined, Q, V, h * h, c.combined_from, c.bend)
    for r in range(len(values)):
        for a in range(3):
            values[r, a] = c.K[r] * c.bend[r, a]
    _pull_back(c, values, g)


@kernel
def start_rows(points: Rows, slides: Rows, constraints: Any, active: Indices, Q: Array, blocks: Blocks) -> None:
    """Begin a filter (consistent.py): U ← base, g, D, U += rows of joints at Q, Gauss–Newton; bend ← 0.

    A start obeys exact joints, whatever their multipliers are.
    """
    g, D, U, kinds = blocks.g, blocks.D, blocks.U, (points, slides)
    set_to_base(blocks, 0, len(U))
    for k in range(2):
        linearise_rows(kinds[k], active, Q)
        assemble_rows(kinds[k], False, True, g, D, U)
    if constraints is not None:
        rows, bend = constraints.combined, constraints.bend
        for k in range(len(bend)):
            bend[k, 0] = bend[k, 1] = bend[k, 2] = 0.0
        linearise_combined(rows, active, Q)
        assemble_combined(rows, False, True, Q, g, D, U)


@kernel
def _residual_at(c: Constraints, k: int, a: int) -> float:
    """Component a of C of exact row k, as linearised."""
    first, second = c.slides_from, c.combined_from
    if k < first:
        return c.points.C[c.points.exact + k, a]
    if k < second:
        return c.slides.C[c.slides.exact + k - first, a]
    return c.combined.C[k - second, a]


@kernel
def set_closing_gradient(c: Constraints, g: Array) -> None:
    """g ← Jᵀ K C, as linearised: without multipliers."""
    values = np.empty((len(c.K), 3))
    for b in range(len(g)):
        for i in range(12):
            g[b, i] = 0.0
    for k in range(len(values)):
        for a in range(3):
            values[k, a] = c.K[k] * _residual_at(c, k, a)
    _pull_back(c, values, g)


@kernel
def _largest(values: Array, k: int) -> float:
    """The largest entry of a row."""
    largest = 0.0
    for a in range(values.shape[1]):
        if not abs(values[k, a]) <= largest:
            largest = abs(values[k, a])
    return largest


@kernel
def _spread(values: Array, of: Indices, out: Array) -> None:
    """out (m,) ← the larger of it and the largest entries of the rows of each part, of (r,); −1 is none."""
    for r in range(len(values)):
        if of[r] >= 0:
            n, largest = natural(of[r]), _largest(values, r)
            if not largest <= out[n]:
                out[n] = largest


@kernel
def _dot(a: Array, b: Array, k: int) -> float:
    """a · b of rows k (3)."""
    return a[k, 0] * b[k, 0] + a[k, 1] * b[k, 1] + a[k, 2] * b[k, 2]


@kernel
def _correct(
    c: Constraints, blocks: Blocks, net: Any, active: Indices, rest: Indices, parts: tuple[Indices, Indices],
    open_by: Array, y: Array, mu: Array,
) -> bool:  # fmt: skip
    """y ← y + A⁻¹Jᵀμ with J A⁻¹Jᵀμ = residual, up to what each part is open by (m,); mu (r, 3) += μ, residual ← rest.

    Conjugate gradients on J A⁻¹Jᵀ with K as its inverse, of each part: A⁻¹ couples none with another. parts are those
    of rows (r,) and bodies (n,), rest (n,) the active bodies that are in no net. Whether all are closed so far.
    """
    rows, bodies, m = len(c.K), len(y), len(open_by)
    of, body_of = parts
    r, p, applied, step = c.residual, np.empty((rows, 3)), np.empty((rows, 3)), np.zeros((bodies, 12))
    rz, past, curvature = np.zeros(m), np.zeros(m), np.zeros(m)
    stiff, alpha, left = np.zeros(m), np.zeros(m), np.zeros(m)
    _spread(r, of, left)
    for k in range(rows):
        goes = of[k] >= 0 and not left[of[k]] <= open_by[of[k]]
        for a in range(3):
            p[k, a] = c.K[k] * r[k, a] if goes else 0.0
        rz[of[k]] += _dot(r, p, k)
    for _ in range(_CORRECTIONS):
        _pull_back(c, p, step)
        if net is not None:
            solve_points(net, active, blocks.D, step)
        span = (0, 0, len(blocks.order))
        solve(blocks.order, blocks.row_start, blocks.column, rest, blocks.D, blocks.U, blocks.R, step, span)
        clear_resting(active, step)
        _apply(c, active, step, applied)
        for n in range(m):
            curvature[n] = stiff[n] = 0.0
        for k in range(rows):
            curvature[of[k]] += _dot(p, applied, k)
            stiff[of[k]] += c.yields[k] * _dot(p, p, k)
        for n in range(m):
            alpha[n] = rz[n] / curvature[n] if curvature[n] > _LOST * stiff[n] else 0.0
            past[n], rz[n], left[n] = rz[n], 0.0, 0.0
        for b in range(bodies):
            share = alpha[natural(body_of[b])] if body_of[b] >= 0 else 0.0
            if share != 0.0:
                for i in range(12):
                    y[b, i] += share * step[b, i]
            for i in range(12):
                step[b, i] = 0.0
        for k in range(rows):
            n = of[k]
            for a in range(3):
                mu[k, a] += alpha[n] * p[k, a]
                r[k, a] -= alpha[n] * applied[k, a]
            rz[n] += c.K[k] * _dot(r, r, k)
        _spread(r, of, left)
        some = opens = False
        for n in range(m):
            is_open = not left[n] <= open_by[n]
            goes = alpha[n] != 0.0 and is_open
            some, opens = some or goes, opens or is_open
            alpha[n] = rz[n] / past[n] if goes else math.inf
        if not some:
            return not opens
        for k in range(rows):
            share = alpha[of[k]]
            goes = share < math.inf
            for a in range(3):
                p[k, a] = c.K[k] * r[k, a] + share * p[k, a] if goes else 0.0
    return False


@kernel
def _close(
    c: Constraints, blocks: Blocks, net: Any, active: Indices, rest: Indices, Q: Array, size: float, y: Array, mu: Array
) -> float:
    """y ← y + A⁻¹Jᵀμ with C(Q − y) = 0; mu (r, 3) += μ. The largest residual left.

    size [m] is what round-off is measured by.
    """
    y_kept, mu_kept = y.copy(), mu.copy()
    before = worst = math.inf
    ends = False
    for n in range(_ROUNDS + 1):
        worst = measure_constraints(c, active, Q, y, c.residual)
        if ends or worst <= CLOSED * size or n == _ROUNDS:
            break
        # a step can be too long for its correction, or rows that depend on each other not fit any more; a NaN too
        if not worst < before:
            copy(y_kept, y)
            copy(mu_kept, mu)
            ends = True
            continue
        if worst > 0.5 * before:
            break
        before = worst
        copy(y, y_kept)
        copy(mu, mu_kept)
        parts = np.zeros(len(c.K), np.int64), np.zeros(len(y), np.int64)  # contacts may couple all
        _correct(c, blocks, net, active, rest, parts, np.full(1, CLOSED * size), y, mu)
    return worst


@kernel
def _add_to(rows: Rows, first: int, mu: Array) -> None:
    """λ of exact rows += mu[first …]."""
    for k in range(rows.exact, len(rows.left)):
        for a in range(3):
            rows.multiplier[k, a] += mu[first + k - rows.exact, a]


@kernel
def _size_of(Q: Array) -> float:
    """1 m plus the largest entry of Q."""
    size = 1.0
    for b in range(len(Q)):
        for i in range(4):
            for x in range(3):
                size = max(size, 1.0 + abs(Q[b, i, x]))
    return size


@kernel
def survey_direction(c: Constraints, active: Indices, Q: Array, y: Array) -> tuple[float, float]:
    """What `close_direction` returns, of a step −y that was found elsewhere."""
    size = _size_of(Q)
    linearise_constraints(c, active, Q)
    return measure_constraints(c, active, Q, y, c.residual) / size, size


@kernel
def close_direction(
    c: Constraints, blocks: Blocks, net: Any, active: Indices, rest: Indices, Q: Array, y: Array
) -> tuple[float, float]:
    """y = A⁻¹g becomes a step with C(Q − y) = 0, with the λ for it. The largest residual, and the size of Q."""
    rows, size = len(c.K), _size_of(Q)
    mu, applied = np.empty((rows, 3)), np.empty((rows, 3))
    points, slides, first, second = c.points, c.slides, c.slides_from, c.combined_from
    for k in range(rows):
        for a in range(3):
            mu[k, a] = c.K[k] * _residual_at(c, k, a)
    worst = _close(c, blocks, net, active, rest, Q, size, y, mu)
    _apply(c, active, y, applied)
    for k in range(rows):
        for a in range(3):
            mu[k, a] -= c.K[k] * applied[k, a]
    _add_to(points, 0, mu)
    _add_to(slides, first, mu)
    for k in range(rows - second):
        for a in range(3):
            c.combined.multiplier[k, a] += mu[second + k, a]
    return worst / size, size


@kernel
def restrict_direction(
    c: Constraints, blocks: Blocks, net: Any, active: Indices, rest: Indices, closed: float, least: float, apart: bool,
    x: Array, mu: Array,
) -> None:  # fmt: skip
    """x = A⁻¹b becomes the solution of H x = b + Jᵀμ with J x = bend; mu (r, 3) ← μ.

    J x is that up to `closed` times x, or to `least`, whichever is more.
    `apart` says that no contacts couple mechanisms.
    """
    many, residual = c.mechanisms if apart else 1, c.residual
    of, body_of = (c.of, c.body_of) if apart else (np.zeros(len(c.K), np.int64), np.zeros(len(x), np.int64))
    size, left, open_by = np.zeros(many), np.zeros(many), np.empty(many)
    for k in range(len(mu)):
        mu[k, 0] = mu[k, 1] = mu[k, 2] = 0.0
    for _ in range(2):
        _apply(c, active, x, residual)
        for k in range(len(residual)):
            for a in range(3):
                residual[k, a] = c.bend[k, a] - residual[k, a]
        _spread(x, body_of, size)  # what is left of a sum is as inexact as its largest part
        for m in range(many):
            left[m] = 0.0
        _spread(residual, of, left)
        some = False
        for m in range(many):
            open_by[m] = max(closed * size[m], least)
            some = some or not left[m] <= open_by[m]
        if not some or _correct(c, blocks, net, active, rest, (of, body_of), open_by, x, mu):
            break
