"""spring: draws a coordinate to a target; what a drive does.

φ = K/2 (x − x̃)²,   K = driving/strength_ratio · (m_i + m_j),  x̃ = aim − init
"""

from __future__ import annotations

from dovetail.solver.joint.function import law, parabola
from dovetail.typing import Array

__all__ = ["spring"]


@law(parameters=("K", "target"))
def spring(x: float, p: Array, d: Array) -> float:
    """φ = K/2 (x − x̃)²."""
    return parabola(p[0], x - p[1], d)
