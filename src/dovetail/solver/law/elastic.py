"""elastic: a spring in a joint, effort −k (x − x̃).

φ = h²k/2 (x − x̃)²
"""

from __future__ import annotations

from dovetail.solver.joint.function import law, parabola
from dovetail.typing import Array

__all__ = ["elastic"]


@law(parameters=("k [N/m or N·m]", "rest", "h [s]"))
def elastic(x: float, p: Array, d: Array) -> float:
    """φ = h²k/2 (x − x̃)²."""
    return parabola(p[0] * p[2] * p[2], x - p[1], d)
