"""How the adjoint of a step goes through the blow at its end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dovetail.gradient.blow import BlowAdjoint, Given, names_of
from dovetail.gradient.bodies import Costate
from dovetail.gradient.frame import Frame
from dovetail.gradient.lagged import rows_by_key
from dovetail.gradient.reel import Ends
from dovetail.gradient.response import Tied
from dovetail.gradient.rubbing import RubbingContact
from dovetail.typing import Array, Indices

if TYPE_CHECKING:
    from dovetail.gradient.adjoint import Adjoint

__all__ = ["before_blow", "fly_back", "struck"]


def struck(adjoint: Adjoint, frame: Frame, ends: Ends, a: Array) -> BlowAdjoint | None:
    """The blow after a step that began with V̂ and accelerations a, None if there was none."""
    blow, contact, model, h = frame.blow, adjoint.contact, adjoint.model, frame.h
    if blow is None:
        return None
    assert isinstance(contact, RubbingContact) and adjoint.walk is not None
    t = adjoint.table[:, :, None, None]
    V = (t[:, 5] * ends.Q_end + t[:, 6] * ends.Q + t[:, 7] * ends.Q_before) / h + t[:, 8] * adjoint.V_start
    V += h * t[:, 9] * a
    pushed = np.zeros((len(V), 6)) if adjoint.grip is None else adjoint.grip.pushes.value[:, :6]
    t = adjoint.in_flight[:, :, None, None]
    flight = (t[:, 5] * model.potential.Q_tilde + t[:, 6] * ends.Q + t[:, 7] * ends.Q_before) / h
    flight += t[:, 8] * adjoint.V_start + h * t[:, 9] * a
    V_held = ends.V if adjoint.grip is None else adjoint.grip.V_start.value
    given = Given(
        ends.Q, ends.V, model.loads.accelerations(ends.Q).copy(), ends.Q_end, V,
        model.loads.accelerations(ends.Q_end).copy(), adjoint.V_start,
        flight, V_held,
        pushed, contact.rubs(names_of(contact.end, blow))[0],
    )  # fmt: skip
    tied, bodies = None, model.bodies.is_free * (blow.island >= 0)
    bodies = bodies - model.lone.among(bodies)
    if bodies.any():
        tied = Tied(model, adjoint.system, adjoint.start, adjoint.k, frame, bodies)
    return BlowAdjoint(model, contact, blow, h, frame.methods.held, given, contact.start, tied)


def before_blow(adjoint: Adjoint, blow: BlowAdjoint, after: Costate, ends: Ends) -> tuple[Costate, Ends, Indices]:
    """Adjoints at the end of the step, and the state there, before the blow; pairs (p, 2) that it has released."""
    past, known = after.past, blow.blow
    again, bars = None, np.zeros((2, len(known.pairs)))
    if past is not None:
        if len(known.pairs) and len(past.pairs):
            at = rows_by_key(past.pairs, known.pairs)
            bars = np.where(at >= 0, np.stack([past.share, past.growth])[:, at], 0.0)
        past = replace(past, A=np.where(blow.struck[:, None, None], 0.0, past.A))  # a blow does not last
    if bars.any():
        assert adjoint.walk is not None
        again = adjoint.walk.to(ends.Q_end, adjoint.frame.h, (known.pairs, known.ranges))
    blow.back(after.V, again, (bars[0], bars[1]), adjoint.sums)
    if adjoint.eased is not None:
        blow.tell_ranges(adjoint.eased)
    Q_bar = after.Q + blow.Q.slope
    adjoint.load_back(adjoint.k, blow.a.slope, ends.Q_end, Q_bar)
    found = Costate(Q=Q_bar, V=blow.V.slope, Q_before=after.Q_before, V_before=after.V_before)
    found.rotors, found.past = after.rotors, past
    return found, replace(ends, V_end=blow.V.value), known.pairs


def fly_back(adjoint: Adjoint, bar: Array, before: Costate, a_bar: Array, V_bar: Array) -> None:
    """Adjoints of what a step comes from += those by the velocities (n, 4, 3) of free flight."""
    h, t = adjoint.frame.h, adjoint.in_flight[:, :, None, None]
    by_aim = t[:, 5] / h * bar
    before.Q += t[:, 0] * by_aim + t[:, 6] / h * bar
    before.Q_before += t[:, 1] * by_aim + t[:, 7] / h * bar
    before.V_before += h * t[:, 3] * by_aim
    V_bar += h * t[:, 2] * by_aim + t[:, 8] * bar
    a_bar += h * h * t[:, 4] * by_aim + h * t[:, 9] * bar
