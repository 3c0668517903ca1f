"""Adjoint of laws and coordinates of joints: gradients by parameters of laws, weights of coordinates, and xₙ.

A law adds s φ(x; p) to the potential, so that the adjoint x̂ of a step sees s φ′(x; p) (∇x·x̂). ∂φ′/∂p is taken by
differences of φ′, so that laws of users need no further code.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.joint.coordinates import Coordinates, coordinate_at, gather_rows
from dovetail.solver.joint.function import call_law
from dovetail.solver.joint.laws import Laws
from dovetail.typing import Array, Flags

__all__ = ["bend_adjoints", "law_adjoints", "law_slopes", "steps_of", "value_adjoints"]

_PLACE = 2.0**-27  # step of differences by a parameter that is a value of the coordinate [m or rad], which laws may
# bend at; powers of two, so that adding it does not round
_WIDE = 1e-6  # of φ″ by the coordinate
_SHARE = 1e-4  # of other parameters, which laws are smooth or linear in


@kernel
def steps_of(p: Array, is_place: Flags) -> Array:
    """Steps of differences by the parameters p: is_place says which are values of a coordinate."""
    steps = np.empty(len(p))
    for k in range(len(p)):
        size = abs(p[k]) if np.isfinite(p[k]) else 1.0
        if is_place[k]:
            part, power = math.frexp(max(size, 1.0))
            steps[k] = math.ldexp(_PLACE, power - 1 if part == 0.5 else power)
        else:
            steps[k] = _SHARE * (size if size > 0.0 else 1.0)
    return steps


@kernel
def _slope(laws: Laws, m: int, x: float, at: int, count: int, j: int, shift: float, room: Array, d: Array) -> float:
    """φ′ of law m at x with parameter j changed by a shift; room is scratch."""
    for i in range(count):
        room[i] = laws.p[at + i]
    room[j] += shift
    d[0] = 0.0
    d[1] = 0.0
    call_law(laws.address[m], x, room, 0, d)
    slope: float = d[0]
    return slope


@kernel
def _turn(laws: Laws, m: int, x: float, at: int, count: int, j: int, h: float, room: Array, d: Array) -> float:
    """∂φ′/∂p_j of law m at x by differences with the step h, at four points: the error is of fourth order in it."""
    near = _slope(laws, m, x, at, count, j, h, room, d) - _slope(laws, m, x, at, count, j, -h, room, d)
    far = _slope(laws, m, x, at, count, j, 2.0 * h, room, d) - _slope(laws, m, x, at, count, j, -2.0 * h, room, d)
    return (8.0 * near - far) / (12.0 * h)


@kernel
def _bend(laws: Laws, m: int, x: float, at: int, count: int, j: int, shift: float, room: Array, d: Array) -> float:
    """s φ″ of law m at x with parameter j changed by a shift; a rate law is at rest there."""
    for i in range(count):
        room[i] = laws.p[at + i]
    if j >= 0:
        room[j] += shift
    if laws.start[m] >= 0:
        room[laws.start[m] - at] = x
    d[:] = 0.0
    call_law(laws.address[m], x, room, 0, d)
    bend: float = laws.scale[m] * d[1]
    return bend


@kernel
def bend_adjoints(laws: Laws, steps: Array, work: Array, by_x: Array, p_bar: Array) -> None:
    """by_x (a,) ← ∂/∂x, p_bar += ∂/∂p of Σ s φ″(x; p) work, for work (a,) of the coordinates as last linearised."""
    d, room = np.zeros(3), np.empty(laws.longest + 1)
    for i in range(len(laws.acting)):
        x, by_x[i] = laws.x[i], 0.0
        for e in range(laws.first[i], laws.first[i + 1]):
            m = laws.law[e]
            at = laws.at[m]
            end = laws.at[m + 1] if m + 1 < len(laws.at) else len(laws.p)
            for j in range(-1, end - at):
                if j >= 0 and not np.isfinite(laws.p[at + j]):
                    continue
                step, total = _WIDE if j < 0 else steps[at + j], 0.0
                for shift, weight in ((1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0)):
                    moved = x + shift * step if j < 0 else x
                    total += weight * _bend(laws, m, moved, at, end - at, j, shift * step, room, d)
                total *= work[i] / (12.0 * step)
                if j < 0:
                    by_x[i] += total
                else:
                    p_bar[at + j] += total


@kernel
def law_slopes(laws: Laws, steps: Array, Q: Array, dp: Array, out: Array) -> None:
    """out (c,) ← what Σ s φ′(x; p) of every coordinate changes by at Q where parameters change by dp."""
    c = laws.coordinates
    size = 3 * c.widest
    F, dx, d2x = np.empty(size), np.empty(size), np.empty(size * size)
    d, room = np.zeros(3), np.empty(laws.longest + 1)
    for i in range(len(laws.acting)):
        k, total = laws.acting[i], 0.0
        n = gather_rows(c, k, Q, F)
        x = coordinate_at(c, k, 0.0, F, n, dx, d2x)
        for e in range(laws.first[i], laws.first[i + 1]):
            m = laws.law[e]
            at = laws.at[m]
            end = laws.at[m + 1] if m + 1 < len(laws.at) else len(laws.p)
            for j in range(at, end):
                if dp[j] != 0.0:
                    total += laws.scale[m] * dp[j] * _turn(laws, m, x, at, end - at, j - at, steps[j], room, d)
        out[k] = total


@kernel
def law_adjoints(laws: Laws, steps: Array, Q: Array, y: Array, p_bar: Array, W_bar: Array) -> None:
    """p_bar ← −∂/∂p, W_bar −= ∂/∂W of Σ s φ′(x; p) (∇x·y) at Q."""
    c = laws.coordinates
    size = 3 * c.widest
    F, dF, dx, d2x = np.empty(size), np.empty(size), np.empty(size), np.empty(size * size)
    d, room = np.zeros(3), np.empty(laws.longest + 1)
    for i in range(len(laws.acting)):
        k = laws.acting[i]
        left, right = c.left[k], c.right[k]
        n = gather_rows(c, k, Q, F)
        gather_rows(c, k, y, dF)
        x = coordinate_at(c, k, 1.0, F, n, dx, d2x)
        along = slope = bend = 0.0
        for a in range(n):
            along += dx[a] * dF[a]
        for e in range(laws.first[i], laws.first[i + 1]):
            m = laws.law[e]
            at, s = laws.at[m], laws.scale[m]
            end = laws.at[m + 1] if m + 1 < len(laws.at) else len(laws.p)
            for j in range(end - at):
                p_bar[at + j] = 0.0
                if np.isfinite(laws.p[at + j]):
                    p_bar[at + j] = -s * along * _turn(laws, m, x, at, end - at, j, steps[at + j], room, d)
            d[0] = 0.0
            d[1] = 0.0
            call_law(laws.address[m], x, laws.p, at, d)
            slope += s * d[0]
            bend += s * d[1]
        start = c.first[k]
        for r in range(n):
            turn = bend * along * dx[r]
            for a in range(n):
                turn += slope * d2x[n * r + a] * dF[a]
            row, z = start + r // 3, r % 3
            for e in range(4):
                W_bar[row, e] -= turn * Q[left, e, z] + slope * dx[r] * y[left, e, z]
                W_bar[row, 4 + e] -= turn * Q[right, e, z] + slope * dx[r] * y[right, e, z]


@kernel
def value_adjoints(
    c: Coordinates, Q: Array, V: Array, x_bar: Array, rate_bar: Array, Q_bar: Array, V_bar: Array, W_bar: Array
) -> None:
    """Q_bar, V_bar, W_bar += adjoints of values x(Q) and rates ∇x·V of coordinates, which have x_bar, rate_bar (c,)."""
    size = 3 * c.widest
    F, dF, dx, d2x = np.empty(size), np.empty(size), np.empty(size), np.empty(size * size)
    for k in range(len(c.left)):
        if x_bar[k] == 0.0 and rate_bar[k] == 0.0:
            continue
        left, right, start = c.left[k], c.right[k], c.first[k]
        n = gather_rows(c, k, Q, F)
        gather_rows(c, k, V, dF)
        coordinate_at(c, k, 1.0, F, n, dx, d2x)
        for r in range(n):
            by_F, by_rate = x_bar[k] * dx[r], rate_bar[k] * dx[r]
            for a in range(n):
                by_F += rate_bar[k] * d2x[n * r + a] * dF[a]
            row, z = start + r // 3, r % 3
            for e in range(4):
                Q_bar[left, e, z] += c.W[row, e] * by_F
                Q_bar[right, e, z] += c.W[row, 4 + e] * by_F
                V_bar[left, e, z] += c.W[row, e] * by_rate
                V_bar[right, e, z] += c.W[row, 4 + e] * by_rate
                W_bar[row, e] += by_F * Q[left, e, z] + by_rate * V[left, e, z]
                W_bar[row, 4 + e] += by_F * Q[right, e, z] + by_rate * V[right, e, z]
