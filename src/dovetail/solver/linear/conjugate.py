"""Conjugate gradients with an incomplete block Cholesky factor, for body graphs whose factor would fill up.

Where every body touches all its neighbours, as in a dense pile, the factor of H has many times the blocks of H. The
incomplete factor keeps the blocks of H alone and drops the rest: on a tree it is exact, elsewhere it leads conjugate
gradients to 10⁻⁴ in some tens of rounds. H must be positive definite.

Rows come in leaves that no block connects, and the separator, which lies between them and comes last (separated in
ordering.py). Leaves are worked on at the same time. What they add to the separator each keeps for itself, until it is
summed there in their order; so are products of vectors.
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
from dovetail.solver.natural import natural
from dovetail.typing import Array, Indices

__all__ = ["System", "conjugate_gradients", "symmetrise"]

_FORWARD, _BACKWARD, _DIRECTION, _PRODUCT = (1 << phase for phase in range(4))
_ALPHA, _RATIO = range(2)


@kernel
def symmetrise(D: Array) -> None:
    """Copy the upper triangle of every block into the lower one."""
    for k in range(len(D)):
        for i in range(12):
            for j in range(i):
                D[k, i, j] = D[k, j, i]


class System(Record):
    """H, its incomplete factor, and the vectors of a solution, by rows in the order of elimination.

    bounds (leaves + 2,)        where the rows of leaves begin, those of the separator, and where these end
    active (n,)                 bodies that take part; vectors are 0 in the rows of others
    r, x, z, p, product         residual, solution, P⁻¹r, direction, −H p; z and product end with what each leaf adds to
                                the rows of the separator
    share (leaves + 1,)         of a product of vectors
    numbers                     step length and ratio of the round at hand
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
    numbers: Array = f8(1)


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


def conjugate_gradients(
    rows: tuple[Indices, Indices, Indices], spans: Spans, H: tuple[Array, Array], factor: tuple[Array, Array, Array],
    active: Indices, tolerance: float, most: int, y: Array,
) -> int:  # fmt: skip
    """y (n, 12) ← H⁻¹ y of the active bodies, to a relative residual; returns the number of rounds.

    rows are order, row_start and column of the structure (cholesky.py), spans the leaves and the separator in it, H the
    blocks D and U, all of them and not only upper triangles, factor those of the incomplete factor, with R. The
    residual is measured as √(rᵀ P⁻¹ r), P the product of the incomplete factors.
    """
    leaves, (order, row_start, column) = len(spans) - 1, rows
    taken = active[order] != 0
    r, m = np.where(taken[:, None], y[order], 0.0), len(order)
    beyond = m + leaves * int(spans.bounds[-1] - spans.bounds[-2])
    system = System(
        order=order, row_start=row_start, column=column, D=H[0], U=H[1], factor_D=factor[0], factor_U=factor[1],
        R=factor[2], bounds=spans.bounds, leaves=leaves, active=active, r=r, x=np.zeros((m, 12)), p=np.zeros((m, 12)),
        z=np.zeros((beyond, 12)), product=np.zeros((beyond, 12)), share=np.zeros(leaves + 1), numbers=np.zeros(2),
    )  # fmt: skip
    with crew(_chunk, spans, system) as team:
        rounds = int(_iterate(team, system, tolerance, most))
    y[order[taken]] = system.x[taken]
    return rounds
