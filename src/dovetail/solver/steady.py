"""Whether a step of Newton's method leaves forces as they are: else it is not the last one, however short it is.

A step that the tolerances call short may change the forces of what is stiff by many times the loads. To first order
all is in balance after it. What is left is of second order: the stress of a body, for one, turns with it, so that a
step which changes it by δσ and turns the body by w leaves a torque w δσ. That is the same in every step of a body that
spins, and so adds up. Thus

    ‖δσ‖ ≤ η ‖load‖,   σ = 4w (AᵀA − 1)   (stresses times volume and h²),   w = h²κV

where the load is the largest of the stress after the step, what accelerates the body otherwise than Q̃ has it, its
weight at half its size, and, for there may be none of these, the inertia of a change of rate by its tolerance.
contact/steady.py says the same of contacts. Joints need no such test: their forces are linear in Q, or nearly so.
"""

from __future__ import annotations

import math

from dovetail.kernel.kernel import kernel
from dovetail.solver.assembly.bodies import Weights
from dovetail.solver.bodies import ARAP
from dovetail.solver.islands import Islands
from dovetail.solver.natural import natural
from dovetail.typing import Array

__all__ = ["SHARE", "mark_stresses"]

SHARE = 0.01
"""η: with twenty times as much piles take 3 to 7 % fewer iterations; with a hundred times, fast spin gains energy."""
_NEAR = 10.0  # tolerances, above which no step is the last one (convergence.py)
_NOISE = 1e-10  # change of strain that is round-off of what is solved for


@kernel
def _weight(weights: Weights, b: int) -> float:
    """h² m g r of a body, r half its size."""
    bodies, w = weights.bodies, weights.w
    gravity, half, mass, stiffness = bodies.gravity, bodies.half, bodies.mass, bodies.stiffness
    if not stiffness[b] > 0.0:
        return 0.0
    g = math.sqrt(gravity[b, 0] * gravity[b, 0] + gravity[b, 1] * gravity[b, 1] + gravity[b, 2] * gravity[b, 2])
    return mass[b, 0, 0] * g * max(half[b, 0], max(half[b, 1], half[b, 2])) * w[b] / stiffness[b]


@kernel
def _other_load(weights: Weights, Q: Array, Q_tilde: Array, b: int, rate_tol: float) -> float:
    """The largest load on a body beside its stress: of inertia and of weight [J s²]."""
    bodies, c = weights.bodies, weights.c
    mass, squared = bodies.mass, 0.0
    for i in range(1, 4):
        for x in range(3):
            row = 0.0
            for j in range(4):
                row += mass[b, i, j] * (Q[b, j, x] - Q_tilde[b, j, x])
            squared += row * row
    return max(max(c[b] * math.sqrt(squared), _weight(weights, b)), c[b] * bodies.largest_moment[b] * rate_tol)


@kernel
def _strains(Q: Array, y: Array, b: int) -> tuple[float, float]:
    """‖δ(AᵀA)‖² of the step −y, to first order, and ‖AᵀA − 1‖² after it."""
    change = strain = 0.0
    for i in range(3):
        for j in range(i, 3):
            now, step = -1.0 if i == j else 0.0, 0.0
            for x in range(3):
                p, q = Q[b, 1 + i, x], Q[b, 1 + j, x]
                now += p * q
                step += p * y[b, 3 + 3 * j + x] + q * y[b, 3 + 3 * i + x]
            times = 1.0 if i == j else 2.0
            change += times * step * step
            strain += times * (now - step) * (now - step)
    return change, strain


@kernel
def mark_stresses(weights: Weights, Q_tilde: Array, s: Islands, y: Array, Q: Array, rate_tol: float) -> None:
    """changing ← 1 also for islands that run where the step −y from Q changes the stress of a body too much."""
    w, model, of, running, size, changing = weights.w, weights.bodies.model, s.of, s.running, s.size, s.changing
    for b in range(len(of)):
        if of[b] < 0:
            continue
        m = natural(of[b])
        if not running[m] or changing[m] or not size[m] <= _NEAR:
            continue
        change, strain = _strains(Q, y, b)
        stiffness = w[b] if model[b] == ARAP else 4.0 * w[b]
        found, after = stiffness * math.sqrt(change), stiffness * math.sqrt(strain)
        if found <= SHARE * after + stiffness * _NOISE:
            continue
        if found > SHARE * _other_load(weights, Q, Q_tilde, b, rate_tol):
            changing[m] = 1
