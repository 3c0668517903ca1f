"""Where the bodies would go: the state Q̃ that the kinetic term pulls to, and the first guess of Newton's iteration."""

from __future__ import annotations

import numpy as np

from dovetail.kernel.emit import LANES
from dovetail.kernel.kernel import jit_enabled, kernel
from dovetail.solver.bodies import Bodies
from dovetail.solver.body_lanes import guess_of_eight
from dovetail.solver.body_rows import predict_of_one
from dovetail.solver.polar import polar
from dovetail.typing import Array, Flags, Indices

__all__ = ["first_guess", "guess_of_one", "predict", "stay_if_struck"]

_POLAR = 1e-6  # accuracy of a rotation that is only a guess
_STRUCK = 1.5  # times the way of the last step, or of free flight: a guess that goes farther repeats a blow


@kernel
def predict(
    table: Array,
    method: Indices,
    h: float,
    is_free: Indices,
    is_dynamic: Indices,
    a: Array,
    Q: Array,
    V: Array,
    Q_before: Array,
    V_before: Array,
    Q_tilde: Array,
) -> None:
    """Q̃ of every body from the accelerations a; row method[b] of the table has its coefficients, see integrator.py.

    A fixed body stays where it is. A quasi-static one (is_dynamic = 0) forgets its velocity and history.
    """
    factors = np.empty(3)
    for b in range(len(Q)):
        a0, a1, b0, b1, s = table[method[b]]
        if not is_free[b]:
            for i in range(4):
                for x in range(3):
                    Q_tilde[b, i, x] = Q[b, i, x]
            continue
        if not is_dynamic[b]:
            a0, a1, b0, b1 = 1.0, 0.0, 0.0, 0.0
        if jit_enabled:
            factors[0], factors[1], factors[2] = s * h * h, a0, h * b0
            predict_of_one(b, factors, a, Q, V, Q_tilde)
        for i in range(0 if jit_enabled else 4):
            for x in range(3):
                Q_tilde[b, i, x] = s * h * h * a[b, i, x] + (a0 * Q[b, i, x] + h * b0 * V[b, i, x])
        if a1 != 0.0 or b1 != 0.0:
            for i in range(4):
                for x in range(3):
                    Q_tilde[b, i, x] += a1 * Q_before[b, i, x] + h * b1 * V_before[b, i, x]


@kernel
def guess_of_one(scale: Array, Q: Array, Q_tilde: Array, A: Array, b: int, R: Array, out: Array) -> None:
    """The guess of one body."""
    for i in range(4):
        for x in range(3):
            out[b, i, x] = Q_tilde[b, i, x] + scale[b] * A[b, i, x]
    polar(out, b, R, _POLAR)
    for i in range(3):
        for x in range(3):
            out[b, 1 + i, x] = R[i, x]
        for j in range(3):
            G = 0.0
            for x in range(3):
                G += Q[b, 1 + i, x] * Q[b, 1 + j, x]
            if i == j:
                G -= 1.0
            for x in range(3):
                out[b, 1 + i, x] += 0.5 * G * R[j, x]


@kernel
def first_guess(scale: Array, is_free: Indices, Q: Array, Q_tilde: Array, A: Array, out: Array) -> None:
    """Q̃ moved by the internal acceleration A of the last step, re-rotated, with the present stretch carried along.

    X = Q̃ + h²/c A, scale (n,) = h²/c;   p ← X's origin;   A ← R(X) · (1 + ½(AᵀA − 1)),  R the polar rotation.

    The internal forces (joints, shape, contact) change little from step to step, in the same way as a constant
    acceleration does. An affine extrapolation alone stretches a turning body by (ωh)²/2, which a stiff shape
    energy punishes.
    """
    R, change = np.empty((3, 3)), np.zeros(LANES)
    for b in range(len(Q)):
        if jit_enabled and b % LANES == 0:
            guess_of_eight(b, len(Q) - 1, scale, Q, Q_tilde, A, out, change)
        if is_free[b]:
            if not jit_enabled or not change[b % LANES] < _POLAR:  # strained too much for a few sweeps
                guess_of_one(scale, Q, Q_tilde, A, b, R, out)
        else:
            for i in range(4):
                for x in range(3):
                    out[b, i, x] = Q[b, i, x]


@kernel
def _way(half: Array, b: int, start: Array, end: Array) -> float:
    """How far a corner of the box of body b moves between two states at most [m]."""
    total = 0.0
    for i in range(4):
        squared = 0.0
        for x in range(3):
            squared += (end[b, i, x] - start[b, i, x]) ** 2
        total += np.sqrt(squared) * (1.0 if i == 0 else half[b, i - 1])
    return total


@kernel
def stay_if_struck(
    bodies: Bodies, mechanism: Indices, touched: Flags, ratio: float, Q_before: Array, Q: Array, Q_tilde: Array,
    out: Array,
) -> None:  # fmt: skip
    """out ← Q for mechanisms with a body that was struck in the last step, which touched (n,) something.

    A blow does not last, and contact takes motion away: what the guess has go farther than both free flight to Q̃ and
    the last step, `ratio` times as long as that, would be thrown far off, and all that is there looked at.
    """
    half, struck = bodies.half, np.zeros(len(Q), np.bool_)
    for b in range(len(Q)):
        if touched[b] and bodies.is_free[b]:
            most = max(_way(half, b, Q, Q_tilde), ratio * _way(half, b, Q_before, Q))
            if _way(half, b, Q, out) > _STRUCK * most:
                struck[mechanism[b]] = True
    for b in range(len(Q)):
        if mechanism[b] >= 0 and struck[mechanism[b]]:
            for i in range(4):
                for x in range(3):
                    out[b, i, x] = Q[b, i, x]
