"""Rows of the Jacobians of a step in joint coordinates, twelve at a time, where bodies form trees.

Coordinates x(Q) and rates ∇x·V after a step are two rows each. Their adjoints at its end, q + δ v/h, are the right-hand
sides of its matrix; the solution y has by the state at its start, with moves as in screws.py,

    by Qₙ: α₀ c M y + δ₀ v/h,     by Vₙ: h β₀ c M y,     by forces: σ h² c y

which is gathered on each body as a wrench, summed over what hangs on a joint, and multiplied by its twists.
"""

from __future__ import annotations

import numpy as np

from dovetail.gradient.forest import Forest, solve_forest
from dovetail.gradient.screws import Screws
from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import Record, f8, i8
from dovetail.solver.bodies import Bodies
from dovetail.solver.joint.coordinates import Coordinates, coordinate_at, gather_rows, pull_back_slope
from dovetail.solver.linear.block12 import subtract_product, subtract_transposed_times
from dovetail.solver.load.joint_torque import twist_body
from dovetail.typing import Array, Indices

__all__ = ["Room", "Start", "set_loads", "set_rows", "set_slopes"]

_AT_ONCE = 6  # coordinates of which twelve rows are


class Start(Record):
    """What a step begins with: Q, V, forces F of joints (n, 4, 3), coefficients (n, 9) of adjoint.py, weights c."""

    Q: Array = f8(3)
    V: Array = f8(3)
    F: Array = f8(3)
    table: Array = f8(2)
    c: Array = f8(1)


class Room(Record):
    """Of k coordinates and n bodies.

    xi, eta (k, 6), nu (n, 6)       twists (screws.py)
    J, bend (k, 2, 12)              ∇x and ∇(∇x·V) after the step, on the left and right bodies
    push, late (k, 2, 12)           forces on both by a unit effort, and what they turn less than their joint
    is_left (k,)                    whether the left body is the child of the joint
    brake (k,)                      ∂/∂xₙ of the force of laws that depend on the rate
    Y, X, Z, E (n, 12, 12)          right-hand sides, solutions, wrenches by Q and by V, and what makes these of those
    weights (6k, 12)                of Z for A by q and by v; of X on the left and right bodies for A, and for B
    rows (3k, 12)                   of A and B by columns, of six coordinates: those of q (k), v (k), u (k)
    """

    xi: Array = f8(2)
    eta: Array = f8(2)
    nu: Array = f8(2)
    J: Array = f8(3)
    bend: Array = f8(3)
    push: Array = f8(3)
    late: Array = f8(3)
    is_left: Indices = i8(1)
    brake: Array = f8(1)
    Y: Array = f8(3)
    X: Array = f8(3)
    Z: Array = f8(3)
    E: Array = f8(3)
    filled: Indices = i8(1)
    weights: Array = f8(2)
    rows: Array = f8(2)

    def __init__(self, k: int, n: int) -> None:
        shapes: dict[str, tuple[int, ...]] = {"xi": (k, 6), "eta": (k, 6), "nu": (n, 6), "brake": (k,)}
        shapes |= dict.fromkeys(("J", "bend", "push", "late"), (k, 2, 12)) | dict.fromkeys("YXZE", (n, 12, 12))
        shapes |= {"weights": (6 * k, 12), "rows": (3 * k, 12)}
        made = {name: np.zeros(shape) for name, shape in shapes.items()}
        super().__init__(**made, filled=np.zeros(n, np.int64), is_left=np.zeros(k, np.int64))


@kernel
def set_slopes(c: Coordinates, chosen: Indices, Q: Array, V: Array, room: Room) -> None:
    """J, bend ← ∇x and ∇(∇x·V) of the chosen coordinates at Q."""
    size = 3 * c.widest
    F, dF, dx, d2x, turn = np.empty(size), np.empty(size), np.empty(size), np.zeros(size * size), np.empty(size)
    for j in range(len(chosen)):
        k = chosen[j]
        n = gather_rows(c, k, Q, F)
        gather_rows(c, k, V, dF)
        coordinate_at(c, k, 1.0, F, n, dx, d2x)
        for r in range(n):
            turn[r] = 0.0
            for a in range(n):
                turn[r] += d2x[n * r + a] * dF[a]
        pull_back_slope(c, k, dx, room.J[j])
        pull_back_slope(c, k, turn, room.bend[j])


@kernel
def set_loads(
    left: Indices, right: Indices, W: Array, values: Array, turns: bool, of: Indices, Q: Array, room: Room
) -> None:
    """push[of[k]] (2, 12) ← forces at Q of a unit force or torque on joint k (solver/load/), where of[k] ≥ 0.

    late ← what the force by `values` on the child changes less than turning with it, by the axis of the parent, which
    stays: for torques −¼τ (w × e) × R, nothing where the axes agree.
    """
    axis, part, own = np.empty(3), np.empty((2, 3)), np.empty(3)
    for k in range(len(left)):
        j = of[k]
        if j < 0:
            continue
        F, late = room.push[j].reshape((2, 4, 3)), room.late[j].reshape((2, 4, 3))
        for side in range(2):
            for i in range(4):
                for x in range(3):
                    F[side, i, x] = late[side, i, x] = 0.0
        for x in range(3):
            axis[x] = 0.0
        for r in range(W.shape[1]):
            length = 0.0
            for x in range(3):
                part[r, x] = 0.0
                for i in range(4):
                    part[r, x] += W[k, r, i] * Q[left[k], i, x] + W[k, r, 4 + i] * Q[right[k], i, x]
                length += part[r, x] * part[r, x]
            for x in range(3):
                if turns:
                    part[r, x] /= np.sqrt(length)
                axis[x] += 0.5 * part[r, x] if turns else part[r, x]
        if turns:
            twist_body(0, -0.5, axis, Q[left[k] : left[k] + 1], F[:1])
            twist_body(0, 0.5, axis, Q[right[k] : right[k] + 1], F[1:])
            child = 0 if room.is_left[j] else 1
            w, e, b = room.xi[j, 3:], part[1 - child], right[k] if child else left[k]
            for x in range(3):
                y, z = (x + 1) % 3, (x + 2) % 3
                own[x] = w[y] * e[z] - w[z] * e[y]
            twist_body(0, (0.25 - 0.5 * child) * values[k], own, Q[b : b + 1], late[child : child + 1])
        else:
            for x in range(3):
                F[0, 0, x], F[1, 0, x] = -axis[x], axis[x]


@kernel
def _clear(A: Array, b: int) -> None:
    for i in range(12):
        for r in range(12):
            A[b, i, r] = 0.0


@kernel
def _seed(c: Coordinates, s: Screws, bodies: Bodies, table: Array, h: float, first: int, room: Room) -> None:
    """Y ← adjoints of the end for the coordinates from `first` on."""
    Y, J, bend = room.Y, room.J, room.bend
    for b in range(len(Y)):
        room.filled[b] = 0
        _clear(Y, b)
    for j in range(first, min(first + _AT_ONCE, len(s.chosen))):
        r = 2 * (j - first)
        for side in range(2):
            b = c.right[s.chosen[j]] if side else c.left[s.chosen[j]]
            if bodies.is_free[b]:
                room.filled[b] = 1
                for i in range(12):
                    Y[b, i, r] += J[j, side, i]
                    Y[b, i, r + 1] += bend[j, side, i] + table[b, 5] / h * J[j, side, i]


@kernel
def _add_moment(i: int, arm: Array, at: int, E: Array) -> None:
    """Columns at … of E −= what makes arm × y_i of a solution y."""
    for x in range(3):
        y, z = (x + 1) % 3, (x + 2) % 3
        E[3 * i + z, at + x] -= arm[y]
        E[3 * i + y, at + x] += arm[z]


@kernel
def _set_gathering(bodies: Bodies, start: Start, h: float, b: int, E: Array) -> None:
    """E (12, 12) ← −Eᵀ takes the solution of a body to its wrenches, (force, moment) by Q and by V."""
    a0, b0, sigma, c = start.table[b, 0], h * start.table[b, 2], h * h * start.table[b, 4], start.c[b]
    arm, of_V = np.empty(3), np.empty(3)
    for i in range(12):
        for r in range(12):
            E[i, r] = 0.0
    for i in range(4):
        for x in range(3):
            E[3 * i + x, x] = -a0 * c * bodies.mass[b, 0, i]
            E[3 * i + x, 6 + x] = -b0 * c * bodies.mass[b, 0, i]
            arm[x] = sigma * c * start.F[b, i, x]
            of_V[x] = 0.0
            for j in range(4):
                m = c * bodies.mass[b, j, i]
                arm[x] += m * (a0 * start.Q[b, j, x] + b0 * start.V[b, j, x])
                of_V[x] += m * b0 * start.Q[b, j, x]
        _add_moment(i, arm, 3, E)
        _add_moment(i, of_V, 9, E)


@kernel
def _set_weights(s: Screws, c: Coordinates, start: Start, h: float, room: Room) -> None:
    k, weights = len(s.chosen), room.weights
    for j in range(k):
        for i in range(6):
            weights[j, i], weights[j, 6 + i] = -room.xi[j, i], -room.eta[j, i]
            weights[k + j, i], weights[k + j, 6 + i] = 0.0, -room.xi[j, i]
        for side in range(2):
            b = c.right[s.chosen[j]] if side else c.left[s.chosen[j]]
            scale = h * h * start.table[b, 4] * start.c[b]
            for i in range(12):
                weights[(2 + side) * k + j, i] = room.brake[j] * room.J[j, side, i] - scale * room.late[j, side, i]
                weights[(4 + side) * k + j, i] = -scale * room.push[j, side, i]


@kernel
def _add_late(s: Screws, c: Coordinates, start: Start, h: float, first: int, room: Room) -> None:
    """Z += what rates after the step take from Qₙ itself, δ₀ v/h."""
    for j in range(first, min(first + _AT_ONCE, len(s.chosen))):
        r = 2 * (j - first) + 1
        for side in range(2):
            b = c.right[s.chosen[j]] if side else c.left[s.chosen[j]]
            scale, J = start.table[b, 6] / h, room.J[j, side]
            for x in range(3):
                y, z = (x + 1) % 3, (x + 2) % 3
                room.Z[b, x, r] += scale * J[x]
                for i in range(4):
                    turned = start.Q[b, i, y] * J[3 * i + z] - start.Q[b, i, z] * J[3 * i + y]
                    room.Z[b, 3 + x, r] += scale * turned


@kernel
def set_rows(
    forest: Forest, s: Screws, c: Coordinates, bodies: Bodies, start: Start, h: float, room: Room, A: Array, B: Array
) -> None:
    """A (2k, 2k), B (2k, k) ← Jacobians of a step, rows of coordinates before those of rates."""
    k, X, Z, rows, weights = len(s.chosen), room.X, room.Z, room.rows, room.weights
    _set_weights(s, c, start, h, room)
    for t in range(len(s.child)):
        _set_gathering(bodies, start, h, s.child[t], room.E[s.child[t]])
    for first in range(0, k, _AT_ONCE):
        _seed(c, s, bodies, start.table, h, first, room)
        solve_forest(forest, room.Y, X, room.filled)
        for t in range(len(s.child)):
            _clear(Z, s.parent[t])
            _clear(Z, s.child[t])
        for t in range(len(s.child)):
            subtract_product(Z, s.child[t], room.E, s.child[t], X, s.child[t])
        _add_late(s, c, start, h, first, room)
        for t in range(len(s.child) - 1, -1, -1):
            b, p, j = s.child[t], s.parent[t], s.number[t]
            if j >= 0:
                for r in range(12):
                    rows[j, r] = rows[k + j, r] = rows[2 * k + j, r] = 0.0
                left, right = c.left[s.chosen[j]], c.right[s.chosen[j]]
                subtract_transposed_times(rows, j, Z, b, weights, j)
                subtract_transposed_times(rows, k + j, Z, b, weights, k + j)
                subtract_transposed_times(rows, j, X, left, weights, 2 * k + j)
                subtract_transposed_times(rows, j, X, right, weights, 3 * k + j)
                subtract_transposed_times(rows, 2 * k + j, X, left, weights, 4 * k + j)
                subtract_transposed_times(rows, 2 * k + j, X, right, weights, 5 * k + j)
            for i in range(12):
                for r in range(12):
                    Z[p, i, r] += Z[b, i, r]
        for r in range(2 * min(_AT_ONCE, k - first)):
            row = first + r // 2 + (k if r % 2 else 0)
            for j in range(2 * k):
                A[row, j] = rows[j, r]
            for j in range(k):
                B[row, j] = rows[2 * k + j, r]
