"""Time integrators as tables of coefficients.

A step of length h minimises  c/2 ‖Q − Q̃‖²_M + (potentials)  and then sets the velocity, with

    Q̃ = α₀ Qₙ + α₁ Qₙ₋₁ + h (β₀ Vₙ + β₁ Vₙ₋₁) + σ h² a,        a = g + M⁻¹F
    Vₙ₊₁ = (δ Q + δ₀ Qₙ + δ₁ Qₙ₋₁) / h + ε Vₙ

| integrator | Q̃ | c | new velocity | order |
|---|---|---|---|---|
| bdf1 | Qₙ + h Vₙ + h² a | 1 | (Q − Qₙ)/h | 1 |
| bdf2 | 4/3 Qₙ − 1/3 Qₙ₋₁ + 2h/9 (4Vₙ − Vₙ₋₁) + 4h²/9 a | 9/4 | (3Q − 4Qₙ + Qₙ₋₁)/(2h) | 2 |
| ctr | Qₙ + h V̂ + h²/4 (a + Â) | 4 | 2(Q − Qₙ)/h − V̂ | 2 |

ctr, the consistent trapezoidal rule, takes the velocity V̂ and the acceleration Â at the start of the step from
consistent.py; they stand for Vₙ, and Â is added to a.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from dovetail.typing import Array, Flags, Indices

__all__ = ["INTEGRATORS", "Integrator", "Methods", "same_for_all"]


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

    @cached_property
    def prediction(self) -> Array:
        """α₀, α₁, β₀, β₁, σ as the array that the prediction kernel reads."""
        return np.array([*self.position, *self.velocity, self.acceleration])

    @cached_property
    def rates(self) -> Array:
        """δ, δ₀, δ₁, ε as an array."""
        return np.array([*self.rate, self.carry])

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


class Methods:
    """The integrator of each body in one step: bdf1 where `needs_bdf1` (n,) is true, else the method given.

    method                     the one that is given
    of (n,)                    row of the tables below
    needs_bdf1, smooth (n,)    which take bdf1, and which do not
    bdf1_count                 how many take bdf1
    prediction (2, 5)     α₀, α₁, β₀, β₁, σ
    rates (2, 4)          δ, δ₀, δ₁, ε
    weight (n,)           c
    """

    def __init__(self, method: Integrator, needs_bdf1: Flags) -> None:
        self.method, self.is_consistent = method, method.is_consistent
        self.needs_bdf1, self.smooth, self.bdf1_count = needs_bdf1, ~needs_bdf1, int(needs_bdf1.sum())
        self.of: Indices = needs_bdf1.astype(np.int64)
        self.prediction, self.rates, weights = _beside_bdf1(method)
        self.weight: Array = weights[self.of]


@cache
def same_for_all(method: Integrator, count: int) -> Methods:
    """One method for all bodies."""
    return Methods(method, np.zeros(count, np.bool_))


@cache
def _beside_bdf1(method: Integrator) -> tuple[Array, Array, Array]:
    """Tables of coefficients of a method (row 0) and bdf1 (row 1)."""
    both = (method, INTEGRATORS["bdf1"])
    tables = (np.stack([m.prediction for m in both]), np.stack([m.rates for m in both]))
    return *tables, np.array([m.weight for m in both])
