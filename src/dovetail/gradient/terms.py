"""Adjoint of users' energies ψ(F; p): gradients by their parameters, by differences of ∇ψ, and by the weights of F."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.joint.function import call_energy
from dovetail.solver.joint.stencil import gather
from dovetail.typing import Array, Indices

__all__ = ["term_adjoints"]

_SHARE = 1e-4  # step of differences, relative to a parameter


@kernel
def term_adjoints(
    psi: Any, left: Indices, right: Indices, W: Array, p: Array, Q: Array, y: Array, p_bar: Array, W_bar: Array
) -> None:
    """p_bar (k, q) ← −∂/∂p, W_bar (k, m, 8) ← −∂/∂W of ∇ψ(F; p)·W y at F = W Q."""
    n = 3 * W.shape[1]
    F, dF, g, H, room = np.empty(n), np.empty(n), np.empty(n), np.empty(n * n), np.empty((1, p.shape[1]))
    for k in range(len(left)):
        gather(W, k, left[k], right[k], Q, F)
        gather(W, k, left[k], right[k], y, dF)
        for q in range(p.shape[1]):
            h = _SHARE * (abs(p[k, q]) if p[k, q] != 0.0 else 1.0)
            total = 0.0
            for shift, weight in ((1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0)):
                for j in range(p.shape[1]):
                    room[0, j] = p[k, j]
                room[0, q] += shift * h
                g[:] = 0.0
                H[:] = 0.0
                call_energy(psi, F, room, 0, 0.0, g, H)
                for i in range(n):
                    total += weight * g[i] * dF[i]
            p_bar[k, q] = -total / (12.0 * h)
        g[:] = 0.0
        H[:] = 0.0
        call_energy(psi, F, p, k, 1.0, g, H)
        for r in range(n):
            turn = 0.0
            for i in range(n):
                turn += H[n * r + i] * dF[i]
            row, z = r // 3, r % 3
            for e in range(4):
                if z == 0:
                    W_bar[k, row, e] = 0.0
                    W_bar[k, row, 4 + e] = 0.0
                W_bar[k, row, e] -= turn * Q[left[k], e, z] + g[r] * y[left[k], e, z]
                W_bar[k, row, 4 + e] -= turn * Q[right[k], e, z] + g[r] * y[right[k], e, z]
