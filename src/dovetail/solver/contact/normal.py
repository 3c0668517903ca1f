"""Normal forces: gradient and Hessian of the barrier.

    ∂E/∂Q_a = 2 m κ b′ ξ_a ⊗ r        Hessian  m κ b_dd (ξ ⊗ n)(ξ ⊗ n)ᵀ,   b_dd = 4D b″ + 2b′ > 0

The derivative of the closest points does not enter the gradient (envelope theorem). Of the Hessian only the part
along n is kept: it is positive, and the full projected one took no fewer iterations. Nearly parallel edges add
the gradient of their mollifier, κ b m′ ∂|u × v|².
"""

from __future__ import annotations

import math

from dovetail.solver.contact.active import ActiveContacts
from dovetail.solver.contact.barrier import barrier
from dovetail.solver.contact.candidates import Candidates
from dovetail.solver.contact.kinds import D_HAT, THICKNESS, X0
from dovetail.solver.contact.rows import HessianTerms, set_term
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["add_normal_forces", "add_normal_gradient"]

_WEAK = 1e-6  # mollified pairs below this weight add no Hessian


@kernel
def _add_mollifier(
    s: ActiveContacts, n: int, factor: float, candidates: Candidates, scene: ContactScene, g: Array
) -> None:
    """g += factor ∂|u × v|² of contact n: 2(|v|² u − (u·v) v) on u and the same with u, v exchanged on v."""
    a, b, k, X, V = s.bodies[n, 0], s.bodies[n, 1], s.candidate[n], s.X, scene.V
    x0, x1 = candidates.pairs[k, X0], candidates.pairs[k, X0 + 1]
    x2, x3 = candidates.pairs[k, X0 + 2], candidates.pairs[k, X0 + 3]
    base_a, base_b = scene.x_base[a], scene.x_base[b]
    uu = uv = vv = 0.0
    for x in range(3):
        u, v = X[x1, x] - X[x0, x], X[x3, x] - X[x2, x]
        uu += u * u
        uv += u * v
        vv += v * v
    for x in range(3):
        u, v = X[x1, x] - X[x0, x], X[x3, x] - X[x2, x]
        for i in range(3):
            rest_a = V[x1 - base_a, i] - V[x0 - base_a, i]
            rest_b = V[x3 - base_b, i] - V[x2 - base_b, i]
            g[a, 3 + 3 * i + x] += 2.0 * factor * (vv * u - uv * v) * rest_a
            g[b, 3 + 3 * i + x] += 2.0 * factor * (uu * v - uv * u) * rest_b


@kernel
def _push(
    s: ActiveContacts, n: int, candidates: Candidates, scene: ContactScene, value: float, first: float, g: Array
) -> None:
    """g += gradient of one barrier with value b and slope b′."""
    a, b, xi, r = s.bodies[n, 0], s.bodies[n, 1], s.xi, s.r
    force = 2.0 * s.weight[n] * s.kappa[n] * first
    for i in range(4):
        for x in range(3):
            g[a, 3 * i + x] += force * xi[n, i] * r[n, x]
            if b >= 0:
                g[b, 3 * i + x] -= force * xi[n, 4 + i] * r[n, x]
    if s.slope[n] > 0.0:
        _add_mollifier(s, n, s.kappa[n] * value * s.slope[n], candidates, scene, g)


@kernel
def add_normal_gradient(s: ActiveContacts, count: int, candidates: Candidates, scene: ContactScene, g: Array) -> None:
    """g += gradient of the barrier alone."""
    for n in range(count):
        k = s.candidate[n]
        value, first, _ = barrier(s.squared[n], candidates.numbers[k, THICKNESS], candidates.numbers[k, D_HAT])
        _push(s, n, candidates, scene, value, first, g)


@kernel
def add_normal_forces(
    s: ActiveContacts, count: int, candidates: Candidates, scene: ContactScene, active: Indices, g: Array,
    terms: HessianTerms,
) -> int:  # fmt: skip
    """g += gradient of the barrier; its Hessian as terms, see rows.py. Returns how many terms there are."""
    kept = 0
    for n in range(count):
        a, b, k = s.bodies[n, 0], s.bodies[n, 1], s.candidate[n]
        if not (active[a] or (b >= 0 and active[b])):
            continue
        squared = s.squared[n]
        value, first, second = barrier(squared, candidates.numbers[k, THICKNESS], candidates.numbers[k, D_HAT])
        _push(s, n, candidates, scene, value, first, g)
        if s.weight[n] < _WEAK:
            continue
        # b_dd n nᵀ = (4 b″ + 2 b′/D) r rᵀ
        scale = math.sqrt(max(s.weight[n] * s.kappa[n] * (4.0 * second + 2.0 * first / squared), 0.0))
        set_term(terms, kept, s.xi, n, a, b, scale * s.r[n, 0], scale * s.r[n, 1], scale * s.r[n, 2])
        kept += 1
    return kept
