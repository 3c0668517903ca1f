"""Conjugate gradients with an incomplete block Cholesky factor, for body graphs whose factor would fill up.

Where every body touches all its neighbours, as in a dense pile, the factor of H has many times the blocks of H. The
incomplete factor keeps the blocks of H alone and drops the rest: on a tree it is exact, elsewhere it leads conjugate
gradients to 10⁻⁴ in some tens of rounds. H must be positive definite.

Rows come in leaves that no block connects, and the separator, which lies between them and comes last (separator.py).
Leaves are worked on at the same time. What they add to the separator each keeps for itself, until it is
summed there in their order; so are products of vectors. What the factor of leaves subtracts from the separator is
subtracted when that is factored.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernel.kernel import kernel, mapped
from dovetail.kernel.record import Record, f8, i8, integer
from dovetail.kernel.threads import Crew, Spans, crew, run_chunks
from dovetail.solver.linear.block12 import (
    subtract_times,
    subtract_transposed_times,
    upper_solve,
    upper_transposed_solve,
)
from dovetail.solver.linear.cholesky import factor_row, subtract_row
from dovetail.solver.natural import natural
from dovetail.typing import Array, Indices

__all__ = ["System", "conjugate_gradients", "factor_incompletely"]

_FORWARD, _BACKWARD, _DIRECTION, _PRODUCT, _FACTOR = (1 << phase for phase in range(5))
_ALPHA, _RATIO, _SHIFT = range(3)
_SHIFTS = (0.0, 1e-3, 1e-2, 0.1, 1.0)  # of the diagonal, where an incomplete factor breaks down


class System(Record):
    """H, its incomplete factor, and the vectors of a solution, by rows in the order of elimination.

    It lives as long as the structure, so that calls with it are known (threads.py) and no room is made anew.

    bounds (leaves + 2,)        where the rows of leaves begin, those of the separator, and where these end
    active (n,)                 bodies that take part; vectors are 0 in the rows of others
    r, x, z, p, product         residual, solution, P⁻¹r, direction, −H p; z and product end with what each leaf adds to
                                the rows of the separator
    share (leaves + 1,)         of a product of vectors
    bad (leaves + 1,)           −1, or a body at which the factor of a leaf is not positive definite
    numbers                     step length and ratio of the round at hand; the share that was added to the diagonal
    """

    order: Indices = i8(1)
    row_start: Indices = i8(1)
    column: Indices = i8(1)
    D: Array = f8(3)
    U: Array = f8(3)
    factor_D: Array = f8(3)
    factor_U: Array = f8(3)
    R: Array = f8(2)
    bounds: Indices = i8(1)
    leaves: int = integer()
    active: Indices = i8(1)
    r: Array = f8(2)
    x: Array = f8(2)
    z: Array = f8(2)
    p: Array = f8(2)
    product: Array = f8(2)
    share: Array = f8(1)
    bad: Indices = i8(1)
    numbers: Array = f8(1)

    def __init__(
        self, rows: tuple[Indices, Indices, Indices], H: tuple[Array, Array, Array], factor_U: Array, bounds: Indices
    ) -> None:
        """rows are order, row_start and column of the structure (cholesky.py), H the blocks D, U and room R."""
        (order, row_start, column), (D, U, R), leaves, m = rows, H, len(bounds) - 2, len(rows[0])
        beyond = m + leaves * int(bounds[-1] - bounds[-2])
        super().__init__(
            order=order, row_start=row_start, column=column, D=D, U=U, R=R, factor_D=np.empty_like(D),
            factor_U=factor_U, bounds=bounds, leaves=leaves, active=np.zeros(len(D), np.int64),
            r=np.zeros((m, 12)), x=np.zeros((m, 12)), p=np.zeros((m, 12)), z=np.zeros((beyond, 12)),
            product=np.zeros((beyond, 12)), share=np.zeros(leaves + 1), bad=np.full(leaves + 1, -1),
            numbers=np.zeros(3),
        )  # fmt: skip
        self.spans = Spans(m, leaves + 1, math.inf, bounds=bounds)


@kernel
def _copy(s: System, shift: float, start: int, stop: int) -> None:
    """The factor ← some rows of H, with a share of its diagonal more; H ← all of its diagonal blocks, not half."""
    order, row_start, active, D, U, factor_D, factor_U = (
        s.order, s.row_start, s.active, s.D, s.U, s.factor_D, s.factor_U
    )  # fmt: skip
    for k in range(start, stop):
        k = natural(k)
        body = natural(order[k])
        if not active[body]:
            continue
        for i in range(12):
            for j in range(i):
                D[body, i, j] = D[body, j, i]
        for i in range(12):
            for j in range(12):
                factor_D[body, i, j] = D[body, i, j]
            factor_D[body, i, i] += shift * D[body, i, i]
        for b in range(row_start[k], row_start[k + 1]):
            b = natural(b)
            for i in range(12):
                for j in range(12):
                    factor_U[b, i, j] = U[b, i, j]


@kernel
def _factor(s: System, start: int, stop: int, is_leaf: bool) -> int:
    """The incomplete factor of the rows of a leaf or of the separator; −1, or a body that is not positive definite."""
    order, row_start, column, active = s.order, s.row_start, s.column, s.active
    D, U, R, separator = s.factor_D, s.factor_U, s.R, s.bounds[s.leaves]
    _copy(s, s.numbers[_SHIFT], start, stop)
    for k in range(s.bounds[0], 0 if is_leaf else start):
        if active[order[k]]:
            subtract_row(order, row_start, column, D, U, k, separator, stop)
    for k in range(start, stop):
        if active[order[k]]:
            if not factor_row(order, row_start, D, U, R, k):
                return order[k]
            subtract_row(order, row_start, column, D, U, k, start, separator if is_leaf else stop)
    return -1


@kernel
def _clear(out: Array, start: int, stop: int) -> None:
    for k in range(start, stop):
        for i in range(12):
            out[natural(k), i] = 0.0


@kernel
def _gather(out: Array, start: int, stop: int, leaves: int) -> None:
    """out += what leaves have added to the rows of the separator, from its end on."""
    for leaf in range(leaves):
        beyond = stop - start + leaf * (stop - start)
        for k in range(start, stop):
            for i in range(12):
                out[natural(k), i] += out[natural(k + beyond), i]


@kernel
def _dot(start: int, stop: int, a: Array, b: Array) -> float:
    total = 0.0
    for k in range(start, stop):
        k = natural(k)
        for i in range(12):
            total += a[k, i] * b[k, i]
    return total


@mapped
def _chunk(s: System, span: tuple[int, int, int, int]) -> None:
    """Phases of a round, of the rows of a leaf or of the separator."""
    part, start, stop, phases = span
    order, row_start, column, active, leaves = s.order, s.row_start, s.column, s.active, s.leaves
    D, U, factor_D, factor_U, R = s.D, s.U, s.factor_D, s.factor_U, s.R
    r, x, z, p, product = s.r, s.x, s.z, s.p, s.product
    separator, end, is_leaf = s.bounds[leaves], s.bounds[leaves + 1], part < leaves
    beyond = (part + 1) * (end - separator) if is_leaf else 0
    if phases == _FACTOR:
        s.bad[part] = _factor(s, start, stop, is_leaf)
        return
    if phases & _FORWARD:
        alpha = s.numbers[_ALPHA]
        for k in range(start, stop):
            k = natural(k)
            for i in range(12):
                x[k, i] += alpha * p[k, i]
                r[k, i] += alpha * product[k, i]
                z[k, i] = r[k, i]
        if is_leaf:
            _clear(z, separator + beyond, end + beyond)
        else:
            _gather(z, start, stop, leaves)
        for k in range(start, stop):
            k = natural(k)
            body = natural(order[k])
            if active[body]:
                upper_transposed_solve(factor_D, body, R, body, z, k)
                for b in range(row_start[k], row_start[k + 1]):
                    into = column[b] + (beyond if column[b] >= separator else 0)
                    subtract_transposed_times(z, into, factor_U, b, z, k)
    if phases & _BACKWARD:
        for k in range(stop - 1, start - 1, -1):
            k = natural(k)
            body = natural(order[k])
            if active[body]:
                for b in range(row_start[k], row_start[k + 1]):
                    subtract_times(z, k, factor_U, b, z, column[b])
                upper_solve(factor_D, body, R, body, z, k)
        s.share[part] = _dot(start, stop, r, z)
    if phases & _DIRECTION:
        ratio = s.numbers[_RATIO]
        for k in range(start, stop):
            k = natural(k)
            for i in range(12):
                p[k, i] = z[k, i] + ratio * p[k, i]
        _clear(product, start, stop)
    if phases & _PRODUCT:
        if is_leaf:
            _clear(product, separator + beyond, end + beyond)
        else:
            _gather(product, start, stop, leaves)
        for k in range(start, stop):
            k = natural(k)
            body = natural(order[k])
            if active[body]:
                subtract_times(product, k, D, body, p, k)
                for b in range(row_start[k], row_start[k + 1]):
                    into = column[b] + (beyond if column[b] >= separator else 0)
                    subtract_times(product, k, U, b, p, column[b])
                    subtract_transposed_times(product, into, U, b, p, k)
        s.share[part] = -_dot(start, stop, p, product)


@kernel
def _run(team: Crew | None, s: System, phases: int, whole: bool) -> None:
    """Phases of a round, of all leaves, or of the separator alone."""
    first, last = (0, s.leaves) if whole else (s.leaves, s.leaves + 1)
    if team is None:
        for part in range(first, last):
            _chunk(s, (part, s.bounds[part], s.bounds[part + 1], phases))
    else:
        run_chunks(team, phases, first, last)


@kernel
def _sum(s: System) -> float:
    total = 0.0
    for part in range(s.leaves + 1):
        total += s.share[part]
    return total


@mapped
def _factor_all(team: Crew | None, s: System, shift: float) -> int:
    """The incomplete factor with a share of the diagonal more; −1, or a body that is not positive definite."""
    s.numbers[_SHIFT] = shift
    _run(team, s, _FACTOR, True)
    worst = -1
    for leaf in range(s.leaves):
        worst = max(worst, s.bad[leaf])
    if worst < 0 and s.bounds[s.leaves] < s.bounds[s.leaves + 1]:
        _run(team, s, _FACTOR, False)
        worst = s.bad[s.leaves]
    return worst


def factor_incompletely(s: System, active: Indices) -> int:
    """The incomplete factor ← that of the rows of active bodies; −1, or one at which it is not positive definite."""
    s.active[:] = active
    bad = -1
    with crew(_chunk, s.spans, s) as team:
        for shift in _SHIFTS:
            bad = int(_factor_all(team, s, shift))
            if bad < 0:
                break
    return bad


@mapped
def _iterate(team: Crew | None, s: System, tolerance: float, most: int) -> int:
    """Rounds until the residual is small; how many."""
    before = goal = 0.0
    rounds = 0
    while True:
        _run(team, s, _FORWARD, True)
        _run(team, s, _FORWARD | _BACKWARD, False)
        _run(team, s, _BACKWARD, True)
        rz = _sum(s)
        if rounds == 0:
            goal = tolerance * tolerance * rz
        s.numbers[_RATIO] = rz / before if rounds else 0.0
        if rounds == most or rz <= goal:
            break
        rounds += 1
        before = rz
        _run(team, s, _DIRECTION, False)
        _run(team, s, _DIRECTION | _PRODUCT, True)
        _run(team, s, _PRODUCT, False)
        curvature = _sum(s)
        if not curvature > 0.0:
            # not a number, or H was not positive definite after all: what there is of x will do, if there is any
            if rounds == 1:
                s.x[:] = math.nan
            break
        s.numbers[_ALPHA] = rz / curvature
    return rounds


@kernel
def _begin(s: System, active: Indices, y: Array) -> None:
    """Residual ← y (n, 12) of active bodies (n,), solution and direction ← 0."""
    order, r, x, p, product = s.order, s.r, s.x, s.p, s.product
    for b in range(len(active)):
        s.active[b] = active[b]
    for k in range(len(order)):
        k = natural(k)
        body = natural(order[k])
        for i in range(12):
            r[k, i] = y[body, i] if active[body] else 0.0
            x[k, i] = p[k, i] = product[k, i] = 0.0
    s.numbers[_ALPHA] = s.numbers[_RATIO] = 0.0


@kernel
def _end(s: System, y: Array) -> None:
    """y (n, 12) of active bodies ← the solution."""
    order, active, x = s.order, s.active, s.x
    for k in range(len(order)):
        k = natural(k)
        body = natural(order[k])
        if active[body]:
            for i in range(12):
                y[body, i] = x[k, i]


def conjugate_gradients(s: System, active: Indices, tolerance: float, most: int, y: Array) -> int:
    """y (n, 12) ← H⁻¹ y of active bodies, to a relative residual, with the factor in place; the number of rounds.

    The residual is measured as √(rᵀ P⁻¹ r), P the product of the incomplete factors.
    """
    _begin(s, active, y)
    with crew(_chunk, s.spans, s) as team:
        rounds = int(_iterate(team, s, tolerance, most))
    _end(s, y)
    return rounds
