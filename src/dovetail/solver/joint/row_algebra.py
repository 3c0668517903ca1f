"""What rows of joints do beside energies: products with J for exact ones, reactions, and the start of a step.

Values (·, 3) of exact rows begin with the first of them, at the place `first` of an array over all constraints.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.joint.rows import Rows, across, cross, point_gap, set_slope, value_of
from dovetail.solver.joint.stencil import gather, pull_back_gradient
from dovetail.solver.natural import natural
from dovetail.typing import Array, Indices

__all__ = ["add_row_forces", "apply_rows", "bend_rows", "curve_rows", "measure_rows", "pull_back_rows", "start_forces"]


@kernel
def _change(at: Array, dF: Array, a: int) -> float:
    """Component a of J dF: the vector itself, or δu × v + u × δv with u, v in `at`."""
    if len(dF) == 3:
        return dF[a]
    i, j = (a + 1) % 3, (a + 2) % 3
    return dF[i] * at[3 + j] - dF[j] * at[3 + i] + at[i] * dF[3 + j] - at[j] * dF[3 + i]


@kernel
def measure_rows(rows: Rows, active: Indices, Q: Array, y: Array, first: int, out: Array) -> float:
    """out[first …] ← C(Q − y) of exact rows, 0 where no body is active; the largest component."""
    n = 3 * rows.W.shape[1]
    F, dF = np.empty(n), np.empty(n)
    left, right, W, at = rows.left, rows.right, rows.W, rows.at
    largest, step = 0.0, y.reshape((len(y), 4, 3))
    for k in range(rows.exact, len(left)):
        row = first + k - rows.exact
        if not (active[left[k]] or active[right[k]]):
            for a in range(3):
                out[row, a] = 0.0
            continue
        gather(W, k, left[k], right[k], Q, F)
        gather(W, k, left[k], right[k], step, dF)
        for i in range(n):
            F[i] -= dF[i]
        for a in range(3):
            out[row, a] = value_of(F, a)
        across(at, k, out, row)
        for a in range(3):
            if not abs(out[row, a]) <= largest:
                largest = abs(out[row, a])
    return largest


@kernel
def apply_rows(rows: Rows, active: Indices, y: Array, first: int, out: Array) -> None:
    """out[first …] ← J y of exact rows, 0 where no body is active."""
    left, right, W, at, step = rows.left, rows.right, rows.W, rows.at, y.reshape((len(y), 4, 3))
    if W.shape[1] == 1:
        for k in range(rows.exact, len(left)):
            k = natural(k)
            row, i, j = natural(first + k - rows.exact), natural(left[k]), natural(right[k])
            u, v, w = point_gap(W, k, i, j, step) if active[i] or active[j] else (0.0, 0.0, 0.0)
            out[row, 0], out[row, 1], out[row, 2] = u, v, w
        return
    if rows.exact == len(left):
        return
    dF = np.empty(6)
    for k in range(rows.exact, len(left)):
        row = first + k - rows.exact
        moves = active[left[k]] or active[right[k]]
        if moves:
            gather(W, k, left[k], right[k], step, dF)
        for a in range(3):
            out[row, a] = _change(at[k], dF, a) if moves else 0.0
        across(at, k, out, row)


@kernel
def pull_back_rows(rows: Rows, values: Array, first: int, g: Array) -> None:
    """g += Jᵀ values[first …] of exact rows."""
    if rows.W.shape[1] == 1:
        _pull_back_points(rows, values, first, g)
        return
    if rows.exact == len(rows.left):
        return
    gF, pull = np.empty(6), np.empty((1, 3))
    for k in range(rows.exact, len(rows.left)):
        for a in range(3):
            pull[0, a] = values[first + k - rows.exact, a]
        across(rows.at, k, pull, 0)
        set_slope(rows.at[k], pull[0], gF)
        pull_back_gradient(rows.W, k, rows.left[k], rows.right[k], gF, g)


@kernel
def _pull_back_points(rows: Rows, values: Array, first: int, g: Array) -> None:
    """The same of points, in registers: corrections of joints are little else."""
    W = rows.W
    for k in range(rows.exact, len(rows.left)):
        k = natural(k)
        left, right, row = natural(rows.left[k]), natural(rows.right[k]), natural(first + k - rows.exact)
        x, y, z = values[row, 0], values[row, 1], values[row, 2]
        for i in range(4):
            g[left, 3 * i] += W[k, 0, i] * x
            g[left, 3 * i + 1] += W[k, 0, i] * y
            g[left, 3 * i + 2] += W[k, 0, i] * z
        for i in range(4):
            g[right, 3 * i] += W[k, 0, 4 + i] * x
            g[right, 3 * i + 1] += W[k, 0, 4 + i] * y
            g[right, 3 * i + 2] += W[k, 0, 4 + i] * z


@kernel
def start_forces(rows: Rows, held: Indices, h: float, V: Array, x: Array, mu: Array, first: int, out: Array) -> None:
    """out (k, 3) ← λ/h² in the acceleration −x/h² of a start with V, of rows on held bodies; 0 of others.

    Of exact rows that is mu[first …]/h², of penalties K (C + J δ + c)/h² for the step δ = −x with its curvature c.
    """
    n = 3 * rows.W.shape[1]
    dF, rate, scale, step = np.empty(n), np.empty(n), 1.0 / (h * h), x.reshape((len(x), 4, 3))
    for k in range(len(rows.left)):
        left, right, at = rows.left[k], rows.right[k], rows.at[k]
        on = held[left] or held[right]
        if on and k < rows.exact:
            gather(rows.W, k, left, right, step, dF)
            gather(rows.W, k, left, right, V, rate)
        for a in range(3):
            value = 0.0
            if on and k >= rows.exact:
                value = mu[first + k - rows.exact, a] * scale
            elif on and n == 3:
                value = rows.K[k] * (rows.C[k, a] - dF[a]) * scale
            elif on:
                value = rows.K[k] * ((rows.C[k, a] - _change(at, dF, a)) * scale + 2.0 * cross(rate, a))
            out[k, a] = value


@kernel
def add_row_forces(rows: Rows, h: float, Q: Array, carried: Array, out: Array) -> None:
    """out[joint] (4, 3) −= generalised force [N, N·m] on the right body at Q after a step of length h.

    carried (k, 3) is what rows exert besides their λ, see held.py.
    """
    W, n = rows.W, 3 * rows.W.shape[1]
    F, gF, pull = np.empty(n), np.empty(n), np.empty(3)
    for k in range(len(rows.left)):
        joint = rows.joint[k]
        if n == 3:
            # in registers: reactions of long chains are little else
            x, y, z = rows.force[k, 0], rows.force[k, 1], rows.force[k, 2]
            if k < rows.exact:
                x, y, z = point_gap(W, k, rows.left[k], rows.right[k], Q)
                scale = rows.K[k] / (h * h)
                x, y, z = scale * x, scale * y, scale * z
            x, y, z = x + carried[k, 0], y + carried[k, 1], z + carried[k, 2]
            for i in range(4):
                out[joint, i, 0] -= W[k, 0, 4 + i] * x
                out[joint, i, 1] -= W[k, 0, 4 + i] * y
                out[joint, i, 2] -= W[k, 0, 4 + i] * z
            continue
        gather(W, k, rows.left[k], rows.right[k], Q, F)
        for a in range(3):
            pull[a] = rows.force[k, a] if k >= rows.exact else rows.K[k] * value_of(F, a) / (h * h)
            pull[a] += carried[k, a]
        set_slope(F, pull, gF)
        for r in range(2):
            for i in range(4):
                for a in range(3):
                    out[joint, i, a] -= W[k, r, 4 + i] * gF[3 * r + a]


@kernel
def bend_rows(rows: Rows, V: Array, scale: float, first: int, out: Array) -> None:
    """out[first …] ← scale · (∂J/∂Q V) V = scale · 2 u̇ × v̇ of exact rows, across v; 0 of points."""
    F = np.empty(3 * rows.W.shape[1])
    for k in range(rows.exact, len(rows.left)):
        row = first + k - rows.exact
        if len(F) == 6:
            gather(rows.W, k, rows.left[k], rows.right[k], V, F)
        for a in range(3):
            out[row, a] = 2.0 * scale * cross(F, a) if len(F) == 6 else 0.0
        across(rows.at, k, out, row)


@kernel
def curve_rows(rows: Rows, V: Array, h: float, g: Array) -> None:
    """g += h² ∇³E[Ḟ, Ḟ] of penalty slides as linearised, with the part of Ḟ that they do not resist.

    A filtered rate still has a little of what the term resists, which its stiffness would blow up: that is left out.
    With C(F + δ) = C + Jδ + c, c = δu × δv, it is twice what pulls back K c by J and K Jδ by the change of J.
    """
    if rows.W.shape[1] == 1 or rows.exact == 0:
        return
    F, c, change, gF, total = np.empty(6), np.empty(3), np.empty(3), np.empty(6), np.empty(6)
    for k in range(rows.exact):
        at, K = rows.at[k], rows.K[k]
        gather(rows.W, k, rows.left[k], rows.right[k], V, F)
        _keep_unresisted(rows.at, k, F)
        for i in range(6):
            F[i] *= h
        for a in range(3):
            c[a] = 2.0 * K * cross(F, a)
            change[a] = 2.0 * K * _change(at, F, a)
        set_slope(at, c, gF)
        set_slope(F, change, total)
        for i in range(6):
            total[i] += gF[i]
        pull_back_gradient(rows.W, k, rows.left[k], rows.right[k], total, g)


@kernel
def _keep_unresisted(at: Array, k: int, F: Array) -> None:
    """F (6) ← the part of a rate (u̇, v̇) with J F = 0 that is nearest to it: F − Jᵀ(JJᵀ)⁺J F, J taken across v.

    J Jᵀ = (|v|² + |u|²) 1 − v vᵀ − u uᵀ is |u|² + |v|² on what is across both, and u is along v where a slide is
    closed.
    """
    square = 0.0
    for i in range(6):
        square += at[k, i] * at[k, i]
    value, gF = np.empty((1, 3)), np.empty(6)
    for a in range(3):
        value[0, a] = _change(at[k], F, a) / square
    across(at, k, value, 0)
    set_slope(at[k], value[0], gF)
    for i in range(6):
        F[i] -= gF[i]
