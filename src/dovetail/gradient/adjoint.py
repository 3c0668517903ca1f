"""The adjoint of one step: from the adjoints of its end to those of its start.

    Q̃ = α₀ Qₙ + α₁ Qₙ₋₁ + h (β₀ Vₙ + β₁ Vₙ₋₁) + σ h² a         g = c M (Q − Q̃) + ∇(all else) = 0
    Vₙ₊₁ = (δ Q + δ₀ Qₙ + δ₁ Qₙ₋₁)/h

With H x = q + δ v/h, q and v the adjoints of Qₙ₊₁ and Vₙ₊₁, that of Q̃ is c M x.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dovetail.gradient.bodies import BodySums, Costate, fall_back, step_back
from dovetail.gradient.contact import ContactAdjoint
from dovetail.gradient.frame import Frame, Parameters
from dovetail.gradient.laws import value_adjoints
from dovetail.gradient.linear import AdjointSystem
from dovetail.gradient.loads import load_adjoints
from dovetail.gradient.potential import PotentialAdjoint
from dovetail.gradient.reel import Ends
from dovetail.gradient.start import Begun, StartAdjoint
from dovetail.gradient.sums import Sums
from dovetail.gradient.touching import Touching, Walk
from dovetail.solver.bodies import Bodies
from dovetail.solver.integrator import Methods
from dovetail.solver.predict import predict
from dovetail.typing import Array

if TYPE_CHECKING:
    from dovetail.world.simulation import Simulation

__all__ = ["Adjoint"]


def _table(methods: Methods, bodies: Bodies) -> Array:
    """Coefficients (n, 9) of the methods of bodies: α₀, α₁, β₀, β₁, σ of Q̃, and δ, δ₀, δ₁, ε of the new velocity.

    Quasi-static bodies have no past, and fixed ones no velocity.
    """
    free, dynamic = (bodies.is_free != 0)[:, None], ((bodies.is_free * bodies.is_dynamic) != 0)[:, None]
    prediction, rates = methods.prediction[methods.of], methods.rates[methods.of]
    place = np.where(dynamic, prediction[:, :4], (1.0, 0.0, 0.0, 0.0))
    return np.hstack([place, prediction[:, 4:], np.where(free, rates[:, :4], 0.0)])


class Adjoint:
    """Steps of a simulation backwards; between `__enter__` and `__exit__` its model is not what it was.

    k, frame, ends, contact, begun    of the step at hand
    sums                              what gradients are added to
    """

    def __init__(self, simulation: Simulation, parameters: Parameters, sums: Sums) -> None:
        self._simulation, self.parameters, self.sums = simulation, parameters, sums
        self.model = simulation.model
        self.system = AdjointSystem(self.model)
        self.potential = PotentialAdjoint(simulation)
        by, n = sums.constant, self.model.bodies.count
        self._by_bodies = BodySums(mass=by["mass"], stiffness=by["stiffness"], gravity=by["gravity"])
        self._last: tuple[Methods, Array] | None = None
        self._room, self._costates = np.zeros((2, n, 4, 3)), (Costate.zero(n), Costate.zero(n))
        self._start = StartAdjoint(simulation, self.system, self.potential.is_place)

    def __enter__(self) -> Adjoint:
        coordinates = self.parameters.coordinates
        self._kept = self.parameters.take(None), coordinates.reference.copy()
        self.system.enter()
        contact = self.model.contact
        self.walk = None if contact is None else Walk(contact)
        self._later: tuple[Touching, int, float] | None = None
        return self

    def __exit__(self, *error: object) -> None:
        given, reference = self._kept
        self.parameters.put(given)
        self.parameters.coordinates.reference[:] = reference
        self.system.leave()

    def step(self, k: int, frame: Frame, ends: Ends, after: Costate) -> Costate:
        """Adjoints at the start of step k from those at its end; gradients go to the sums.

        They are in one of two arrays that take turns.
        """
        self.at(k, frame, ends)
        return self.pull(after)

    def at(self, k: int, frame: Frame, ends: Ends) -> None:
        """Go to step k: what it began with, and its Hessian, factored."""
        g = self.stand(k, frame, ends)
        self.system.factor(k)
        self.sums.residual[k] = self.system.newton_step(g) / frame.h

    def stand(self, k: int, frame: Frame, ends: Ends) -> Array:
        """Go to step k: what it began with, and its Hessian; the gradient (n, 12) that Newton's method has left."""
        model, h, methods = self.model, frame.h, frame.methods
        self.k, self.frame, self.ends = k, frame, ends
        self.parameters.put(frame.given)
        self.system.prepare(h, methods.weight)
        self._V_start, a, self.begun = self.begin(ends.Q, ends.V)
        predict(
            methods.prediction, methods.of, h, model.bodies.is_free, model.bodies.is_dynamic, a, ends.Q, self._V_start,
            ends.Q_before, ends.V_before, model.potential.Q_tilde,
        )  # fmt: skip
        self.contact = self._touch(frame, ends)
        self.parameters.coordinates.reference[:] = frame.values[1]
        return self.system.assemble(model.potential.bare(ends.Q_end), self.contact)

    def begin(self, Q: Array, V: Array, push: Array | float = 0.0) -> tuple[Array, Array, Begun | None]:
        """Velocity and acceleration that the step at hand begins with at Q, V, push (n, 4, 3) an acceleration more.

        The coordinates of joints are left on the branch that they are on at its start.
        """
        frame, loads = self.frame, self.model.loads
        self.parameters.coordinates.reference[:] = frame.values[0]
        a = loads.accelerations(Q) + push
        if not frame.methods.is_consistent:
            return V, a, None
        begun = self._start.begin(frame, Q, V, a)
        on, h = (begun.active != 0)[:, None, None], frame.h
        end = loads.accelerations(Q + h * begun.V) + push
        return begun.V, np.where(on, end - begun.x / (h * h), begun.a), begun

    def pull(self, after: Costate) -> Costate:
        """Adjoints at the start of the step at hand, from those at its end."""
        model, sums, k, frame, ends, begun = self.model, self.sums, self.k, self.frame, self.ends, self.begun
        h, Q1, reference, table = frame.h, ends.Q_end, self.parameters.coordinates.reference, self.table
        reference[:] = frame.values[1]
        x, nu = self.system.solve(Q1, after.Q + table[:, 5, None, None] / h * after.V)
        start_bar = self.potential.run(k, h, Q1, x, nu, sums)
        before, c = self._costates[after is self._costates[0]], model.potential.weights.c
        (a_bar, V_bar), Q_tilde = self._room, model.potential.Q_tilde
        step_back(model.bodies, table, c, h, Q1, Q_tilde, x, after, before, (a_bar, V_bar), self._by_bodies)
        if self.contact is not None:
            self.contact.back(x, before.Q, sums)
        reference[:] = frame.values[0]
        if begun is None:
            self._loads(k, a_bar, ends.Q, before.Q)
            before.V += V_bar
            if start_bar.any():
                coordinates, nothing = self.parameters.coordinates, np.zeros_like(Q1)
                value_adjoints(
                    coordinates, ends.Q, nothing, start_bar, np.zeros(coordinates.count), before.Q, nothing,
                    sums.constant["coordinates/W"],
                )  # fmt: skip
            return before
        on, at_end = (begun.active != 0)[:, None, None], np.zeros_like(Q1)
        self._loads(k, np.where(on, a_bar, 0.0), ends.Q + h * begun.V, at_end)
        V_bar += h * at_end
        of_Q, of_V, of_a = self._start.back(
            k, frame, begun, (ends.Q, ends.V), V_bar, np.where(on, a_bar, 0.0), start_bar, sums
        )
        before.Q += of_Q + at_end
        before.V += of_V
        self._loads(k, np.where(on, of_a, a_bar), ends.Q, before.Q)
        return before

    @property
    def table(self) -> Array:
        """Coefficients (n, 9) of the methods of the step at hand."""
        return self._coefficients(self.frame.methods)

    @property
    def pulls_once(self) -> bool:
        """Whether `pull` leaves nothing to be pulled again: the start of ctr takes the place of the factor."""
        return self.begun is not None

    def _coefficients(self, methods: Methods) -> Array:
        """Those of the last step if its methods were the same."""
        if self._last is None or self._last[0] is not methods:
            self._last = methods, _table(methods, self.model.bodies)
        return self._last[1]

    def _touch(self, frame: Frame, ends: Ends) -> ContactAdjoint | None:
        """Contacts of a step, None where there are none."""
        contact, h = self.model.contact, frame.h
        if contact is None:
            return None
        assert self.walk is not None
        later = self._later
        known = later is not None and later[1:] == (self.k + 1, h)
        end = later[0] if later is not None and known else self.walk.to(ends.Q_end, h)
        start = self.walk.to(ends.Q, h) if frame.contacts else self.walk.nowhere(ends.Q)
        self._later = start, self.k, h
        return ContactAdjoint(contact, start, end, ends.Q, ends.Q_end, h) if start.count or end.count else None

    def _loads(self, k: int, a_bar: Array, Q: Array, Q_bar: Array) -> None:
        """Gradients by gravity and loads at Q, where accelerations have the adjoint a_bar; Q_bar += their part."""
        sums, F_bar = self.sums, np.empty_like(a_bar)
        fall_back(self.model.bodies, a_bar, self._by_bodies, F_bar)
        sums.steps["forces"][k] += F_bar
        if self.model.loads.act:
            by_loads = self.model.loads.accelerations(Q) - self.model.loads.free_fall
            sums.constant["mass"] -= F_bar @ by_loads.swapaxes(1, 2)  # of M⁻¹F
        for n, load in enumerate(self._simulation.joints.lowered.loads):
            values, W_bar = load_adjoints(load, Q, F_bar, Q_bar)
            sums.steps[f"load {n}"][k] += values
            sums.constant[f"load {n}/W"] += W_bar
