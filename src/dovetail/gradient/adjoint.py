"""The adjoint of one step: from the adjoints of its end to those of its start.

    Q̃ = α₀ Qₙ + α₁ Qₙ₋₁ + h (β₀ Vₙ + β₁ Vₙ₋₁) + σ h² a         g = c M (Q − Q̃) + ∇(all else) = 0
    Vₙ₊₁ = (δ Q + δ₀ Qₙ + δ₁ Qₙ₋₁)/h

With H x = q + δ v/h, q and v the adjoints of Qₙ₊₁ and Vₙ₊₁, that of Q̃ is c M x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dovetail.gradient.bodies import BodySums, Costate, fall_back, step_back
from dovetail.gradient.contact import ContactAdjoint
from dovetail.gradient.frame import Frame, Parameters
from dovetail.gradient.laws import value_adjoints
from dovetail.gradient.linear import AdjointSystem
from dovetail.gradient.loads import load_adjoints
from dovetail.gradient.potential import PotentialAdjoint
from dovetail.gradient.start import StartAdjoint
from dovetail.gradient.sums import Sums
from dovetail.gradient.touching import Touching, Walk
from dovetail.solver.bodies import Bodies
from dovetail.solver.integrator import Methods
from dovetail.solver.predict import predict
from dovetail.typing import Array

if TYPE_CHECKING:
    from dovetail.world.simulation import Simulation

__all__ = ["Adjoint", "Ends"]


@dataclass(slots=True)
class Ends:
    """States (n, 4, 3) of a step: before its start, at it, and at its end."""

    Q_before: Array
    V_before: Array
    Q: Array
    V: Array
    Q_end: Array


def _table(methods: Methods, bodies: Bodies) -> Array:
    """Coefficients (n, 9) of the methods of bodies: α₀, α₁, β₀, β₁, σ of Q̃, and δ, δ₀, δ₁, ε of the new velocity.

    Quasi-static bodies have no past, and fixed ones no velocity.
    """
    free, dynamic = (bodies.is_free != 0)[:, None], ((bodies.is_free * bodies.is_dynamic) != 0)[:, None]
    prediction, rates = methods.prediction[methods.of], methods.rates[methods.of]
    place = np.where(dynamic, prediction[:, :4], (1.0, 0.0, 0.0, 0.0))
    return np.hstack([place, prediction[:, 4:], np.where(free, rates[:, :4], 0.0)])


class Adjoint:
    """Steps of a simulation backwards; between `__enter__` and `__exit__` its model is not what it was."""

    def __init__(self, simulation: Simulation, parameters: Parameters, sums: Sums) -> None:
        self._simulation, self._parameters, self._sums = simulation, parameters, sums
        self._model = simulation.model
        self._system = AdjointSystem(self._model)
        self._potential = PotentialAdjoint(simulation)
        by, n = sums.constant, self._model.bodies.count
        self._by_bodies = BodySums(mass=by["mass"], stiffness=by["stiffness"], gravity=by["gravity"])
        self._last: tuple[Methods, Array] | None = None
        self._room, self._costates = np.zeros((2, n, 4, 3)), (Costate.zero(n), Costate.zero(n))
        self._start = StartAdjoint(simulation, self._system, self._potential.is_place)

    def __enter__(self) -> Adjoint:
        coordinates = self._parameters.coordinates
        self._kept = self._parameters.take(None), coordinates.reference.copy()
        self._system.enter()
        contact = self._model.contact
        self._walk = None if contact is None else Walk(contact)
        self._later: tuple[Touching, float] | None = None
        self._system.lay_out(np.zeros((0, 2), np.int64))
        return self

    def __exit__(self, *error: object) -> None:
        given, reference = self._kept
        self._parameters.put(given)
        self._parameters.coordinates.reference[:] = reference
        self._system.leave()

    def step(self, k: int, frame: Frame, ends: Ends, after: Costate) -> Costate:
        """Adjoints at the start of step k from those at its end; gradients go to the sums.

        They are in one of two arrays that take turns.
        """
        model, h, sums, methods = self._model, frame.h, self._sums, frame.methods
        bodies, Q1 = model.bodies, ends.Q_end
        self._parameters.put(frame.given)
        reference = self._parameters.coordinates.reference
        self._system.prepare(h, methods.weight)
        reference[:] = frame.values[0]
        a, V_start = model.loads.accelerations(ends.Q), ends.V
        begun = self._start.begin(frame, ends.Q, ends.V, a) if methods.is_consistent else None
        if begun is not None:
            V_start, on = begun.V, (begun.active != 0)[:, None, None]
            a = np.where(on, model.loads.accelerations(ends.Q + h * V_start) - begun.x / (h * h), begun.a)
        reference[:] = frame.values[1]
        Q_tilde = model.potential.Q_tilde
        predict(
            methods.prediction, methods.of, h, bodies.is_free, bodies.is_dynamic, a, ends.Q, V_start, ends.Q_before,
            ends.V_before, Q_tilde,
        )  # fmt: skip
        contact = self._touch(frame, ends)
        table = self._coefficients(methods)
        x, nu = self._solve(k, h, Q1, contact, after.Q + table[:, 5, None, None] / h * after.V)
        start_bar = self._potential.run(k, h, Q1, x, nu, sums)
        before, c = self._costates[after is self._costates[0]], model.potential.weights.c
        a_bar, V_bar = self._room
        step_back(bodies, table, c, h, Q1, Q_tilde, x, after, before, (a_bar, V_bar), self._by_bodies)
        if contact is not None:
            contact.back(x, before.Q, sums)
        reference[:] = frame.values[0]
        if begun is None:
            self._loads(k, a_bar, ends.Q, before.Q)
            before.V += V_bar
            if start_bar.any():
                coordinates, nothing = self._parameters.coordinates, np.zeros_like(Q1)
                value_adjoints(
                    coordinates, ends.Q, nothing, start_bar, np.zeros(coordinates.count), before.Q, nothing,
                    sums.constant["coordinates/W"],
                )  # fmt: skip
            return before
        at_end = np.zeros_like(Q1)
        self._loads(k, np.where(on, a_bar, 0.0), ends.Q + h * V_start, at_end)
        V_bar += h * at_end
        of_Q, of_V, of_a = self._start.back(
            k, frame, begun, (ends.Q, ends.V), V_bar, np.where(on, a_bar, 0.0), start_bar, sums
        )
        before.Q += of_Q + at_end
        before.V += of_V
        self._loads(k, np.where(on, of_a, a_bar), ends.Q, before.Q)
        return before

    def _coefficients(self, methods: Methods) -> Array:
        """Those of the last step if its methods were the same."""
        if self._last is None or self._last[0] is not methods:
            self._last = methods, _table(methods, self._model.bodies)
        return self._last[1]

    def _touch(self, frame: Frame, ends: Ends) -> ContactAdjoint | None:
        """Contacts of a step, None where there are none."""
        contact, h = self._model.contact, frame.h
        if contact is None:
            return None
        assert self._walk is not None
        later = self._later
        end = later[0] if later is not None and later[1] == h else self._walk.to(ends.Q_end, h)
        start = self._walk.to(ends.Q, h) if frame.contacts else self._walk.nowhere(ends.Q)
        self._later = start, h
        return ContactAdjoint(contact, start, end, ends.Q, ends.Q_end, h) if start.count or end.count else None

    def _solve(self, k: int, h: float, Q: Array, contact: ContactAdjoint | None, q: Array) -> tuple[Array, Array]:
        """The adjoint x (n, 4, 3) and ν of a step to Q with the adjoint q there; what Newton has left is measured."""
        g = self._system.assemble(self._model.potential.bare(Q), contact)
        self._system.factor(k)
        self._sums.residual[k] = self._system.newton_step(g) / h
        return self._system.solve(Q, q)

    def _loads(self, k: int, a_bar: Array, Q: Array, Q_bar: Array) -> None:
        """Gradients by gravity and loads at Q, where accelerations have the adjoint a_bar; Q_bar += their part."""
        sums, F_bar = self._sums, np.empty_like(a_bar)
        fall_back(self._model.bodies, a_bar, self._by_bodies, F_bar)
        sums.steps["forces"][k] += F_bar
        if self._model.loads.act:
            by_loads = self._model.loads.accelerations(Q) - self._model.loads.free_fall
            sums.constant["mass"] -= F_bar @ by_loads.swapaxes(1, 2)  # of M⁻¹F
        for n, load in enumerate(self._simulation.joints.lowered.loads):
            values, W_bar = load_adjoints(load, Q, F_bar, Q_bar)
            sums.steps[f"load {n}"][k] += values
            sums.constant[f"load {n}/W"] += W_bar
