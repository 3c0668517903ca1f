"""Adjoint of impulses at contacts: collisions and sweeps of solver/impulses.py are gone through again, and back.

    V⁻, ξ, directions, motions by unit impulses, met, e, μ  ↦  V⁺, p

Which pairs collide, one after the other, in how many sweeps, is as it was, no part of a derivative. Sweeps are gone
through one by one: where a box strikes with four corners there are many solutions, and they do not end at one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail.gradient.formulas import Node, custom, reshaped, value_of
from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import Record, f8, i8, integer
from dovetail.solver.impulses import Impulses, aim, push, rate, strike, yielded
from dovetail.typing import Array, Indices

__all__ = ["collided"]

_STEP = 1e-4  # largest relative change of what impulses come from, in differences along a direction


class _Past(Record):
    """What sweeps have gone through.

    runs (c, 3)       the first row, the last one, sweeps
    aims_first        1 if they aim, 0 if there is nothing to aim at
    had_met (a,)      whether the rows of each run have collided before
    strikes (s, 2, 3)     impulses of a row before each strike, and after it
    aims (a, 2)       t, ρ of the rows of each run
    """

    runs: Indices = i8(2)
    aims_first: int = integer()
    had_met: Indices = i8(1)
    strikes: Array = f8(3)
    aims: Array = f8(2)


class _Bars(Record):
    """Derivatives by what impulses come from and by impulses, named as in `Impulses`."""

    V: Array = f8(2)
    rows: Array = f8(3)
    motion: Array = f8(2)
    yields: Array = f8(2)
    met: Array = f8(1)
    restitution: Array = f8(1)
    friction: Array = f8(1)
    now: Array = f8(2)


@kernel
def _go_through(b: Impulses, past: _Past) -> None:
    """V, p ← those after all runs, which the past is told."""
    row = place = 0
    for c in range(len(past.runs)):
        first, last, sweeps = past.runs[c]
        for k in range(first, last):
            past.had_met[place + k - first] = b.collided[k]
        if past.aims_first:
            aim(b, first, last)
        for k in range(first, last):
            past.aims[place, 0], past.aims[place, 1] = b.now[k, 3], b.now[k, 4]
            place += 1
        for _ in range(sweeps):
            for k in range(first, last):
                for i in range(3):
                    past.strikes[row, 0, i] = b.now[k, i]
                strike(b, k)
                for i in range(3):
                    past.strikes[row, 1, i] = b.now[k, i]
                row += 1
        for k in range(first, last):
            for i in range(3):
                b.p[k, i] += b.now[k, i]


@kernel
def _rate_back(b: Impulses, k: int, d: int, by: float, bars: _Bars) -> None:
    """rows and V += by · derivatives of `rate`."""
    for side in range(2):
        body = b.bodies[k, side]
        if body >= 0:
            for i in range(12):
                bars.rows[k, d, 12 * side + i] += by * b.V[body, i]
                bars.V[body, i] += by * b.rows[k, d, 12 * side + i]


@kernel
def _yielded_back(b: Impulses, k: int, d: int, first: int, last: int, by: float, bars: _Bars) -> None:
    """rows and motion += by · derivatives of `yielded`."""
    for r in range(first, last):
        for side in range(2):
            if b.moves[r] == b.bodies[k, side]:
                for i in range(12):
                    bars.rows[k, d, 12 * side + i] += by * b.motion[r, i]
                    bars.motion[r, i] += by * b.rows[k, d, 12 * side + i]


@kernel
def _push_back(b: Impulses, k: int, d: int, impulse: float, bars: _Bars) -> float:
    """motion += derivatives by those of a push; the derivative by its impulse."""
    total = 0.0
    for r in range(b.begin[3 * k + d], b.begin[3 * k + d + 1]):
        for i in range(12):
            total += b.motion[r, i] * bars.V[b.moves[r], i]
            bars.motion[r, i] += impulse * bars.V[b.moves[r], i]
    return total


@kernel
def _rub_back(b: Impulses, k: int, before: Array, after: Array, bars: _Bars) -> None:
    """Back through friction in a strike of row k."""
    leader, y, bar = b.leader[k], b.yields[k, 1], bars.now[k]
    one_bar = bar[1] + _push_back(b, k, 1, after[1] - before[1], bars)
    other_bar = bar[2] + _push_back(b, k, 2, after[2] - before[2], bars)
    bar[1] -= one_bar
    bar[2] -= other_bar
    push(b, k, 1, before[1] - after[1])
    push(b, k, 2, before[2] - after[2])
    v1, v2 = rate(b, k, 1), rate(b, k, 2)
    one, other = before[1] - v1 / y, before[2] - v2 / y
    size, rho, load = math.sqrt(one * one + other * other), b.now[leader, 4], b.now[leader, 0]
    most = b.friction[k] * rho * load
    if size > most:
        u1, u2 = one / size, other / size
        by = one_bar * u1 + other_bar * u2
        one_bar, other_bar = most / size * (one_bar - by * u1), most / size * (other_bar - by * u2)
        bars.friction[k] += by * rho * load
        bars.now[leader, 4] += by * b.friction[k] * load
        bars.now[leader, 0] += by * b.friction[k] * rho
    bar[1] += one_bar
    bar[2] += other_bar
    bars.yields[k, 1] += (one_bar * v1 + other_bar * v2) / (y * y)
    _rate_back(b, k, 1, -one_bar / y, bars)
    _rate_back(b, k, 2, -other_bar / y, bars)


@kernel
def _strike_back(b: Impulses, k: int, before: Array, after: Array, bars: _Bars) -> None:
    """Back through a strike of row k, V included."""
    for i in range(3):
        b.now[k, i] = after[i]
    if b.friction[k] > 0.0 and b.yields[k, 1] > 0.0:
        _rub_back(b, k, before, after, bars)
    if b.yields[k, 0] > 0.0:
        y, bar = b.yields[k, 0], bars.now[k]
        by = bar[0] + _push_back(b, k, 0, after[0] - before[0], bars)
        bar[0] -= by
        push(b, k, 0, before[0] - after[0])
        if after[0] > 0.0:
            bar[0] += by
            bar[3] += by / y
            bars.yields[k, 0] -= by * (b.now[k, 3] - rate(b, k, 0)) / (y * y)
            _rate_back(b, k, 0, -by / y, bars)
    for i in range(3):
        b.now[k, i] = before[i]


@kernel
def _aim_back(b: Impulses, k: int, has_met: bool, bars: _Bars) -> None:
    """Back through t and ρ of row k, with which a collision begins."""
    e, met, speed, by = b.restitution[k], b.met[k], -rate(b, k, 0), 0.0
    t, rho = bars.now[k, 3], bars.now[k, 4]
    if met > 0.0 and not has_met:
        bars.restitution[k] += t * met
        bars.met[k] += t * e
        most, all_of_it = (1.0 + e) * met, e * met + speed
        if e > 0.0 and most < all_of_it:
            lost = most / (all_of_it * all_of_it)
            bars.restitution[k] += rho * (met / all_of_it - lost * met)
            bars.met[k] += rho * ((1.0 + e) / all_of_it - lost * e)
            by = -rho * lost
    elif speed > b.slow[k]:
        bars.restitution[k] += t * speed
        by = t * e
    _rate_back(b, k, 0, -by, bars)


@kernel
def _yields_back(b: Impulses, k: int, bars: _Bars) -> None:
    """Back through what row k yields to unit impulses."""
    at = b.begin[3 * k : 3 * k + 4]
    if b.leader[k] == k:
        _yielded_back(b, k, 0, at[0], at[1], bars.yields[k, 0], bars)
    one, other = yielded(b, k, 1, at[1], at[2]), yielded(b, k, 2, at[2], at[3])
    both, by = yielded(b, k, 2, at[1], at[2]), bars.yields[k, 1]
    size = max(math.sqrt(0.25 * (one - other) ** 2 + both * both), 1e-300)
    lean = 0.25 * (one - other) / size
    _yielded_back(b, k, 1, at[1], at[2], by * (0.5 + lean), bars)
    _yielded_back(b, k, 2, at[2], at[3], by * (0.5 - lean), bars)
    _yielded_back(b, k, 2, at[1], at[2], by * both / size, bars)


@kernel
def _go_back(b: Impulses, past: _Past, p_bar: Array, bars: _Bars) -> None:
    """bars ← derivatives by what impulses come from, V those by V⁺ so far; V, as runs have left it, goes back, too."""
    row, place = len(past.strikes), len(past.aims)
    for c in range(len(past.runs) - 1, -1, -1):
        first, last, sweeps = past.runs[c]
        place -= last - first
        for k in range(first, last):
            for i in range(5):
                if i < 3:
                    b.now[k, i] = past.strikes[row - last + k, 1, i]
                else:
                    b.now[k, i] = past.aims[place + k - first, i - 3]
                bars.now[k, i] = p_bar[k, i] if i < 3 else 0.0
        for s in range(sweeps * (last - first) - 1, -1, -1):
            # impulses of the others are those after their last strike so far
            row -= 1
            _strike_back(b, first + s % (last - first), past.strikes[row, 0], past.strikes[row, 1], bars)
        for k in range(first, last if past.aims_first else first):
            _aim_back(b, k, past.had_met[place + k - first] != 0, bars)
    for k in range(len(b.bodies)):
        _yields_back(b, k, bars)


def _again(known: Impulses, aims: bool, given: tuple[Array, ...]) -> tuple[Impulses, _Past]:
    """Impulses with what is given, in the order of `collided`, and what was gone through."""
    V, xi, along, motion, met, e, mu = (np.ascontiguousarray(each).copy() for each in given)
    order: dict[str, Any] = {name: getattr(known, name).copy() for name in ("pair", "island", "leader", "slow")}
    b = Impulses.of(
        known.bodies.copy(), xi, along, (known.begin.copy(), known.moves.copy(), motion), V, met=met, restitution=e,
        friction=mu, **order,
    )  # fmt: skip
    runs = known.order[1 : 3 * known.order[0] + 1].reshape(-1, 3).copy()
    size = runs[:, 1] - runs[:, 0]
    past = _Past(
        runs=runs, aims_first=int(aims), had_met=np.zeros(int(size.sum()), np.int64),
        strikes=np.zeros((int((size * runs[:, 2]).sum()), 2, 3)), aims=np.zeros((int(size.sum()), 2)),
    )  # fmt: skip
    _go_through(b, past)
    return b, past


def collided(known: Impulses, aims: bool, *given: Any) -> tuple[Node, Node]:
    """V⁺ (12 n,) and p (m, 3) of the impulses of V⁻, ξ, directions, motions, met, e and μ, shapes as in `Impulses`.

    Some are nodes. What was decided is as `known`: by `resolve`, or by `bear`, which does not aim.
    """
    values = tuple(value_of(each) for each in given)
    b = _again(known, aims, values)[0]
    n = b.V.size

    def result(b: Impulses) -> Array:
        return np.concatenate([b.V.ravel(), b.p.ravel()])

    def pull(bar: Array) -> tuple[Array, ...]:
        back, its = _again(known, aims, values)
        shapes = {name: np.zeros_like(getattr(back, name)) for name in _Bars.fields}
        bars = _Bars(**shapes | {"V": bar[:n].reshape(b.V.shape).copy()})
        p_bar = np.ascontiguousarray(bar[n:].reshape(b.p.shape))
        _go_back(back, its, p_bar, bars)
        sign, shape = np.repeat([1.0, -1.0], 4), (-1, 3, 8, 3)
        rows, along = bars.rows.reshape(shape), values[2].reshape(-1, 3, 3)
        by_xi = sign * np.einsum("mdix,mdx->mi", rows, along)
        by_along = np.einsum("mdix,mi->mdx", rows, sign * values[1]).reshape(-1, 9)
        return bars.V, by_xi, by_along, bars.motion, bars.met, bars.restitution, bars.friction

    def push_on(*changes: Array) -> Array:
        sizes = ([float(np.abs(each).max(initial=0.0)) for each in some] for some in (changes, values))
        most = [change / max(size, 1e-300) for change, size in zip(*sizes, strict=True)]
        step, found = _STEP / max(*most, 1e-300), np.zeros_like(result(b))
        for share, weight in ((1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0)):
            moved = tuple(v + share * step * d for v, d in zip(values, changes, strict=True))
            found += weight / (12.0 * step) * result(_again(known, aims, moved)[0])
        return found

    both = custom(given, result(b), pull, push_on)
    return both[:n], reshaped(both[n:], -1, 3)
