"""Which bodies take a step with the integrator chosen, and which as bdf1.

Both methods of second order suppose that a motion is smooth. A contact or a hard limit is a kink:

    ctr     takes a step that begins or ends there as bdf1: its start knows no share of these forces
    bdf2    takes such a step as bdf1, and the one after it, unless `integrator/bdf2_contact` is libuipc: its past,
            drawn on across an impact, throws a body back, at times higher than it fell from
    bdf2    takes the first step as bdf1 where `integrator/bdf2_start` says so: there is no past

With a body goes its mechanism: all that joints connect to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.solver.integrator import INTEGRATORS, Integrator, Methods, same_for_all
from dovetail.solver.model import Model
from dovetail.solver.state import State
from dovetail.typing import Array, Flags

__all__ = ["Scheme"]


@dataclass(frozen=True)
class Scheme:
    """The integrator of a world, and whether one that looks back begins, and meets contact, as bdf1."""

    integrator: Integrator
    bdf1_start: bool = False
    bdf1_contact: bool = False

    def at_start(self, model: Model, state: State, h: float) -> Methods:
        """The methods of a step of length h, by what is known before it."""
        method = self.integrator
        if method.looks_back and self.bdf1_start and state.dt_before == 0.0:
            method = INTEGRATORS["bdf1"]
        flags = self._flags(model, state.Q, h)
        if flags is not None and self.integrator.looks_back:
            flags = flags | state.knocked
        return same_for_all(method, model.bodies.count) if flags is None or not flags.any() else Methods(method, flags)

    def at_end(self, model: Model, methods: Methods, Q: Array, h: float) -> Methods:
        """The methods given, or others with which the step that has led to Q must be taken again."""
        flags = self._flags(model, Q, h) if model.guards and methods.method.order > 1 else None
        if flags is None or not (flags & ~methods.needs_bdf1).any():
            return methods
        return Methods(methods.method, methods.needs_bdf1 | flags)

    def knocked(self, model: Model, state: State, Q: Array, h: float) -> Flags:
        """What a step from the state to Q must remember: bodies whose next step has no smooth past."""
        if not (model.guards and self.bdf1_contact and self.integrator.looks_back):
            return state.knocked
        return model.knocked(state.Q, h) | model.knocked(Q, h)

    def _flags(self, model: Model, Q: Array, h: float) -> Flags | None:
        """Bodies (n,) that a step from or to Q must take as bdf1, or nothing where none ever has to."""
        if self.integrator.is_consistent:
            return model.needs_bdf1(Q, h)
        if self.integrator.looks_back and self.bdf1_contact and model.guards:
            return model.knocked(Q, h)
        return None
