"""Adjoint of bodies: their shapes, and what a step of a linear multistep method does with states and accelerations."""

from __future__ import annotations

import numpy as np

from dovetail.solver.bodies import ORTHO, Bodies
from dovetail.typing import Array

__all__ = ["shape_gradients"]


def shape_gradients(bodies: Bodies, Q: Array) -> Array:
    """∂s/∂Q (n, 4, 3) of the shape energies s with stiffness 1: ‖AᵀA − 1‖², or ‖A − R‖² of ARAP."""
    A, out = Q[:, 1:], np.zeros_like(Q)
    out[:, 1:] = 4.0 * (A @ A.swapaxes(1, 2) - np.eye(3)) @ A
    others = bodies.model != ORTHO
    if others.any():
        U, _, Vt = np.linalg.svd(A[others])
        U[:, :, -1] *= np.linalg.det(U @ Vt)[:, None]
        out[others, 1:] = 2.0 * (A[others] - U @ Vt)
    return out
