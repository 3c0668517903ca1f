"""Trees of joints with one coordinate each: how bodies move with coordinates and rates.

Joint j moves all that hangs on it by a screw motion, which is the same at all times as its child sees it: about the
axis A w̄ through c = (1, c̄) Q, and along A ū. As a twist ξ = (v, w) of the world's origin, for a unit rate of the
coordinate, bodies beyond the joint have

    ∂Q/∂q_j = ξ_j∘Q      ∂V/∂q_j = ξ_j∘V + η_j∘Q      ∂V/∂q̇_j = ξ_j∘Q          η_j = [ν, ξ_j]

with ν the twist of the parent, ξ∘Q = (v + w × p, w × a_i) and ξ∘V = w × V: the state turns with its joint.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import Record, f8, i8
from dovetail.solver.joint.coordinates import Coordinates, coordinate_at, gather_rows, pull_back_slope
from dovetail.typing import Array, Indices

__all__ = ["Screws", "lifted", "set_twists"]


class Screws(Record):
    """Joints (m,) of trees, from the roots on.

    child, parent (m,)    bodies
    row, number (m,)      the coordinate among those of the solver, and among the chosen ones; −1 without
    axis, point, along    w̄, c̄, ū (m, 3) in the child
    chosen (k,)           the chosen coordinates among those of the solver
    """

    child: Indices = i8(1)
    parent: Indices = i8(1)
    row: Indices = i8(1)
    number: Indices = i8(1)
    axis: Array = f8(2)
    point: Array = f8(2)
    along: Array = f8(2)
    chosen: Indices = i8(1)


@kernel
def _set_cross(a: Array, b: Array, out: Array) -> None:
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@kernel
def _set_twist_of(Q: Array, V: Array, b: int, nu: Array) -> None:
    """nu (6) ← the twist of a body that moves as V."""
    turn = np.empty(3)
    for x in range(3):
        nu[3 + x] = 0.0
    for i in range(1, 4):
        _set_cross(Q[b, i], V[b, i], turn)
        for x in range(3):
            nu[3 + x] += 0.5 * turn[x]
    _set_cross(nu[3:], Q[b, 0], turn)
    for x in range(3):
        nu[x] = V[b, 0, x] - turn[x]


@kernel
def set_twists(s: Screws, c: Coordinates, Q: Array, V: Array, nu: Array, xi: Array, eta: Array) -> None:
    """xi, eta (k, 6) ← ξ, η of the chosen coordinates at Q, V; nu (n, 6) ← twists of the bodies on the trees."""
    size = 3 * c.widest
    F, dx, d2x, J = np.empty(size), np.empty(size), np.zeros(size * size), np.empty((2, 12))
    known, here = np.zeros(len(Q), np.bool_), np.zeros(6)
    turn, at, slip = np.empty(3), np.empty(3), np.empty(3)
    for t in range(len(s.child)):
        b, p, k = s.child[t], s.parent[t], s.row[t]
        if not known[p]:
            _set_twist_of(Q, V, p, nu[p])
            known[p] = True
        known[b] = True
        for i in range(6):
            nu[b, i] = nu[p, i]
        if k < 0:
            continue
        for x in range(3):
            here[3 + x] = slip[x] = 0.0
            at[x] = Q[b, 0, x]
            for i in range(3):
                here[3 + x] += s.axis[t, i] * Q[b, 1 + i, x]
                slip[x] += s.along[t, i] * Q[b, 1 + i, x]
                at[x] += s.point[t, i] * Q[b, 1 + i, x]
        _set_cross(at, here[3:], turn)
        for x in range(3):
            here[x] = turn[x] + slip[x]
        n = gather_rows(c, k, Q, F)
        coordinate_at(c, k, 0.0, F, n, dx, d2x)
        pull_back_slope(c, k, dx, J)
        rate, unit, side = 0.0, 0.0, 0 if c.left[k] == b else 1
        for i in range(4):
            _set_cross(here[3:], Q[b, i], turn)
            for x in range(3):
                unit += J[side, 3 * i + x] * (turn[x] + (here[x] if i == 0 else 0.0))
                rate += J[0, 3 * i + x] * V[c.left[k], i, x] + J[1, 3 * i + x] * V[c.right[k], i, x]
        for i in range(6):
            here[i] /= unit
            nu[b, i] += rate * here[i]
        j = s.number[t]
        if j >= 0:
            for i in range(6):
                xi[j, i] = here[i]
            _set_cross(nu[p, 3:], here[3:], turn)
            _set_cross(nu[p, 3:], here[:3], at)
            _set_cross(here[3:], nu[p, :3], slip)
            for x in range(3):
                eta[j, 3 + x] = turn[x]
                eta[j, x] = at[x] - slip[x]


def lifted(s: Screws, c: Coordinates, Q: Array, V: Array) -> tuple[Array, Array]:
    """∂Q/∂q and ∂V/∂q (k, n, 4, 3) of the chosen coordinates; ∂V/∂q̇ is the first again."""
    k, n = len(s.chosen), len(Q)
    xi, eta, T, W = np.zeros((k, 6)), np.zeros((k, 6)), np.zeros((k, n, 4, 3)), np.zeros((k, n, 4, 3))
    set_twists(s, c, Q, V, np.zeros((n, 6)), xi, eta)
    moved = np.zeros((k, n), np.bool_)  # whether a coordinate moves a body
    for child, parent, number in zip(s.child, s.parent, s.number, strict=True):
        moved[:, child] = moved[:, parent]
        if number >= 0:
            moved[number, child] = True
    for j, b in np.argwhere(moved):
        T[j, b], W[j, b] = np.cross(xi[j, 3:], Q[b]), np.cross(xi[j, 3:], V[b]) + np.cross(eta[j, 3:], Q[b])
        T[j, b, 0] += xi[j, :3]
        W[j, b, 0] += eta[j, :3]
    return T, W
