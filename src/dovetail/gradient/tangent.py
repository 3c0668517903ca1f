"""One step forwards along a change of what it begins with: the tangent of a step.

    H dQ + Jᵀdm = −(∂g/∂start) d(start),   J dQ = 0

What a step takes from its start enters its equations g = 0 in three places, the prediction Q̃, the values that rate laws
begin with, and lagged friction; each is differentiated by differences along the one direction. What touching adds to a
start, and friction that rolls or remembers, are formulas with derivatives of their own (formulas.py). H and J are those
of the adjoint.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dovetail.gradient.adjoint import Adjoint
from dovetail.gradient.blow import Given, names_of
from dovetail.gradient.laws import law_slopes, steps_of
from dovetail.gradient.rubbing import RubbingContact
from dovetail.solver.joint.law_start import accept_start
from dovetail.typing import Array

__all__ = ["push_forward"]

_STEP = 1e-5  # largest change of a state in differences, of a start, which is smooth
_NEAR = 1e-5  # the same of contacts, in units of their range


def _along(at: Callable[[float], Array], step: float) -> Array:
    """Derivative at 0, by four points."""
    return (8.0 * (at(step) - at(-step)) - (at(2.0 * step) - at(-2.0 * step))) / (12.0 * step)


def push_forward(adjoint: Adjoint, dQ: Array, dV: Array, dF: Array) -> tuple[Array, Array]:
    """Changes (n, 4, 3) of Q and V after the step that the adjoint is at, with those of Qₙ, Vₙ and forces in it.

    The step before it stays: bdf2 looks back to Qₙ₋₁ and Vₙ₋₁ as they are, ctr in touch to what its steps remember.
    """
    frame, ends, model, table = adjoint.frame, adjoint.ends, adjoint.model, adjoint.table[:, :, None, None]
    h, potential, push = frame.h, model.potential, model.bodies.mass_inverse @ dF
    size = max(float(np.abs(dQ).max()), h * float(np.abs(dV).max()), h * h * float(np.abs(push).max()), 1e-300)
    laws, walk, grip = potential.laws, adjoint.walk, adjoint.grip
    rates = np.zeros(0, np.int64) if laws is None else np.flatnonzero(laws.start >= 0)
    rotors, changed = adjoint.rotors, np.zeros(0, np.int64)  # parameters of laws that change with the start
    if laws is not None:
        changed = np.concatenate([laws.start[rates], rotors.places(), laws.exerted[laws.capped]])

    dV_before, dhalf = adjoint.touch_ahead(dQ, dV, push)
    V_before = ends.V if grip is None else grip.V_start.value
    dpushed = np.zeros((len(dQ), 6)) if grip is None else grip.pushes.change[:, :6]
    half = np.zeros(1) if grip is None or grip.half is None else grip.half.value

    def start(s: float) -> Array:
        """Velocity, acceleration, values that rate laws begin with, and predictions of rotors, all as one."""
        Q = ends.Q + s * dQ
        V, a, begun = adjoint.begin_with(Q, V_before + s * dV_before, half + s * dhalf, s * push)
        if laws is None or not len(changed):
            return np.concatenate([V.ravel(), a.ravel()])
        c = laws.coordinates
        x, J, _ = c.derivatives(Q, V)
        flat = V.reshape(-1, 12)
        speed = (J[:, 0] * flat[c.left]).sum(axis=1) + (J[:, 1] * flat[c.right]).sum(axis=1)
        smooth = frame.methods.smooth[c.left] & frame.methods.smooth[c.right] & (begun is not None)
        begins = np.where(smooth, x + 0.5 * h * speed, x)[laws.of[rates]]
        aims = rotors.predicted(frame.methods, h, ends, Q, V, begun) if rotors.count else np.zeros(0)
        exerted = np.zeros(len(laws.capped))
        if begun is not None:
            A = begun.acceleration(h)
            accept_start(laws, h, V, A, A, model.bodies.is_free, frame.methods.smooth)
            exerted = laws.p[laws.exerted[laws.capped]]
        return np.concatenate([V.ravel(), a.ravel(), begins, aims, exerted])

    moved, n = _along(start, _STEP / size), dQ.size
    dV_start, da = moved[:n].reshape(dQ.shape), moved[n : 2 * n].reshape(dQ.shape)
    # a start of ctr has taken the place of the factor
    adjoint.at(adjoint.k, frame, ends)
    contact = adjoint.contact
    dQ_tilde = table[:, 0] * dQ + h * table[:, 2] * dV_start + h * h * table[:, 4] * da
    g = np.ascontiguousarray((potential.weights.c[:, None, None] * (model.bodies.mass @ dQ_tilde)).reshape(-1, 12))
    if laws is not None and len(changed):
        c, dp = laws.coordinates, np.zeros_like(laws.p)
        dp[changed] = moved[2 * n :]
        slopes, J = np.zeros(c.count), c.derivatives(ends.Q_end, ends.V)[1]
        law_slopes(laws, steps_of(laws.p, adjoint.potential.is_place), ends.Q_end, dp, slopes)
        for side, body in enumerate((c.left, c.right)):
            np.subtract.at(g, body, slopes[:, None] * J[:, side])
    reach, shares, eased = None, (np.zeros(0), np.zeros(0)), adjoint.eased
    turn, axis = adjoint.turns.ahead(dQ, dV_start)
    if isinstance(contact, RubbingContact):
        if eased is not None and walk is not None:
            shares = eased.ahead(contact.start, walk, ends.Q, dQ)
            g -= eased.push_end(contact.end, ends.Q_end, shares[1])
            reach = eased.changes(contact.start, shares[0])
        g -= contact.change(dQ, turn, axis, reach)
    elif contact is not None and contact.lags and dQ.any():
        step = _NEAR * contact.range / float(np.abs(dQ).max())
        g -= _along(lambda s: contact.lag(walk, ends.Q + s * dQ), step)
    end, _ = adjoint.system.solve(g)
    rate = (table[:, 5] * end + table[:, 6] * dQ) / h + table[:, 8] * dV_start + h * table[:, 9] * da
    if adjoint.blow is not None and isinstance(contact, RubbingContact):
        contact.change(dQ, turn, axis, reach, end)
        rubs = contact.rubs(names_of(contact.end, adjoint.blow.blow))[1]
        loads = (adjoint.load_change(at, along) + push for at, along in ((ends.Q, dQ), (ends.Q_end, end)))
        t = adjoint.in_flight[:, :, None, None]
        flight = (t[:, 5] * dQ_tilde + t[:, 6] * dQ) / h + t[:, 8] * dV_start + h * t[:, 9] * da
        changes = Given(dQ, dV, next(loads), end, rate, next(loads), dV_start, flight, dV_before, dpushed, rubs)
        rate = adjoint.blow.ahead(changes, eased, shares)
    return end, rate
