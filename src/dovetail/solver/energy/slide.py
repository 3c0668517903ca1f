"""slide: a point that stays on a line, the translational half of a prismatic joint.

    F = (r, t):   ψ = K/2 ‖r × t‖²

r = c_j − c_i [m] joins the anchors, t is one body's image of the axis. With C = r × t the Hessian is
K(JᵀJ + C·∇²C), J = (−[t]×, [r]×):  JᵀJ couples r and t by r tᵀ − (r·t)1, C·∇²C by r tᵀ − t rᵀ. The second part is
indefinite and kept only when exact. The energy is taken from C, since |r|²|t|² − (r·t)² cancels.
"""

from __future__ import annotations

from dovetail.solver.joint.function import energy
from dovetail.typing import Array

__all__ = ["slide"]


@energy(rows=2, parameters=("K [kg]",))
def slide(F: Array, p: Array, exact: float, g: Array, H: Array) -> float:
    """ψ = K/2 (|r|²|t|² − (r·t)²)."""
    K = p[0]
    rr = F[0] * F[0] + F[1] * F[1] + F[2] * F[2]
    tt = F[3] * F[3] + F[4] * F[4] + F[5] * F[5]
    rt = F[0] * F[3] + F[1] * F[4] + F[2] * F[5]
    for a in range(3):
        r, t = F[a], F[3 + a]
        g[a] = K * (tt * r - rt * t)
        g[3 + a] = K * (rr * t - rt * r)
        for b in range(3):
            same = 1.0 if a == b else 0.0
            H[6 * a + b] = K * (tt * same - t * F[3 + b])
            H[6 * (3 + a) + 3 + b] = K * (rr * same - r * F[b])
            mixed = r * F[3 + b] - rt * same
            if exact > 0.0:
                mixed += r * F[3 + b] - t * F[b]
            H[6 * a + 3 + b] = K * mixed
            H[6 * (3 + b) + a] = K * mixed
    c0 = F[1] * F[5] - F[2] * F[4]
    c1 = F[2] * F[3] - F[0] * F[5]
    c2 = F[0] * F[4] - F[1] * F[3]
    return 0.5 * K * (c0 * c0 + c1 * c1 + c2 * c2)
