"""AffineBodyRevoluteJointExternalForce (UID 668): a torque about the axis of a revolute joint.

    e_k = A_k(x̄¹ − x̄⁰) normalised,  e = ½(e_i + e_j)
    F_A = ½ τ [e]× A⁻ᵀ on the right body, with −e on the left

τ > 0 turns the right body right-handed about P0 → P1 and increases `angle`; the power is τ e·ω. Column i of A⁻ᵀ is the
reciprocal vector (a_j × a_k)/det A. A body that is nearly flat, |det A| < 1e-6 |a_1||a_2||a_3|, gets no torque.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.joint.stencil import Stencils, gather
from dovetail.solver.load.load import Load
from dovetail.solver.polar import determinant
from dovetail.typing import Array, Indices

__all__ = ["JointTorques", "twist_body"]

_FLAT = 1e-6


@kernel
def twist_body(b: int, half: float, e: Array, Q: Array, F: Array) -> bool:
    """F[b] rows 1..3 += half·e × (reciprocal vectors); False where the body is too flat to have them."""
    det = determinant(Q, b)
    size = 1.0
    for i in range(1, 4):
        size *= math.sqrt(Q[b, i, 0] ** 2 + Q[b, i, 1] ** 2 + Q[b, i, 2] ** 2)
    if not abs(det) >= _FLAT * size:
        return False
    for i in range(3):
        j, k = 1 + (i + 1) % 3, 1 + (i + 2) % 3
        r0 = (Q[b, j, 1] * Q[b, k, 2] - Q[b, j, 2] * Q[b, k, 1]) / det
        r1 = (Q[b, j, 2] * Q[b, k, 0] - Q[b, j, 0] * Q[b, k, 2]) / det
        r2 = (Q[b, j, 0] * Q[b, k, 1] - Q[b, j, 1] * Q[b, k, 0]) / det
        F[b, 1 + i, 0] += half * (e[1] * r2 - e[2] * r1)
        F[b, 1 + i, 1] += half * (e[2] * r0 - e[0] * r2)
        F[b, 1 + i, 2] += half * (e[0] * r1 - e[1] * r0)
    return True


@kernel
def _add(s: Stencils, tau: Array, Q: Array, F: Array, dropped: Indices, loaded: Indices) -> None:
    """dropped (1,) ← how many torques were dropped because a body is flat."""
    axes = np.empty(6)
    e = np.empty(3)
    dropped[0] = 0
    for k in range(len(s.left)):
        if tau[k] == 0.0:
            continue
        loaded[0] = 1
        gather(s.W, k, s.left[k], s.right[k], Q, axes)
        li = math.sqrt(axes[0] ** 2 + axes[1] ** 2 + axes[2] ** 2)
        lj = math.sqrt(axes[3] ** 2 + axes[4] ** 2 + axes[5] ** 2)
        for a in range(3):
            e[a] = 0.5 * (axes[a] / li + axes[3 + a] / lj)
        if not twist_body(s.right[k], 0.5 * tau[k], e, Q, F):
            dropped[0] += 1
        if not twist_body(s.left[k], -0.5 * tau[k], e, Q, F):
            dropped[0] += 1


class JointTorques(Load):
    """Stencils with the rows x¹ − x⁰ of the left and of the right body, and the torque (k,) [N·m] of each."""

    def __init__(self, stencils: Stencils) -> None:
        self.stencils = stencils
        self.values = np.zeros(stencils.count)
        self._dropped = np.zeros(1, np.int64)

    @property
    def dropped(self) -> int:
        """How many torques were dropped, where they were last added, because a body is flat."""
        return int(self._dropped[0])

    @property
    def acts(self) -> bool:
        return self.dropped > 0 or bool(np.count_nonzero(self.values))

    def adding(self, Q: Array, F: Array, loaded: Indices) -> tuple[Any, ...]:
        return _add, self.stencils, self.values, Q, F, self._dropped, loaded
