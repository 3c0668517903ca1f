"""dry_friction: resists the motion of a coordinate with a constant effort, growing from zero below a small velocity.

φ = h²f (|δ| − ε/2) where |δ| > ε,   h²f δ²/(2ε) below,   δ = x − xₙ,  ε = h·eps_velocity
"""

from __future__ import annotations

from dovetail.solver.joint.function import law
from dovetail.typing import Array

__all__ = ["dry_friction"]


@law(parameters=("f [N or N·m]", "eps_velocity [m/s or rad/s]", "start", "h [s]"))
def dry_friction(x: float, p: Array, d: Array) -> float:
    """φ = h²f·huber(x − xₙ)."""
    h = p[3]
    force = h * h * p[0]
    epsilon = h * p[1]
    away = x - p[2]
    if abs(away) <= epsilon:
        d[0] = force * away / epsilon
        d[1] = force / epsilon
        return float(0.5 * force * away * away / epsilon)
    d[0] = force if away > 0.0 else -force
    d[1] = 0.0
    return float(force * (abs(away) - 0.5 * epsilon))
