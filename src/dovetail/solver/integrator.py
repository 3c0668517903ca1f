"""Time integrators as tables of coefficients.

A step of length h minimises  c/2 ‖Q − Q̃‖²_M + (potentials)  and then sets the velocity, with

    Q̃ = α₀ Qₙ + α₁ Qₙ₋₁ + h (β₀ Vₙ + β₁ Vₙ₋₁) + σ h² a,        a = g + M⁻¹F
    Vₙ₊₁ = (δ Q + δ₀ Qₙ + δ₁ Qₙ₋₁) / h

| integrator | Q̃ | c | new velocity | order |
|---|---|---|---|---|
| bdf1 | Qₙ + h Vₙ + h² a | 1 | (Q − Qₙ)/h | 1 |
| bdf2 | 4/3 Qₙ − 1/3 Qₙ₋₁ + 2h/9 (4Vₙ − Vₙ₋₁) + 4h²/9 a | 9/4 | (3Q − 4Qₙ + Qₙ₋₁)/(2h) | 2 |
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dovetail.typing import Array

__all__ = ["INTEGRATORS", "Integrator"]


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

    @cached_property
    def prediction(self) -> Array:
        """α₀, α₁, β₀, β₁, σ as the array that the prediction kernel reads."""
        return np.array([*self.position, *self.velocity, self.acceleration])

    @cached_property
    def rates(self) -> Array:
        """δ, δ₀, δ₁ as an array."""
        return np.array(self.rate)

    @property
    def looks_back(self) -> bool:
        """True where the state before the last one is used."""
        return self.position[1] != 0.0 or self.velocity[1] != 0.0


INTEGRATORS = {
    method.name: method
    for method in (
        Integrator("bdf1", 1, 1.0, (1.0, 0.0), (1.0, 0.0), 1.0, (1.0, -1.0, 0.0)),
        Integrator("bdf2", 2, 9 / 4, (4 / 3, -1 / 3), (8 / 9, -2 / 9), 4 / 9, (1.5, -2.0, 0.5)),
    )
}
