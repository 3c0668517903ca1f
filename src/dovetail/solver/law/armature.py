"""armature: inertia of a coordinate itself, such as that of a motor's rotor behind its gears.

φ = a/2 (x − x̃)²,   x̃ where the coordinate would go by itself; times the weight c of the integrator (joint/rotors.py)
"""

from __future__ import annotations

from dovetail.solver.joint.function import law
from dovetail.typing import Array

__all__ = ["armature"]

MEMORY = ("rate at the start", "acceleration at the start", "excess of the rate", "that before")  # of joint/rotors.py


@law(parameters=("a [kg or kg·m²]", "prediction", *MEMORY))
def armature(x: float, p: Array, d: Array) -> float:
    """φ = a/2 (x − x̃)²."""
    away = x - p[1]
    d[0] = p[0] * away
    d[1] = p[0]
    return float(0.5 * p[0] * away * away)
