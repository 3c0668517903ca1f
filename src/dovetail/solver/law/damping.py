"""damping: resists the motion of a coordinate, effort −c ẋ with ẋ = (x − xₙ)/h.

φ = hc/2 (x − xₙ)²
"""

from __future__ import annotations

from dovetail.solver.joint.function import law, parabola
from dovetail.typing import Array

__all__ = ["damping"]


@law(parameters=("c [N·s/m or N·m·s]", "start", "h [s]"))
def damping(x: float, p: Array, d: Array) -> float:
    """φ = hc/2 (x − xₙ)²."""
    return parabola(p[0] * p[2], x - p[1], d)
