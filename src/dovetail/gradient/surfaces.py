"""Gradients by vertices of surfaces that touch, and by points of half-planes.

A contact depends on the positions X_v = (1, V_v) Q of its vertices alone. With weights w_p of the vertices in the rows
c, c₁, c₂ (touching.py) what acts on a row acts on vertices: X̄_v = Σ w_pv ȳ_p. A vertex in its body gets V̄_j = X̄_v·a_j,
and what x·g has of it directly. Nearly parallel edges, whose mollifier has a width of its own, have no gradient: NaN.
"""

from __future__ import annotations

import numpy as np

from dovetail.gradient.barriers import set_barrier
from dovetail.gradient.touching import Touching, set_weights
from dovetail.kernel.kernel import kernel
from dovetail.solver.contact.barrier import barrier
from dovetail.solver.contact.kinds import D_HAT, KIND, POINT_PLANE, THICKNESS, X0, corners_of, split_of
from dovetail.solver.contact.scene import ContactScene
from dovetail.typing import Array

__all__ = ["add_barrier_shapes", "add_friction_shapes", "add_row_shapes"]


@kernel
def _add(
    t: Touching, scene: ContactScene, k: int, states: tuple[Array, Array, Array], by: tuple[Array, Array, Array],
    w: Array, V_bar: Array, P_bar: Array,
) -> None:  # fmt: skip
    """V_bar, P_bar −= derivatives of contact k.

    by[0] (3, 3) is that of the images of c, c₁, c₂ at states[0]; by[1] and by[2] (3,) those of the images of c at
    states[1] and states[2], through its vertices alone.
    """
    kind, bent = t.pairs[k, KIND], t.slope[k] > 0.0
    set_weights(t, scene, k, w)
    for i in range(corners_of(kind)):
        b = t.bodies[k, 0 if i < split_of(kind) else 1]
        at = t.pairs[k, X0 + i] - scene.x_base[b]
        for j in range(3):
            total = np.nan if bent else 0.0
            for x in range(3):
                pull = w[0, i] * by[0][0, x] + w[1, i] * by[0][1, x] + w[2, i] * by[0][2, x]
                total += pull * states[0][b, 1 + j, x]
                total += w[0, i] * (by[1][x] * states[1][b, 1 + j, x] + by[2][x] * states[2][b, 1 + j, x])
            V_bar[at, j] -= total
    if kind == POINT_PLANE:
        for x in range(3):
            P_bar[t.pairs[k, X0 + 1], x] += by[0][0, x]


@kernel
def add_barrier_shapes(t: Touching, scene: ContactScene, Q: Array, y: Array, V_bar: Array, P_bar: Array) -> None:
    """V_bar (v, 3), P_bar (p, 3) −= derivatives of y·∇ of the barriers at Q, where the contacts are."""
    rows, M, z, by, w = np.zeros((5, 8)), np.zeros((5, 5, 3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 4))
    push, none = np.empty(3), np.zeros(3)
    for k in range(len(t.D)):
        _, first, second = barrier(t.D[k], t.numbers[k, THICKNESS], t.numbers[k, D_HAT])
        set_barrier(t, k, first, second, rows, M)
        for p in range(3):
            for x in range(3):
                z[p, x] = by[p, x] = 0.0
                for i in range(8 if t.bodies[k, 1] >= 0 else 4):
                    z[p, x] += rows[p, i] * y[t.bodies[k, i // 4], i % 4, x]
        for p in range(3):
            for x in range(3):
                push[x] = 2.0 * t.weight[k] * t.kappa[k] * first * t.r[k, x]
                for q in range(3):
                    for s in range(3):
                        by[p, x] += M[p, q, x, s] * z[q, s]
        _add(t, scene, k, (Q, y, y), (by, push, none), w, V_bar, P_bar)


@kernel
def add_friction_shapes(
    t: Touching, scene: ContactScene, Q: Array, move: Array, y: Array, parts: Array, V_bar: Array, P_bar: Array
) -> None:
    """The same of friction that lags from Q, after the motion move (n, 4, 3); parts (k, 5, 3) are those of `_lag`."""
    w = np.empty((3, 4))
    for k in range(len(t.D)):
        _add(t, scene, k, (Q, y, move), (parts[k, :3], parts[k, 3], parts[k, 4]), w, V_bar, P_bar)


@kernel
def add_row_shapes(t: Touching, scene: ContactScene, by: Array, shift: Array, V_bar: Array, P_bar: Array) -> None:
    """V_bar, P_bar += derivatives of what has those by c, c₁, c₂ (k, 3, 8), and by points of half-planes (k, 3)."""
    w = np.empty((3, 4))
    for k in range(len(t.D)):
        kind, bent = t.pairs[k, KIND], t.slope[k] > 0.0
        set_weights(t, scene, k, w)
        for i in range(corners_of(kind)):
            side = 0 if i < split_of(kind) else 1
            at = t.pairs[k, X0 + i] - scene.x_base[t.bodies[k, side]]
            for j in range(3):
                total = np.nan if bent else 0.0
                for p in range(3):
                    total += w[p, i] * by[k, p, 4 * side + 1 + j]
                V_bar[at, j] += total
        if kind == POINT_PLANE:
            for x in range(3):
                P_bar[t.pairs[k, X0 + 1], x] += shift[k, x]
