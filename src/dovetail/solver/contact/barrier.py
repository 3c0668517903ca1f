"""The barrier: an energy that rises without bound as a gap closes and is zero beyond d̂.

    b(D) = −κ (D − O)² ln((D − ξ²)/(O − ξ²)),   O = (ξ + d̂)²,   active for ξ² < D < O

D is the squared distance, ξ the thickness of both surfaces together (0 for solids), d̂ the range. Times h² in the
potential. Nearly parallel edges are faded out by the mollifier m(c) = (2 − c/ε)c/ε for c = |u × v|² < ε, ε = 1e-3
|ū|²|v̄|².
"""

from __future__ import annotations

import math

from dovetail.kernel.kernel import kernel
from dovetail.typing import Array

__all__ = ["MOLLIFIER", "adaptive", "barrier", "mollifier", "of_lighter", "softened"]

MOLLIFIER = 1e-3
_ADAPTIVE = 20.0  # adaptive κ: second derivative of the barrier at d̂/2, in units of m/h²
_CURVATURE = 15.1  # that derivative for κ = 1, in units of d̂²: 4D b″ + 2b′ at D = d̂²/4
_THICK = 2.36  # curvature of the barrier at half its range, ξ = 0 beside ξ ≫ d̂: 15.1 and 6.39, in units of κ d̂²


@kernel
def barrier(D: float, thickness: float, d_hat: float) -> tuple[float, float, float]:
    """b, b′, b″ by D, for κ = 1."""
    inner = thickness * thickness
    outer = (thickness + d_hat) * (thickness + d_hat)
    x = D - outer
    gap = D - inner
    logarithm = math.log(gap / (outer - inner))
    return (
        -x * x * logarithm,
        -x * (2.0 * logarithm + x / gap),
        -(2.0 * logarithm + 4.0 * x / gap - x * x / (gap * gap)),
    )


@kernel
def of_lighter(one: float, other: float) -> float:
    """That of the lighter of two bodies, by what is proportional to mass, and 0 for what cannot move."""
    return max(one, other) if min(one, other) == 0.0 else min(one, other)


def adaptive(mass: Array, h: float) -> Array:
    """κ d̂² (n,) that bodies give to adaptive contacts in a step of length h; mass (n,) is 0 for what cannot move."""
    return _ADAPTIVE / (_CURVATURE * h * h) * mass


def softened(thickness: Array, d_hat: Array) -> Array:
    """Factor on κ with which a thick surface is as stiff as a bare one; D − ξ² is 2ξ times the gap there."""
    return _THICK * (d_hat / (2.0 * thickness + d_hat)) ** 2


@kernel
def mollifier(c: float, epsilon: float) -> tuple[float, float]:
    """m, m′ by c = |u × v|²."""
    if c >= epsilon:
        return 1.0, 0.0
    y = c / epsilon
    return (2.0 - y) * y, (2.0 - 2.0 * y) / epsilon
