"""Whether a step of Newton's method leaves the forces of contacts as they are; solver/steady.py has it for stresses.

    |δλ| ≤ η max(λ, h² m g, m δ),     δλ = λ′ n·(ξ_a δQ_a − ξ_b δQ_b),   m the mass of the lighter body

with λ the force times h², and δ the step that the tolerances call short, for there may be no weight. A barrier pushes
and never pulls, so that what its force is wrong by does not average out from step to step, and friction follows it.
"""

from __future__ import annotations

import math

from dovetail.kernel.kernel import kernel, mapped
from dovetail.kernel.threads import Span, chunks, map_chunks
from dovetail.solver.contact.active import ActiveContacts
from dovetail.solver.contact.barrier import barrier, of_lighter
from dovetail.solver.contact.kinds import D_HAT, THICKNESS
from dovetail.solver.islands import Islands
from dovetail.solver.natural import natural
from dovetail.solver.steady import SHARE
from dovetail.typing import Array

__all__ = ["count_changing", "mark_changing", "mark_pushes"]

_COST = 15.0  # [ns] of a contact


@kernel
def _approach(xi: Array, r: Array, y: Array, n: int, a: int, b: int) -> float:
    """r·(x_a − x_b moved by the step −y) of contact n."""
    total = 0.0
    for i in range(4):
        v, w = xi[n, i], xi[n, 4 + i] if b >= 0 else 0.0
        for x in range(3):
            other = w * y[b, 3 * i + x] if b >= 0 else 0.0
            total += r[n, x] * (other - v * y[a, 3 * i + x])
    return total


@kernel
def _changes(s: ActiveContacts, weight: Array, mass: Array, islands: Islands, y: Array, short: float, n: int) -> int:
    """The island of contact n if the step −y may be its last one, and changes the force too much; else −1."""
    of, a, b = islands.of, natural(s.bodies[n, 0]), s.bodies[n, 1]
    m = max(of[a], of[b] if b >= 0 else -1)
    if m < 0 or not islands.running[m] or not islands.size[m] <= 1.0:
        return -1
    k, squared, scale, numbers = natural(s.candidate[n]), s.squared[n], s.weight[n] * s.kappa[n], s.candidates.numbers
    _, first, second = barrier(squared, numbers[k, THICKNESS], numbers[k, D_HAT])
    distance = math.sqrt(squared)
    change = scale * (4.0 * squared * second + 2.0 * first) * _approach(s.xi, s.r, y, n, a, b) / distance
    load = -2.0 * distance * scale * first
    if b < 0:
        load = max(load, max(weight[a], mass[a] * short))
    else:
        load = max(load, max(of_lighter(weight[a], weight[b]), of_lighter(mass[a], mass[b]) * short))
    return m if abs(change) > SHARE * load else -1


@mapped
def count_changing(
    s: ActiveContacts, weight: Array, mass: Array, islands: Islands, y: Array, short: float, span: Span
) -> int:
    """How many of some contacts have forces that the step −y (n, 12) changes too much."""
    count = 0
    for n in range(span[1], span[2]):
        count += _changes(s, weight, mass, islands, y, short, natural(n)) >= 0
    return count


@kernel
def mark_changing(
    s: ActiveContacts, weight: Array, mass: Array, islands: Islands, y: Array, short: float, count: int
) -> None:
    """changing ← 1 for islands with a contact, of so many, whose force the step −y (n, 12) changes too much."""
    for n in range(count):
        m = _changes(s, weight, mass, islands, y, short, natural(n))
        if m >= 0:
            islands.changing[m] = 1


def mark_pushes(s: ActiveContacts, weight: Array, mass: Array, islands: Islands, y: Array, short: float) -> None:
    """`mark_changing` of all contacts; weight (n,) is h² m g, and mass (n,) 0 for what is fixed, as is weight.

    A step is `short` where the tolerances call it so [m].
    """
    arguments = (s, weight, mass, islands, y, short)
    spans = chunks(s.count, _COST)
    if len(spans) == 1 or any(map_chunks(count_changing, spans, *arguments)):
        mark_changing(*arguments, s.count)
