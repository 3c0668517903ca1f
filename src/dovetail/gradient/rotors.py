"""Adjoint of inertia of coordinates (solver/joint/rotors.py): rotors have a rate of their own, by e more than ∇x·V.

    x̃ = α₀ xₙ + α₁ xₙ₋₁ + h (β₀ rₙ + β₁ rₙ₋₁) + σ h² ẍ
    eₙ₊₁ = (δ x + δ₀ xₙ + δ₁ xₙ₋₁)/h + ε rₙ + η h ẍ − ∇x·Vₙ₊₁

x̃ is a parameter of a law, so that its adjoint is known once H is solved with. From there, and from that of eₙ₊₁, these
are linear in what they come from: values, rates and second rates of coordinates, and eₙ, eₙ₋₁ of the steps before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dovetail.gradient.bodies import Costate
from dovetail.gradient.law_start import coordinate_adjoints
from dovetail.gradient.laws import value_adjoints
from dovetail.gradient.start import BEND, NUMBERS, VALUE, VHAT, VN, Begun
from dovetail.gradient.sums import Sums
from dovetail.solver.integrator import Methods
from dovetail.solver.joint.laws import EXCESS
from dovetail.solver.joint.rotors import predicting
from dovetail.solver.model import Model
from dovetail.typing import Array, Indices

if TYPE_CHECKING:
    from dovetail.gradient.reel import Ends

__all__ = ["RotorAdjoint"]


class RotorAdjoint:
    """The rotors of a model; count of them. Between `end` and `start` it is at one step."""

    def __init__(self, model: Model) -> None:
        self._model, laws = model, model.potential.laws
        rotors = np.zeros(0, np.int64) if laws is None else laws.rotors
        self.count = len(rotors)
        if laws is None:
            return
        c = laws.coordinates
        self._laws, self._c, self._of, self._aim = laws, c, laws.of[rotors], laws.aim[rotors]
        right = c.right[self._of]
        self._body: Indices = np.where(model.bodies.is_free[right] != 0, right, c.left[self._of])

    def stand(self) -> None:
        """Have e of the start of a step, whose parameters are those after it."""
        self._laws.p[self._aim + EXCESS] = self._laws.p[self._aim + EXCESS + 1]

    def predicted(self, methods: Methods, h: float, ends: Ends, Q: Array, V: Array, begun: Begun | None) -> Array:
        """x̃ (r,) of a step from Q, with V̂ or Vₙ."""
        kept = self._laws.p.copy(), self._laws.scale.copy()
        A = np.zeros_like(Q) if begun is None else begun.x / (-h * h)
        now, before = (Q, V, A, A), (ends.Q_before, ends.V_before)
        kernel, *arguments = predicting(self._laws, methods, self._model.bodies, h, now, before)
        kernel(*arguments)
        found: Array = self._laws.p[self._aim]
        self._laws.p[:], self._laws.scale[:] = kept
        return found

    def places(self) -> Indices:
        """Those of x̃ (r,) among the parameters of laws."""
        return self._aim

    def end(self, table: Array, h: float, ends: Ends, after: Costate, sums: Sums) -> None:
        """after += what e at the end of a step has of its state."""
        self._own = np.zeros(self.count) if after.rotors is None else after.rotors[0]
        if self._own.any():
            x, rate = self._spread(table[self._body, 5] / h * self._own), self._spread(-self._own)
            by_W = sums.constant["coordinates/W"]
            value_adjoints(self._c, ends.Q_end, ends.V_end, x, rate, after.Q, after.V, by_W)

    def start(
        self, table: Array, h: float, ends: Ends, begun: Begun | None, aim_bar: Array, after: Costate, before: Costate,
        sums: Sums,
    ) -> tuple[Array, Array]:  # fmt: skip
        """Adjoints (n, 4, 3) of V̂, or Vₙ without a start, and of Â, from those of x̃ (r,) and e; before += others."""
        a0, a1, b0, b1, s, _, d0, d1, carry, push = table[self._body].T
        own, by_W = self._own, sums.constant["coordinates/W"]
        rate, bend = h * b0 * aim_bar + carry * own, h * h * s * aim_bar + h * push * own
        V_bar, A_bar = np.zeros((2, *ends.Q.shape))
        bars, Y = np.zeros((self._c.count, NUMBERS)), np.zeros((6, *ends.Q.shape))
        Y[VHAT] = ends.V if begun is None else begun.V
        columns = [(VALUE, a0 * aim_bar + d0 / h * own), (VHAT, rate)]
        if begun is not None:
            Y[VN] = begun.x / (-h * h)
            columns += [(VN, bend), (BEND, bend)]
        for column, values in columns:
            bars[:, column] = self._spread(values)
        inverse, unused = self._model.bodies.mass_inverse, np.zeros_like(self._model.bodies.mass)
        coordinate_adjoints(self._c, inverse, bars, ends.Q, Y, before.Q, A_bar, V_bar, unused, by_W)
        x, earlier = self._spread(a1 * aim_bar + d1 / h * own), self._spread(h * b1 * aim_bar)
        value_adjoints(self._c, ends.Q_before, ends.V_before, x, earlier, before.Q_before, before.V_before, by_W)
        e_bar = np.zeros(self.count) if after.rotors is None else after.rotors[1].copy()
        before.rotors = np.stack([e_bar + (rate if begun is None else 0.0), h * b1 * aim_bar])
        return V_bar, A_bar

    def begun_with(self, p_bar: Array, before: Costate) -> None:
        """before += what a consistent start, whose parameters have p_bar, has of e."""
        assert before.rotors is not None
        before.rotors[0] += p_bar[self._aim + EXCESS]

    def _spread(self, values: Array) -> Array:
        """By coordinates (c,)."""
        found = np.zeros(self._c.count)
        np.add.at(found, self._of, values)
        return found
