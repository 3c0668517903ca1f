"""AffineBodyPrismaticJointExternalForce (UID 667): a force along the axis of a prismatic joint.

    t = ½(A_i t̄_i + A_j t̄_j)  (not normalised)       F_j[row 0] += f t,   F_i[row 0] −= f t

f > 0 increases `distance`. As specified the force acts on the translation alone, at each body's local origin.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.joint.stencil import Stencils, gather
from dovetail.solver.load.load import Load
from dovetail.typing import Array, Indices

__all__ = ["JointForces"]


@kernel
def _add(s: Stencils, f: Array, Q: Array, F: Array, loaded: Indices) -> None:
    t = np.empty(3)
    for k in range(len(s.left)):
        if f[k] == 0.0:
            continue
        loaded[0] = 1
        gather(s.W, k, s.left[k], s.right[k], Q, t)
        for a in range(3):
            F[s.left[k], 0, a] -= f[k] * t[a]
            F[s.right[k], 0, a] += f[k] * t[a]


class JointForces(Load):
    """Stencils with the one row t, and the force (k,) [N] of each; 0 where it is switched off."""

    def __init__(self, stencils: Stencils) -> None:
        self.stencils = stencils
        self.values = np.zeros(stencils.count)

    @property
    def acts(self) -> bool:
        return bool(np.count_nonzero(self.values))

    def adding(self, Q: Array, F: Array, loaded: Indices) -> tuple[Any, ...]:
        return _add, self.stencils, self.values, Q, F, loaded
