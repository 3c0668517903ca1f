"""The adjoint of one step of a linear multistep method (bdf1, bdf2): from the adjoints of its end to those of its start.

    Q̃ = α₀ Qₙ + α₁ Qₙ₋₁ + h (β₀ Vₙ + β₁ Vₙ₋₁) + σ h² a         g = c M (Q − Q̃) + ∇(all else) = 0
    Vₙ₊₁ = (δ Q + δ₀ Qₙ + δ₁ Qₙ₋₁)/h

With H x = q + δ v/h, q and v the adjoints of Qₙ₊₁ and Vₙ₊₁, that of Q̃ is c M x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dovetail.gradient.frame import Frame, Parameters
from dovetail.gradient.laws import value_adjoints
from dovetail.gradient.linear import AdjointSystem
from dovetail.gradient.loads import load_adjoints
from dovetail.gradient.potential import PotentialAdjoint
from dovetail.gradient.sums import Sums
from dovetail.solver.predict import predict
from dovetail.typing import Array

if TYPE_CHECKING:
    from dovetail.world.simulation import Simulation

__all__ = ["Adjoint", "Costate", "Ends"]


@dataclass(slots=True)
class Costate:
    """Adjoints (n, 4, 3) of Qₙ, Vₙ, and of Qₙ₋₁, Vₙ₋₁ as the step after the n-th sees them."""

    Q: Array
    V: Array
    Q_before: Array
    V_before: Array

    @classmethod
    def zero(cls, n: int) -> Costate:
        return cls(*np.zeros((4, n, 4, 3)))


@dataclass(slots=True)
class Ends:
    """States (n, 4, 3) of a step: before its start, at it, and at its end."""

    Q_before: Array
    V_before: Array
    Q: Array
    V: Array
    Q_end: Array


class Adjoint:
    """Steps of a simulation backwards; between `__enter__` and `__exit__` its model is not what it was."""

    def __init__(self, simulation: Simulation, parameters: Parameters, sums: Sums) -> None:
        self._simulation, self._parameters, self._sums = simulation, parameters, sums
        self._model = simulation.model
        self._system = AdjointSystem(self._model)
        self._potential = PotentialAdjoint(simulation)
        bodies = self._model.bodies
        self._free = (bodies.is_free != 0)[:, None, None]
        self._dynamic = ((bodies.is_free * bodies.is_dynamic) != 0)[:, None, None]

    def __enter__(self) -> Adjoint:
        coordinates = self._parameters.coordinates
        self._kept = self._parameters.take(None), coordinates.reference.copy()
        self._system.lay_out(np.zeros((0, 2), np.int64))
        return self

    def __exit__(self, *error: object) -> None:
        given, reference = self._kept
        self._parameters.put(given)
        self._parameters.coordinates.reference[:] = reference
        self._system.leave()

    def step(self, k: int, frame: Frame, ends: Ends, after: Costate) -> Costate:
        """Adjoints at the start of step k from those at its end; gradients go to the sums."""
        model, h, sums, methods = self._model, frame.h, self._sums, frame.methods
        bodies, Q1 = model.bodies, ends.Q_end
        self._parameters.put(frame.given)
        self._parameters.coordinates.reference[:] = frame.values
        self._system.prepare(h, methods.weight)
        a, Q_tilde = model.loads.accelerations(ends.Q), model.potential.Q_tilde
        predict(
            methods.prediction, methods.of, h, bodies.is_free, bodies.is_dynamic, a, ends.Q, ends.V, ends.Q_before,
            ends.V_before, Q_tilde,
        )  # fmt: skip
        g = self._system.assemble(model.potential.bare(Q1))
        self._system.factor(k)
        left = self._system.solve(Q1, g.reshape(-1, 4, 3))
        sums.residual[k] = np.abs(left).max(initial=0.0) / h
        rates = methods.rates[methods.of][:, :, None, None]
        d, d0, d1 = (np.where(self._free, rates[:, i], 0.0) / h for i in range(3))
        x = self._system.solve(Q1, after.Q + d * after.V)
        start_bar = self._potential.run(k, h, Q1, x, self._system.nu, sums)
        table = methods.prediction[methods.of][:, :, None, None]
        Q_tilde_bar = model.potential.weights.c[:, None, None] * (bodies.mass @ x)
        of_Q, of_Q_before, of_V, of_V_before = (
            np.where(self._dynamic, table[:, i], 1.0 if i == 0 else 0.0) * (h if i > 1 else 1.0) * Q_tilde_bar
            for i in range(4)
        )
        before = Costate(
            after.Q_before + d0 * after.V + of_Q + np.where(self._free, 0.0, after.Q),
            after.V_before + of_V,
            d1 * after.V + of_Q_before,
            of_V_before,
        )
        sigma = table[:, 4] * h * h
        self._loads(k, sigma * Q_tilde_bar, ends.Q, before.Q)
        by_loads = sigma * (a - model.loads.free_fall)  # M⁻¹F, whose mass the kinetic term takes away again
        kinetic = model.potential.weights.c[:, None, None] * (Q1 - Q_tilde + by_loads)
        sums.constant["mass"] -= np.einsum("bix,bjx->bij", x, kinetic)
        c, nothing = self._parameters.coordinates, np.zeros_like(Q1)
        if start_bar.any():
            value_adjoints(
                c, ends.Q, nothing, start_bar, np.zeros(c.count), before.Q, nothing, sums.constant["coordinates/W"]
            )
        return before

    def _loads(self, k: int, a_bar: Array, Q: Array, Q_bar: Array) -> None:
        """Gradients by gravity and loads at Q, where accelerations have the adjoint a_bar; Q_bar += their part."""
        sums, bodies = self._sums, self._model.bodies
        a_bar = np.where(self._free, a_bar, 0.0)
        sums.constant["gravity"] += a_bar[:, 0]
        F_bar = bodies.mass_inverse @ a_bar
        sums.steps["forces"][k] += F_bar
        for n, load in enumerate(self._simulation.joints.lowered.loads):
            values, W_bar = load_adjoints(load, Q, F_bar, Q_bar)
            sums.steps[f"load {n}"][k] += values
            sums.constant[f"load {n}/W"] += W_bar
