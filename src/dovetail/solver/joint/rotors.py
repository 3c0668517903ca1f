"""Inertia of coordinates, ½ a ẋ²: rotors of motors behind their gears, which neither fall nor are pushed by loads.

A rotor is a body with the one coordinate x and a rate r of its own, geared to a joint. With integrator.py it has

    φ = c a/2 (x − x̃)²
    x̃ = α₀ xₙ + α₁ xₙ₋₁ + h (β₀ rₙ + β₁ rₙ₋₁) + σ h² ẍ
    rₙ₊₁ = (δ x + δ₀ xₙ + δ₁ xₙ₋₁)/h + ε rₙ + η h ẍ

Where a step has a consistent start, in which a is mass like that of bodies (law_start.py), that is the rotor's as well:
rₙ = ∇x·V̂ and ẍ = ∇x·Â + V̂·∇²x V̂; elsewhere ẍ = 0. r is not ∇x·V, because x is no linear function of Q: it exceeds it
by e, of the order of h², which is kept beside x̃; without it x̃ would be off by h³, and methods of second order would be
of first. Behind x̃ the parameters have rₙ, ẍ, e and the e before it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.bodies import Bodies
from dovetail.solver.integrator import Methods
from dovetail.solver.joint.coordinates import coordinate_at, gather_rows, second_rate
from dovetail.solver.joint.laws import EXCESS, Laws
from dovetail.typing import Array, Flags, Indices

__all__ = ["committing", "predicting", "rotor_energy"]


@kernel
def _measure(laws: Laws, k: int, Q: Array, V: Array, A: Array) -> tuple[float, float, float]:
    """x, ∇x·V and ∇x·A + V·∇²x V of coordinate k."""
    c = laws.coordinates
    size = 3 * c.widest
    F, dF, dx, d2x = np.empty(size), np.empty(size), np.empty(size), np.empty(size * size)
    n = gather_rows(c, k, Q, F)
    x = coordinate_at(c, k, 1.0, F, n, dx, d2x)
    gather_rows(c, k, V, dF)
    rate, bend = 0.0, second_rate(n, d2x, dF)
    for i in range(n):
        rate += dx[i] * dF[i]
    gather_rows(c, k, A, dF)
    for i in range(n):
        bend += dx[i] * dF[i]
    return x, rate, bend


@kernel
def _moving_body(laws: Laws, k: int, is_free: Indices) -> int:
    """The right body of coordinate k, or the left one where that is fixed."""
    c = laws.coordinates
    body: int = c.right[k] if is_free[c.right[k]] else c.left[k]
    return body


def predicting(
    laws: Laws, methods: Methods, bodies: Bodies, h: float, now: tuple[Array, ...], before: tuple[Array, Array]
) -> tuple[Any, ...]:
    """What sets x̃ and c for a step that begins with `now` and `before`: a kernel with its arguments.

    Q, V̂, Â + a, Â − a; Qₙ₋₁, Vₙ₋₁, (n, 4, 3) each.
    """
    starts = methods.starts & methods.is_consistent
    tables = methods.prediction, methods.of, methods.weight
    return _predict, laws, laws.rotors, *tables, starts, bodies, h, now, before


@kernel
def _predict(
    laws: Laws, rotors: Indices, table: Array, method: Indices, weight: Array, starts: Flags, bodies: Bodies, h: float,
    now: tuple[Array, Array, Array, Array], before: tuple[Array, Array],
) -> None:  # fmt: skip
    Q, V, total, inner = now
    p, A = laws.p, np.zeros(Q.shape)
    for b in range(len(Q)):
        for i in range(4):
            for e in range(3):
                if starts[b] and bodies.is_free[b]:
                    A[b, i, e] = 0.5 * (total[b, i, e] + inner[b, i, e])
    for m in rotors:
        at, k = laws.aim[m], laws.of[m]
        body = _moving_body(laws, k, bodies.is_free)
        a0, a1, b0, b1, s = table[method[body]]
        if not bodies.is_dynamic[body]:
            a0, a1, b0, b1 = 1.0, 0.0, 0.0, 0.0
        x, rate, bend = _measure(laws, k, Q, V, A)
        if not (starts[body] and bodies.is_free[body]):
            rate, bend = rate + p[at + EXCESS], 0.0
        p[at] = a0 * x + h * b0 * rate + s * h * h * bend
        p[at + 1], p[at + 2] = rate, bend
        if a1 != 0.0 or b1 != 0.0:
            x, rate, _ = _measure(laws, k, before[0], before[1], A)
            p[at] += a1 * x + h * b1 * (rate + p[at + EXCESS + 1])
        laws.scale[m] = weight[body]


def committing(
    laws: Laws, methods: Methods, bodies: Bodies, h: float, now: tuple[Array, Array], before: tuple[Array, Array],
    touched: Flags, earlier: Array,
) -> tuple[Any, ...]:  # fmt: skip
    """What takes over e at the end of a step: a kernel with its arguments.

    It has led from Q and V `before` to those that are `now`; some (n,) touch there, and Qₙ₋₁ was `earlier`.
    """
    rates = methods.landing(touched)[0]
    return _commit, laws, laws.rotors, methods.rates, rates, bodies.is_free, h, now, before, earlier


@kernel
def _commit(
    laws: Laws, rotors: Indices, table: Array, method: Indices, is_free: Indices, h: float, now: tuple[Array, Array],
    before: tuple[Array, Array], earlier: Array,
) -> None:  # fmt: skip
    p = laws.p
    for m in rotors:
        at, k = laws.aim[m], laws.of[m]
        d, d0, d1, carry, push = table[method[_moving_body(laws, k, is_free)]]
        x, rate, _ = _measure(laws, k, now[0], now[1], now[1])
        last, _, _ = _measure(laws, k, before[0], before[1], before[1])
        own = (d * x + d0 * last) / h + carry * p[at + 1] + push * h * p[at + 2]
        if d1 != 0.0:
            x, _, _ = _measure(laws, k, earlier, before[1], before[1])
            own += d1 * x / h
        p[at + EXCESS + 1] = p[at + EXCESS]
        p[at + EXCESS] = own - rate


def rotor_energy(laws: Laws, Q: Array, V: Array) -> float:
    """Σ ½ a ẋ² [J]."""
    mine = laws.rotors
    rate = laws.coordinates.rates(Q, V)[laws.of[mine]] if mine.size else np.zeros(0)
    return float(0.5 * laws.p[laws.at[mine]] @ rate**2)
