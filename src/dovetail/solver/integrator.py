"""Time integrators as tables of coefficients.

A step of length h minimises  c/2 ‖Q − Q̃‖²_M + (potentials)  and then sets the velocity, with

    Q̃ = α₀ Qₙ + α₁ Qₙ₋₁ + h (β₀ Vₙ + β₁ Vₙ₋₁) + σ h² a,        a = g + M⁻¹F
    Vₙ₊₁ = (δ Q + δ₀ Qₙ + δ₁ Qₙ₋₁) / h + ε Vₙ + η h a

| integrator | Q̃ | c | new velocity | order |
|---|---|---|---|---|
| bdf1 | Qₙ + h Vₙ + h² a | 1 | (Q − Qₙ)/h | 1 |
| bdf2 | 4/3 Qₙ − 1/3 Qₙ₋₁ + 2h/9 (4Vₙ − Vₙ₋₁) + 4h²/9 a | 9/4 | (3Q − 4Qₙ + Qₙ₋₁)/(2h) | 2 |
| ctr | Qₙ + h V̂ + h²/4 (a + Â) | 4 | 2(Q − Qₙ)/h − V̂ | 2 |

| held | Qₙ + h V̂ + h²/4 (a + Â) | 1 | (Q − Qₙ)/h + h/4 (a + Â) | 2 |

ctr, the consistent trapezoidal rule, takes the velocity V̂ and the acceleration Â at the start of the step from
consistent.py; they stand for Vₙ, and Â is added to a. What touches something takes its steps as held (held.py), and one
that only ends in touch, landed, has the velocity of that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from dovetail.typing import Array, Flags, Indices

__all__ = ["INTEGRATORS", "Integrator", "Methods"]


@dataclass(frozen=True)
class Integrator:
    """Coefficients of one method; see the module's equations."""

    name: str
    order: int
    weight: float  # c
    position: tuple[float, float]  # α₀, α₁
    velocity: tuple[float, float]  # β₀, β₁
    acceleration: float  # σ
    rate: tuple[float, float, float]  # δ, δ₀, δ₁
    carry: float = 0.0  # ε
    push: float = 0.0  # η

    @cached_property
    def prediction(self) -> Array:
        """α₀, α₁, β₀, β₁, σ as the array that the prediction kernel reads."""
        return np.array([*self.position, *self.velocity, self.acceleration])

    @cached_property
    def rates(self) -> Array:
        """δ, δ₀, δ₁, ε, η as an array."""
        return np.array([*self.rate, self.carry, self.push])

    @property
    def looks_back(self) -> bool:
        """True where the state before the last one is used."""
        return self.position[1] != 0.0 or self.velocity[1] != 0.0

    @property
    def is_consistent(self) -> bool:
        """True where a step starts from a consistent velocity and acceleration."""
        return self.carry != 0.0


INTEGRATORS = {
    method.name: method
    for method in (
        Integrator("bdf1", 1, 1.0, (1.0, 0.0), (1.0, 0.0), 1.0, (1.0, -1.0, 0.0)),
        Integrator("bdf2", 2, 9 / 4, (4 / 3, -1 / 3), (8 / 9, -2 / 9), 4 / 9, (1.5, -2.0, 0.5)),
        Integrator("ctr", 2, 4.0, (1.0, 0.0), (1.0, 0.0), 1 / 4, (2.0, -2.0, 0.0), -1.0),
    )
}


_HELD = Integrator("held", 2, 1.0, (1.0, 0.0), (1.0, 0.0), 1 / 4, (1.0, -1.0, 0.0), push=1 / 4)
_LANDED = Integrator("landed", 1, 4.0, (1.0, 0.0), (1.0, 0.0), 1 / 4, (1.0, -1.0, 0.0), push=1 / 4)
CARRIED = 3 / 4
"""Share of the inner forces of Â that a held step has in Q̃: what minimises has the rest as its forces.

Half of Â moves a body in a step. h²/4 Â is in Q̃, so inner forces are left with a quarter of theirs."""


class Methods:
    """The integrator of each body in one step: the method given, bdf1, or held.

    method                     the one that is given
    touched (n,)               which begin the step in touch
    needs_bdf1, held (n,)      which take bdf1, and which are held: what touches, and does not need bdf1
    some_touched, some_held    whether any is
    all_held                   whether all are
    smooth, starts (n,)        which take the method itself, and which have a consistent start: these and those held
    bdf1_count                 how many take bdf1
    of (n,)                    row of the tables below
    prediction (4, 5)          α₀, α₁, β₀, β₁, σ
    rates (4, 5)               δ, δ₀, δ₁, ε, η
    weight (n,)                c
    """

    def __init__(self, method: Integrator, needs_bdf1: Flags, touched: Flags | None = None) -> None:
        self.method, self.is_consistent = method, method.is_consistent
        self.needs_bdf1, self.bdf1_count = needs_bdf1, int(needs_bdf1.sum())
        self.touched: Flags = np.zeros_like(needs_bdf1) if touched is None else touched
        self.held: Flags = self.touched & ~needs_bdf1
        self.all_held = bool(self.held.all())
        self.some_held, self.some_touched = bool(self.held.any()), bool(self.touched.any())
        self.starts: Flags = ~needs_bdf1
        self.smooth: Flags = self.starts & ~self.held
        self.of: Indices = np.where(needs_bdf1, 1, np.where(self.held, 2, 0))
        self.prediction, self.rates, weights = _tables(method)
        self.weight: Array = weights[self.of]
        self._lags: Flags = self.of >= 2

    def landing(self, touched: Flags) -> tuple[Indices, Flags]:
        """Rows of the rates (n,) where these bodies (n,) touch something in the end; and whose velocity lags."""
        if (
            not self.is_consistent
            or (touched is self.touched and not self.some_touched)
            or not np.count_nonzero(touched)
        ):
            return self.of, self._lags
        rates = np.where(touched & (self.of == 0), 3, self.of)
        return rates, rates >= 2


@cache
def _tables(method: Integrator) -> tuple[Array, Array, Array]:
    """Coefficients of a method (row 0), of bdf1, held and landed (rows 1 to 3)."""
    rows = (method, INTEGRATORS["bdf1"], _HELD, _LANDED)
    tables = (np.stack([m.prediction for m in rows]), np.stack([m.rates for m in rows]))
    return *tables, np.array([m.weight for m in rows])
