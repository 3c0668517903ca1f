"""Sliders as rows of the sweep: C = u × v, u the gap between two points and v the image of an axis.

    C − J y = λ/K,     J(δu, δv) = δu × v + u × δv        linearised anew in every iteration

The curvature λ·∇²C is left out. An exact slider has K⁻¹ = 0 and says nothing along v, so that its rows are those along
two directions e₁, e₂ across v, and an idle one.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.solver.joint.stencil import gather
from dovetail.solver.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["linearise_slides", "tell_slides"]


@kernel
def _set_across(v: Array, e: Array) -> None:
    """e (3×3) ← two unit vectors across v (3), and zero."""
    least = 0
    for a in range(1, 3):
        if abs(v[a]) < abs(v[least]):
            least = a
    i, j = (least + 1) % 3, (least + 2) % 3
    length = math.sqrt(v[i] * v[i] + v[j] * v[j])
    e[:] = 0.0
    e[0, i], e[0, j] = v[j] / length, -v[i] / length
    size = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        e[1, a] = (v[b] * e[0, c] - v[c] * e[0, b]) / size


@kernel
def linearise_slides(
    left: Indices, right: Indices, W: Array, K: Array, exact: bool, triple: Indices, flipped: Indices, Q: Array,
    covectors: Array, residual: Array, compliance: Array, directions: Array, first: int,
) -> None:  # fmt: skip
    """Rows `first` and following of covectors and residual, and compliance at their triple ← C, J at Q.

    triple is −1 for those in no tree. directions (k, 3, 3) ← those that rows are taken along: the axes, or e₁, e₂ and
    none.
    """
    F, C = np.empty(6), np.empty(3)
    for k in range(len(left)):
        s = first + k
        t = triple[s]
        if t < 0:
            continue
        gather(W, k, left[k], right[k], Q, F)
        if exact:
            _set_across(F[3:], directions[k])
        else:
            directions[k] = 0.0
            for a in range(3):
                directions[k, a, a] = 1.0
        for a in range(3):
            i, j = (a + 1) % 3, (a + 2) % 3
            C[a] = F[i] * F[3 + j] - F[j] * F[3 + i]
        for x in range(3):
            e = directions[k, x]
            residual[s, x] = e[0] * C[0] + e[1] * C[1] + e[2] * C[2]
            compliance[t, x] = 1.0 / K[k] if not exact else (0.0 if x < 2 else 1.0)
            for side in range(2):
                columns = 4 * (side if not flipped[t] else 1 - side)
                for i in range(4):
                    along_u, along_v = W[k, 0, columns + i], W[k, 1, columns + i]
                    for a in range(3):
                        # e·(δu × v) = δu·(v × e),  e·(u × δv) = δv·(e × u)
                        b, c = (a + 1) % 3, (a + 2) % 3
                        value = along_u * (F[3 + b] * e[c] - F[3 + c] * e[b])
                        covectors[s, side, x, i, a] = value + along_v * (e[b] * F[c] - e[c] * F[b])


@kernel
def tell_slides(
    triple: Indices, first: int, near: Indices, position: Indices, inside: Indices, directions: Array, force: Array,
    multiplier: Array,
) -> None:  # fmt: skip
    """multiplier (k, 3) ← the forces of exact sliders in axes of the world, of the trees that the sweep takes."""
    for k in range(len(multiplier)):
        t = triple[first + k]
        if t >= 0 and inside[position[near[t]]]:
            for a in range(3):
                multiplier[k, a] = force[t, 0] * directions[k, 0, a] + force[t, 1] * directions[k, 1, a]
