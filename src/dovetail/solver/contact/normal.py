"""Normal forces: gradient and Hessian of the barrier.

    ∂E/∂Q_a = 2 m κ b′ ξ_a ⊗ r        Hessian  m κ b_dd (ξ ⊗ n)(ξ ⊗ n)ᵀ,   b_dd = 4D b″ + 2b′ > 0

The derivative of the closest points does not enter the gradient (envelope theorem). Of the Hessian only the part
along n is kept: it is positive, and the full projected one took no fewer iterations. Nearly parallel edges add
the gradient of their mollifier, κ b m′ ∂|u × v|².
"""

from __future__ import annotations

import math

from dovetail.solver.contact.barrier import barrier
from dovetail.solver.contact.rows import set_term
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["add_normal_forces", "add_normal_gradient"]

_WEAK = 1e-6  # mollified pairs below this weight add no Hessian


@kernel
def _add_mollifier(
    factor: float, a: int, b: int, x0: int, x1: int, x2: int, x3: int, x_base: Indices, V: Array, position: Indices,
    X: Array, g: Array,
) -> None:  # fmt: skip
    """g += factor ∂|u × v|²: 2(|v|² u − (u·v) v) on u and the same with u, v exchanged on v."""
    uu = uv = vv = 0.0
    for x in range(3):
        u, v = X[x1, x] - X[x0, x], X[x3, x] - X[x2, x]
        uu += u * u
        uv += u * v
        vv += v * v
    pa, pb = position[a], position[b]
    for x in range(3):
        u, v = X[x1, x] - X[x0, x], X[x3, x] - X[x2, x]
        for i in range(3):
            if pa >= 0:
                rest = V[x1 - x_base[a], i] - V[x0 - x_base[a], i]
                g[pa, 3 + 3 * i + x] += 2.0 * factor * (vv * u - uv * v) * rest
            if pb >= 0:
                rest = V[x3 - x_base[b], i] - V[x2 - x_base[b], i]
                g[pb, 3 + 3 * i + x] += 2.0 * factor * (uu * v - uv * u) * rest


@kernel
def _push(
    k: int, contacts: Array, bodies: Indices, pairs: Indices, numbers: Array, x_base: Indices, V: Array, X: Array,
    position: Indices, value: float, first: float, g: Array,
) -> None:  # fmt: skip
    """g += gradient of one barrier with value b and slope b′."""
    a, b, candidate = bodies[k, 0], bodies[k, 1], bodies[k, 2]
    weight, kappa = contacts[k, 12], contacts[k, 14]
    force = 2.0 * weight * kappa * first
    for side in range(2):
        body = a if side == 0 else b
        row = position[body] if body >= 0 else -1
        if row < 0:
            continue
        for i in range(4):
            c = force * contacts[k, 4 * side + i]
            for x in range(3):
                g[row, 3 * i + x] += c * contacts[k, 8 + x] if side == 0 else -c * contacts[k, 8 + x]
    if contacts[k, 13] > 0.0:
        _add_mollifier(
            kappa * value * contacts[k, 13], a, b, pairs[candidate, 3], pairs[candidate, 4], pairs[candidate, 5],
            pairs[candidate, 6], x_base, V, position, X, g,
        )  # fmt: skip


@kernel
def add_normal_gradient(
    contacts: Array, bodies: Indices, pairs: Indices, numbers: Array, x_base: Indices, V: Array, X: Array,
    position: Indices, g: Array,
) -> None:  # fmt: skip
    """g += gradient of the barrier alone."""
    for k in range(len(contacts)):
        candidate = bodies[k, 2]
        value, first, _ = barrier(contacts[k, 11], numbers[candidate, 3], numbers[candidate, 2])
        _push(k, contacts, bodies, pairs, numbers, x_base, V, X, position, value, first, g)


@kernel
def add_normal_forces(
    count: int, contacts: Array, bodies: Indices, pairs: Indices, numbers: Array, x_base: Indices, V: Array, X: Array,
    position: Indices, active: Indices, g: Array, terms: Array, term_bodies: Indices,
) -> int:  # fmt: skip
    """g += gradient of the barrier; its Hessian as terms, see rows.py. Returns how many terms there are."""
    kept = 0
    for k in range(count):
        a, b, candidate = bodies[k, 0], bodies[k, 1], bodies[k, 2]
        pa = position[a]
        pb = position[b] if b >= 0 else -1
        if not ((pa >= 0 and active[pa]) or (pb >= 0 and active[pb])):
            continue
        squared, weight, kappa = contacts[k, 11], contacts[k, 12], contacts[k, 14]
        value, first, second = barrier(squared, numbers[candidate, 3], numbers[candidate, 2])
        _push(k, contacts, bodies, pairs, numbers, x_base, V, X, position, value, first, g)
        if weight < _WEAK:
            continue
        # b_dd n nᵀ = (4 b″ + 2 b′/D) r rᵀ
        scale = math.sqrt(max(weight * kappa * (4.0 * second + 2.0 * first / squared), 0.0))
        set_term(
            terms, term_bodies, kept, contacts, k, a, b, scale * contacts[k, 8], scale * contacts[k, 9],
            scale * contacts[k, 10],
        )  # fmt: skip
        kept += 1
    return kept
