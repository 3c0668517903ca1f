"""hold: keeps a coordinate at a value, as a joint does with a motion that it takes away.

φ = K/2 (s (x − x̃))²,   K = strength_ratio · (m_i + m_j),  s what turns x into metres where it is none
"""

from __future__ import annotations

from dovetail.solver.joint.function import law, parabola
from dovetail.typing import Array

__all__ = ["hold"]


@law(parameters=("K", "target", "scale"))
def hold(x: float, p: Array, d: Array) -> float:
    """φ = K/2 (s (x − x̃))²."""
    return parabola(p[0] * p[2] * p[2], x - p[1], d)
