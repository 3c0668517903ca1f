"""Motions of bodies as if they were rigid: the momentum of rows (n, 4, 3), and the rows of a momentum.

Six numbers a body: acceleration (or velocity) of its centre of mass, and torque (or angular momentum) about it. Torques
and not spins, since they stay what they are in the world when a body turns.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.assembly.start import turn_of
from dovetail.typing import Array

__all__ = ["rigid", "rows_of"]


@kernel
def rigid(mass: Array, Q: Array, A: Array, out: Array) -> None:
    """out (n, 6) ← acceleration of the centre of mass, and torque about it, of bodies that move with A (n, 4, 3)."""
    for b in range(len(Q)):
        m = mass[b, 0, 0]
        for x in range(3):
            out[b, x] = A[b, 0, x]
            for k in range(1, 4):
                out[b, x] += mass[b, 0, k] / m * A[b, k, x]
        for x in range(3):
            y, z = (x + 1) % 3, (x + 2) % 3
            out[b, 3 + x] = 0.0
            for i in range(1, 4):
                for j in range(1, 4):
                    S = mass[b, i, j] - mass[b, 0, i] * mass[b, 0, j] / m
                    out[b, 3 + x] += S * (Q[b, i, y] * A[b, j, z] - Q[b, i, z] * A[b, j, y])


@kernel
def rows_of(mass: Array, Q: Array, w: Array, out: Array) -> None:
    """out (n, 4, 3) ← rows of rigid bodies that w (n, 6) moves: the inverse of `rigid`."""
    S, turn, r = np.empty((3, 3)), np.empty(3), np.empty((3, 3))
    for b in range(len(Q)):
        for k in range(3):
            for x in range(3):
                # ½ τ × a_k on row k has the torque τ
                y, z = (x + 1) % 3, (x + 2) % 3
                r[k, x] = 0.5 * (w[b, 3 + y] * Q[b, 1 + k, z] - w[b, 3 + z] * Q[b, 1 + k, y])
        turn_of(mass, Q, b, r, S, turn)
        for x in range(3):
            y, z = (x + 1) % 3, (x + 2) % 3
            out[b, 0, x] = w[b, x]
            for k in range(1, 4):
                out[b, k, x] = turn[y] * Q[b, k, z] - turn[z] * Q[b, k, y]
                out[b, 0, x] -= mass[b, 0, k] / mass[b, 0, 0] * out[b, k, x]
