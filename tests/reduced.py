"""Mechanisms in reduced coordinates, solved to ten digits: a reference that shares nothing with the solver.

    Σ Jᵀ M̂ (J q̈ + (∂J/∂q q̇) q̇) = f(q, q̇) + Cᵀλ,    c(q) = 0,    J = ∂Q/∂q,  C = ∂c/∂q

Q(q) (n, 4, 3) are the poses of rigid bodies as functions of a few angles and lengths, whose kinetic energy with M̂ is
that of rigid bodies; c closes loops, where rows may depend on each other. Derivatives are by complex steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

__all__ = ["Reduced", "slope", "turn"]

_TINY = 1e-30  # of a complex step, whose error is of the order of its square
_STEP = 1e-5  # of a central difference: it leaves 1e-10


def turn(axis: Any, angle: Any) -> np.ndarray:
    """Rotation about a unit vector, for complex angles too."""
    x, y, z = axis
    S = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * S + (1.0 - np.cos(angle)) * (S @ S)


def slope(function: Callable[[np.ndarray], Any], q: np.ndarray) -> np.ndarray:
    """Derivative (values, k) of a function of q (k,)."""
    return np.stack([np.imag(np.ravel(function(q + 1j * _TINY * e))) / _TINY for e in np.eye(len(q))], axis=1)


@dataclass(frozen=True)
class Reduced:
    """poses(q) → (n, 4, 3), mass (n, 4, 4), force(q, q̇) → (k,), closure(q) → (c,) or None."""

    poses: Callable[[np.ndarray], np.ndarray]
    mass: np.ndarray
    force: Callable[[np.ndarray, np.ndarray], np.ndarray]
    closure: Callable[[np.ndarray], np.ndarray] | None = None

    @staticmethod
    def _bend(function: Callable[[np.ndarray], Any], q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """(∂J/∂q v) v."""
        d = _STEP / max(1.0, float(np.abs(v).max()))
        return (slope(function, q + d * v) - slope(function, q - d * v)) @ v / (2 * d)

    def acceleration(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        J = slope(self.poses, q)
        MJ = np.einsum("nij,njxk->nixk", self.mass, J.reshape(len(self.mass), 4, 3, -1)).reshape(J.shape)
        M = J.T @ MJ
        free = np.linalg.solve(M, self.force(q, v) - MJ.T @ self._bend(self.poses, q, v))
        if self.closure is None:
            return free
        C, L = slope(self.closure, q), np.linalg.inv(np.linalg.cholesky(M)).T
        lacking = self._bend(self.closure, q, v) + C @ free
        return free - L @ np.linalg.lstsq(C @ L, lacking, rcond=1e-7)[0]

    def run(self, q: Any, v: Any, times: Sequence[float], method: str = "DOP853") -> np.ndarray:
        """q (times, k) of the motion that starts at q with the velocity v."""
        k = len(q)
        found = solve_ivp(
            lambda _, s: np.concatenate([s[k:], self.acceleration(s[:k], s[k:])]), (0.0, times[-1]),
            np.concatenate([q, v]), method, times, rtol=1e-10, atol=1e-12,
        )  # fmt: skip
        assert found.success
        return np.asarray(found.y[:k].T)
