"""Laws of joint coordinates as rows of the sweep: drives, limits, dampers, friction, linearised in every iteration.

With x the coordinate and φ the law, the force along ∇x after a step −y is λ = φ′ − φ″∇x·y, so that a law is the row

    φ′/φ″ − ∇x·y = λ/φ″          a joint row with residual φ′/φ″ and compliance 1/φ″

in a triple of its own, whose other rows are idle; all are where φ′ = φ″ = 0. Where a law is a constant force, as that
of a drive at its limit, φ″ is taken for a tiny part of what resists the row. The curvature φ′∇²x of the coordinate is
left out, as the sweep leaves out that of the bodies.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.solver.joint.function import call_coordinate, call_law, nearest
from dovetail.solver.joint.stencil import gather
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["linearise_laws"]

_TINY = 1e-10


@kernel
def _yields(covectors: Array, s: int, side: int, mass_inverse: Array, b: int) -> float:
    """∇x M⁻¹ ∇xᵀ of one body."""
    total = 0.0
    for i in range(4):
        for j in range(4):
            for a in range(3):
                total += covectors[s, side, 0, i, a] * mass_inverse[b, i, j] * covectors[s, side, 0, j, a]
    return total


@kernel
def linearise_laws(
    coordinate: Any, period: float, law: Any, left: Indices, right: Indices, W: Array, of: Indices, reference: Array,
    p: Array, scale: Array, mass_inverse: Array, triple: Indices, flipped: Indices, Q: Array, covectors: Array,
    residual: Array, compliance: Array, first: int,
) -> None:  # fmt: skip
    """Rows `first` and following of covectors and residual, and compliance at their triple ← laws at Q.

    triple is −1 for those in no tree.
    """
    n = 3 * W.shape[1]
    F, dx, d2x, d = np.empty(n), np.empty(n), np.zeros(n * n), np.zeros(2)
    for m in range(len(of)):
        s = first + m
        t = triple[s]
        if t < 0:
            continue
        k = of[m]
        gather(W, k, left[k], right[k], Q, F)
        dx[:] = 0.0
        x = nearest(call_coordinate(coordinate, F, 0.0, dx, d2x), period, reference[k])
        call_law(law, x, p, m, d)
        acts = d[0] != 0.0 or d[1] > 0.0
        resists = 0.0
        for side in range(2):
            right_side = (side == 1) != (flipped[t] != 0)
            columns = 4 if right_side else 0
            for i in range(4):
                for a in range(3):
                    value = 0.0
                    for r in range(W.shape[1]):
                        value += W[k, r, columns + i] * dx[3 * r + a]
                    covectors[s, side, 0, i, a] = value if acts else 0.0
            resists += _yields(covectors, s, side, mass_inverse, right[k] if right_side else left[k])
        stiffness = max(scale[m] * d[1], _TINY / resists) if resists > 0.0 else 1.0
        residual[s, 0] = scale[m] * d[0] / stiffness if acts else 0.0
        compliance[t, 0] = 1.0 / stiffness if acts else 1.0
