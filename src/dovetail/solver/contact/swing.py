"""Steps of bodies in touch follow their rotation: they lead to where bodies are turned, and not stretched.

A turn by ω along a straight line stretches a body by ω²/2. For a stiff body that takes more energy than the step
gains: the line search halves the step, and the next direction goes astray. Without contact such steps are curved
(`move` in iterate.py), but collisions are looked for along straight ones. So y becomes the straight step to where the
curve of α y ends, turned about the point x̄ where the body is touched most, since a barrier is stiffer than all else:

    A ← A (1 − G/(2 + tr G)),  G = α²yᵀy      p such that p + A x̄ is where −α y leads to      x̄ = Σ w ξ̄/Σ w,  w = κ/D²

Without contacts x̄ is the centre of mass. α is limited first, so that no body turns by more than about a radian, or a
third of one on exact joints: these open to second order in the turn, and the next step closes them. The bounds on
motion allow for how far this departs from y (`bend` in motion.py), so that islands and candidates stay what they are.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.contact.active import ActiveContacts
from dovetail.solver.islands import Islands
from dovetail.solver.iterate import unstretch
from dovetail.solver.natural import natural
from dovetail.typing import Array, Indices

__all__ = ["limit_turns", "swing"]

_STRAIGHT = 1e-4  # turn [rad] of a body, below which the stretch by a straight step, 5e-9, does no harm
_WILD = 1.0  # α² tr yᵀy, above which the bounds do not tell how far a share of the step departs from a straight one
_WILD_ON_JOINT = 0.1  # and what bodies on exact joints may turn by
_FAR = 30.0  # tolerances: a step that is longer is not the last one, so that joints may open in it


@kernel
def limit_turns(s: Islands, y: Array) -> None:
    """α ← at most what turns no body of a guarded island by more than about a radian in the step −α y (n, 12)."""
    for b in range(len(s.of)):
        m = s.of[b]
        if m < 0 or not s.running[m] or not s.guarded[m]:
            continue
        trace, most = 0.0, _WILD_ON_JOINT if s.on_exact_joint[b] else _WILD
        for i in range(3, 12):
            trace += y[b, i] * y[b, i]
        if s.alpha[m] * s.alpha[m] * trace > most:
            s.alpha[m] = math.sqrt(most / trace)


@kernel
def _pivots(contacts: ActiveContacts, count: int, mass: Array, turns: Indices) -> Array:
    """Σ w (1, ξ̄) (n, 4) of bodies that turn over their contacts."""
    pivot, kappa, squared, bodies = np.zeros((len(mass), 4)), contacts.kappa, contacts.squared, contacts.bodies
    first, pairs = contacts.runs.first, contacts.runs.pairs
    for run in range(contacts.runs.number[0] if count else 0):
        if not (turns[pairs[run, 0]] or (pairs[run, 1] >= 0 and turns[pairs[run, 1]])):
            continue
        for k in range(first[run], first[run + 1]):
            k = natural(k)
            for side in range(2):
                b = bodies[k, side]
                if b >= 0 and turns[b]:
                    w = kappa[k] / (squared[k] * squared[k])
                    for i in range(4):
                        pivot[b, i] += w * contacts.xi[k, 4 * side + i]
    for b in range(len(mass)):
        if pivot[b, 0] == 0.0:
            for i in range(4):
                pivot[b, i] = mass[b, 0, i]
    return pivot


@kernel
def swing(
    s: Islands, mass: Array, contacts: ActiveContacts, count: int, Q: Array, y: Array, turns: Indices
) -> tuple[bool, bool]:  # fmt: skip
    """y (n, 12) of guarded islands, of which α is free, as above; whether there are any, and on exact joints.

    turns (n,) ← 1 for bodies whose step has changed.
    """
    turned, some, on_joints = np.empty((1, 4, 3)), False, False
    for b in range(len(s.of)):
        m, turns[b] = s.of[b], 0
        if m < 0 or not s.running[m] or not s.guarded[m] or s.size[m] <= (_FAR if s.on_exact_joint[b] else 1.0):
            continue
        turn = 0.0
        for i in range(3, 12):
            turn = max(turn, s.alpha[m] * abs(y[b, i]))
        if turn > _STRAIGHT:
            turns[b], some = 1, True
            on_joints = on_joints or s.on_exact_joint[b] != 0
    if not some:
        return False, False
    pivot = _pivots(contacts, count, mass, turns)
    for b in range(len(s.of)):
        if not turns[b]:
            continue
        alpha = s.alpha[s.of[b]]
        for i in range(4):
            for x in range(3):
                turned[0, i, x] = Q[b, i, x] - alpha * y[b, 3 * i + x]
        unstretch(y, alpha, b, turned, 0)
        for i in range(1, 4):
            for x in range(3):
                change = (Q[b, i, x] - turned[0, i, x]) / alpha - y[b, 3 * i + x]
                y[b, 3 * i + x] += change
                y[b, x] -= pivot[b, i] / pivot[b, 0] * change
    return True, on_joints
