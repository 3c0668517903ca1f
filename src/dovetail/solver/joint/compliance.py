"""How much the rows of exact joints give way, and how stiff they have to be in the matrix that is factored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dovetail.solver.joint.stencil import Stencils
from dovetail.typing import Array, Indices

__all__ = ["Compliance"]

_GAMMA = 1e6, 1e9  # least and largest K of a row times what a unit force moves it by
_STIFFER = 100.0  # K of a row times what a unit force strains it by: a correction leaves a hundredth


@dataclass(frozen=True)
class Compliance:
    """What a unit force on a row moves it by: through the inertia of its free bodies, and through their strain.

    inertia (k,)    Σ w M̂⁻¹ wᵀ [1/kg] over the rows w of the free bodies
    strain (k,)     Σ |x|²/(8κV) [1/kg·s²], x the row about the centre of mass; times 1/h² in the weights of a step
    """

    inertia: Array
    strain: Array

    @classmethod
    def of(cls, stencils: Stencils, mass: Array, stiffness: Array, is_fixed: Indices) -> Compliance:
        """For bodies with moments M̂ (n, 4, 4) and stiffness κV (n,)."""
        inverse = np.linalg.inv(mass)
        centre = mass[:, 0, 1:] / mass[:, 0, :1]
        inertia, strain = np.zeros(stencils.count), np.zeros(stencils.count)
        for body, half in ((stencils.left, slice(0, 4)), (stencils.right, slice(4, 8))):
            w = stencils.W[:, :, half]
            x = w[:, :, 1:] - w[:, :, :1] * centre[body][:, None]
            free = is_fixed[body] == 0
            inertia += np.where(free, np.einsum("kri,kij,krj->k", w, inverse[body], w), 0.0)
            strain += np.where(free, (x**2).sum(axis=(1, 2)) / (8.0 * stiffness[body]), 0.0)
        return cls(inertia, strain)

    @classmethod
    def rigid(cls, inertia: Array) -> Compliance:
        """Of rows that give way by the motion of their bodies, and get the least weight; inertia (k,) as above."""
        return cls(inertia, np.full_like(inertia, np.inf))

    @classmethod
    def joined(cls, parts: Sequence[Compliance]) -> Compliance:
        """Of several sets of rows, one after the other."""
        return cls(
            *(np.concatenate([np.zeros(0), *(getattr(p, name) for p in parts)]) for name in ("inertia", "strain"))
        )

    def weights(self, h: float) -> Array:
        """K (k,) [kg] for steps of length h.

        Where a row can only give way by straining its bodies, as in loops that are over-constrained, it has to be
        stiffer than they are.
        """
        moves = self.inertia > 0.0  # rows between fixed bodies hold nothing
        inertia = np.where(moves, self.inertia, 1.0)
        stiff = _STIFFER * h * h / np.where(self.strain > 0.0, self.strain, np.inf)
        K: Array = np.where(moves, np.clip(stiff, _GAMMA[0] / inertia, _GAMMA[1] / inertia), 0.0)
        return K
