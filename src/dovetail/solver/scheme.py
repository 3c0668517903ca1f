"""Which bodies take a step with the integrator chosen, and which in another way.

Both methods of second order suppose that a motion is smooth. A contact or a hard limit is a kink:

    ctr     takes a step that begins or ends in contact as held (held.py), so that what a contact gives to one body it
            takes from the other; one that ends at a hard limit with the velocity of that; as bdf1 one in which the
            length of an exact rod or the target of an exact drive moves: it would start at rest
    bdf2    takes a step that begins or ends in touch as bdf1, and the one after it, unless `integrator/bdf2_contact` is
            libuipc: its past, drawn on across an impact, throws a body back, at times higher than it fell from
    bdf2    takes the first step as bdf1 where `integrator/bdf2_start` says so: there is no past

With a body goes its mechanism: all that joints connect to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dovetail.solver.integrator import INTEGRATORS, Integrator, Methods
from dovetail.solver.model import Model
from dovetail.solver.state import State
from dovetail.typing import Array, Flags

__all__ = ["Scheme"]


@dataclass
class Scheme:
    """The integrator of a world, and whether one that looks back begins, and meets contact, as bdf1."""

    integrator: Integrator
    bdf1_start: bool = False
    bdf1_contact: bool = False
    _last: Methods | None = field(default=None, init=False, repr=False)

    @property
    def last(self) -> Methods:
        """The methods of the last step."""
        assert self._last is not None
        return self._last

    def at_start(self, model: Model, state: State, h: float) -> Methods:
        """The methods of a step of length h, by what is known before it."""
        method, nobody = self.integrator, model.nobody
        if method.looks_back and self.bdf1_start and state.dt_before == 0.0:
            method = INTEGRATORS["bdf1"]
        touched = model.knocked(state.Q, h) if self._minds_touch(model) else nobody
        if method.is_consistent:
            needs_bdf1 = model.always_bdf1 if (pulled := model.pulled) is nobody else model.always_bdf1 | pulled
            if touched is nobody:
                return self._methods(method, needs_bdf1, nobody)
            return self._methods(method, needs_bdf1 | (touched & model.never_held), touched)
        return self._methods(method, touched | state.knocked if self._minds_touch(model) else nobody, nobody)

    def in_flight(self, model: Model, methods: Methods) -> Flags | None:
        """Bodies (n,) that take the step in another way if they come to touch something in it; None if none do."""
        if model.contact is None or not methods.is_consistent:
            return None
        found: Flags = methods.smooth & (model.bodies.is_free != 0)
        return found if np.count_nonzero(found) else None

    def landing(self, model: Model, methods: Methods, landed: Flags) -> Methods:
        """Methods of a step of ctr in which these bodies (n,) come to touch something."""
        touched = methods.touched | model.islands.mechanisms_of(landed)
        return self._methods(methods.method, methods.needs_bdf1 | (touched & model.never_held), touched)

    def at_end(self, model: Model, state: State, methods: Methods, Q: Array, h: float) -> tuple[Methods, Flags]:
        """The methods given, or others with which the step to Q must be taken again; and who touches something there.

        To a method that looks back, those are among them that touched something before.
        """
        if not self._minds_touch(model):
            return methods, model.nobody
        touched = model.knocked(Q, h)
        if not methods.method.looks_back:
            in_flight = self.in_flight(model, methods)
            if in_flight is not None and model.contact is not None and np.count_nonzero(touched & in_flight):
                landed = model.contact.touched(Q, h)
                if np.count_nonzero(landed & in_flight):
                    methods = self.landing(model, methods, landed)
            return methods, touched
        if (touched & ~methods.needs_bdf1).any():
            methods = self._methods(methods.method, methods.needs_bdf1 | touched, model.nobody)
        return methods, touched | model.knocked(state.Q, h)

    def _minds_touch(self, model: Model) -> bool:
        """Whether it matters what touches what."""
        method = self.integrator
        return bool(model.guards) and (method.is_consistent or (method.looks_back and self.bdf1_contact))

    def _methods(self, method: Integrator, needs_bdf1: Flags, touched: Flags) -> Methods:
        """Those of the last step if they are the same: what depends on their weights need not be found again."""
        last = self._last
        if last is None or not (
            last.method is method and _same(last.needs_bdf1, needs_bdf1) and _same(last.touched, touched)
        ):
            self._last = last = Methods(method, needs_bdf1, touched)
        return last


def _same(one: Flags, other: Flags) -> bool:
    return one is other or one.tobytes() == other.tobytes()  # which for few bodies is ten times as fast as numpy's
