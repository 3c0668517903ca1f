"""Laws and coordinates at a consistent start: derivatives of their part of ℓ (start.py).

What a coordinate adds depends on its value x, its rates ∇x·y along motions y, its compliance ∇x·M⁻¹∇x and its second
rate along V̂. Derivatives of laws by these few numbers, and by parameters, are taken by differences; from there on
they are carried back by ∇x and ∇²x. What laws with caps have exerted, S, is part of ℓ with its own adjoint.
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.joint.coordinates import (
    Coordinates,
    compliance,
    coordinate_at,
    gather_rows,
    pull_back_slope,
    second_rate,
)
from dovetail.solver.joint.law_start import exerted_of, rate_slope, start_of
from dovetail.solver.joint.laws import Laws
from dovetail.typing import Array, Flags

__all__ = ["coordinate_adjoints", "start_adjoints"]

_MOTIONS = 6  # μ₁, V̂, μ₂, x, Vₙ, V̂
_MU1, _X1, _MU2, _X2, _VN, _VHAT, _VALUE, _YIELDS, _BEND = range(9)
_PLACE, _SHARE = 1e-8, 1e-4  # steps of differences, as in laws.py
_THIRD = 1e-4  # of F, in differences of ∇²x


@kernel
def _terms(
    laws: Laws, i: int, case: tuple[bool, bool], h: float, ratio: float, t: Array, room: Array, d: Array
) -> tuple[float, float, float]:
    """Weight, push and drift of acting coordinate i with numbers t; case: whether it is held, and whether it drifts."""
    held, drifts = case
    weight, slope, moved = start_of(laws, i, t[_VALUE], t[_VN], t[_YIELDS], 1 if held else 0, h, ratio, room, d)
    late = 0.0 if held else rate_slope(laws, i, t[_VALUE], t[_VHAT], h, room, d)
    return weight, slope + late + h * h * weight * t[_BEND], moved / h if drifts else 0.0


@kernel
def _loss(
    laws: Laws, i: int, case: tuple[bool, bool], h: float, ratio: float, t: Array, exerted_bar: Array, room: Array,
    d: Array,
) -> float:  # fmt: skip
    """ℓ of acting coordinate i with numbers t: rates along the motions, value, compliance, second rate."""
    weight, push, drift = _terms(laws, i, case, h, ratio, t, room, d)
    loss: float = t[_MU2] * push - t[_MU1] * drift - weight * (t[_MU1] * t[_X1] + t[_MU2] * t[_X2])
    for n in range(laws.first[i], laws.first[i + 1]):
        m = laws.law[n]
        if exerted_bar[m] != 0.0:
            loss += exerted_bar[m] * exerted_of(laws, m, h, t[_X1], h * h * t[_BEND] - t[_X2])
    return loss


@kernel
def _set_linear(
    laws: Laws, i: int, case: tuple[bool, bool], h: float, ratio: float, t: Array, exerted_bar: Array, room: Array,
    d: Array, bars: Array, k: int,
) -> None:  # fmt: skip
    """bars[k] += derivatives of ℓ by the numbers that it is linear in."""
    weight, push, drift = _terms(laws, i, case, h, ratio, t, room, d)
    bars[k, _MU1] += -drift - weight * t[_X1]
    bars[k, _X1] -= weight * t[_MU1]
    bars[k, _MU2] += push - weight * t[_X2]
    bars[k, _X2] -= weight * t[_MU2]
    bars[k, _BEND] += h * h * weight * t[_MU2]
    for n in range(laws.first[i], laws.first[i + 1]):
        m = laws.law[n]
        carried = exerted_bar[m] * laws.weight[m]
        bars[k, _X1] -= carried / h
        bars[k, _X2] += 0.5 * carried / (h * h)
        bars[k, _BEND] -= 0.5 * carried


@kernel
def start_adjoints(
    laws: Laws, h: float, ratio: float, mass_inverse: Array, who: tuple[Flags, Flags], drifts: bool, steps: Array,
    Q: Array, Y: Array, exerted_bar: Array, bars: Array, p_bar: Array,
) -> None:  # fmt: skip
    """bars (c, 10) += derivatives of ℓ by numbers of coordinates, p_bar (3, ·) ← by parameters: now, last, earlier.

    who are bodies that are smooth (n,), and held (n,); of the latter, rotors have a part in it. Without `drifts` the
    momentum of Vₙ has none. exerted_bar (m,) are adjoints of S of laws with caps.
    """
    c = laws.coordinates
    smooth, held = who
    size = 3 * c.widest
    F, dF, dx, d2x = np.empty(size), np.empty(size), np.empty(size), np.empty(size * size)
    room, d, t, J = np.empty(laws.longest + 1), np.zeros((4, 3)), np.empty(9), np.empty((2, 12))
    for i in range(len(laws.acting)):
        k = laws.acting[i]
        left, right = c.left[k], c.right[k]
        case = (held[left] or held[right], drifts)
        if not (smooth[left] and smooth[right]) and not case[0]:
            continue
        n = gather_rows(c, k, Q, F)
        t[_VALUE] = coordinate_at(c, k, 1.0, F, n, dx, d2x)
        for y in range(_MOTIONS):
            gather_rows(c, k, Y[y], dF)
            t[y] = 0.0
            for a in range(n):
                t[y] += dx[a] * dF[a]
        t[_BEND] = second_rate(n, d2x, dF)  # the last motion is V̂
        pull_back_slope(c, k, dx, J)
        t[_YIELDS] = compliance(J, left, right, mass_inverse)
        _set_linear(laws, i, case, h, ratio, t, exerted_bar, room, d, bars, k)
        for q in (_VALUE, _VN, _VHAT, _YIELDS):
            kept, step, total = t[q], 2.0 * _PLACE / h, 0.0
            if q == _VALUE:
                step = _PLACE * max(1.0, abs(kept))
            elif q == _YIELDS:
                step = _SHARE * kept
            for shift, weight in ((1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0)):
                t[q] = kept + shift * step
                total += weight * _loss(laws, i, case, h, ratio, t, exerted_bar, room, d)
            t[q] = kept
            bars[k, q] += total / (12.0 * step)
        for e in range(laws.first[i], laws.first[i + 1]):
            m = laws.law[e]
            at = laws.at[m]
            end = laws.at[m + 1] if m + 1 < len(laws.at) else len(laws.p)
            for j in range(at, end):
                for when in range(3):
                    values = laws.p if when == 0 else laws.past[when - 1]
                    kept, step, total = values[j], steps[when, j], 0.0
                    p_bar[when, j] = 0.0
                    if not np.isfinite(kept):
                        continue
                    for shift, weight in ((1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0)):
                        values[j] = kept + shift * step
                        total += weight * _loss(laws, i, case, h, ratio, t, exerted_bar, room, d)
                    values[j] = kept
                    p_bar[when, j] = total / (12.0 * step)


@kernel
def coordinate_adjoints(
    c: Coordinates, mass_inverse: Array, bars: Array, Q: Array, Y: Array, Q_bar: Array, Vn_bar: Array, V_bar: Array,
    mass_bar: Array, W_bar: Array,
) -> None:  # fmt: skip
    """Q_bar, Vn_bar, V_bar, mass_bar, W_bar += what the adjoints (c, 10) of numbers of coordinates carry back."""
    size = 3 * c.widest
    F, dF, G, dx, d2x = np.empty(size), np.empty(size), np.empty(size), np.empty(size), np.empty(size * size)
    by_F, by_V, J, z = np.empty(size), np.empty(size), np.empty((2, 12)), np.zeros((2, 4, 3))
    for k in range(len(c.left)):
        acts = False
        for q in range(9):
            acts = acts or bars[k, q] != 0.0
        if not acts:
            continue
        left, right = c.left[k], c.right[k]
        n = gather_rows(c, k, Q, F)
        coordinate_at(c, k, 1.0, F, n, dx, d2x)
        pull_back_slope(c, k, dx, J)
        # M⁻¹∇x, and its image
        for side in range(2):
            b = right if side else left
            for e in range(4):
                for x in range(3):
                    z[side, e, x] = 0.0
                    for j in range(4):
                        z[side, e, x] += mass_inverse[b, e, j] * J[side, 3 * j + x]
            for e in range(4):
                for j in range(4):
                    for x in range(3):
                        mass_bar[b, e, j] -= bars[k, _YIELDS] * z[side, e, x] * z[side, j, x]
        for r in range(n):
            row, x = c.first[k] + r // 3, r % 3
            G[r] = 0.0
            for e in range(4):
                G[r] += 2.0 * bars[k, _YIELDS] * (c.W[row, e] * z[0, e, x] + c.W[row, 4 + e] * z[1, e, x])
        for y in range(_MOTIONS):
            gather_rows(c, k, Y[y], dF)
            for r in range(n):
                G[r] += bars[k, y] * dF[r]
        largest = 0.0
        for r in range(n):
            by_F[r], by_V[r] = bars[k, _VALUE] * dx[r], bars[k, _VHAT] * dx[r]
            for a in range(n):
                by_F[r] += d2x[n * r + a] * G[a]
                by_V[r] += 2.0 * bars[k, _BEND] * d2x[n * r + a] * dF[a]
            largest = max(largest, abs(dF[r]))
        if bars[k, _BEND] != 0.0 and largest > 0.0:
            step = _THIRD / largest
            for sign in (1.0, -1.0):
                for r in range(n):
                    F[r] += (sign if sign > 0.0 else 2.0 * sign) * step * dF[r]
                coordinate_at(c, k, 1.0, F, n, G, d2x)
                for r in range(n):
                    for a in range(n):
                        by_F[r] += sign * bars[k, _BEND] * d2x[n * r + a] * dF[a] / (2.0 * step)
        for r in range(n):
            row, x = c.first[k] + r // 3, r % 3
            for e in range(4):
                Q_bar[left, e, x] += c.W[row, e] * by_F[r]
                Q_bar[right, e, x] += c.W[row, 4 + e] * by_F[r]
                V_bar[left, e, x] += c.W[row, e] * by_V[r]
                V_bar[right, e, x] += c.W[row, 4 + e] * by_V[r]
                Vn_bar[left, e, x] += bars[k, _VN] * c.W[row, e] * dx[r]
                Vn_bar[right, e, x] += bars[k, _VN] * c.W[row, 4 + e] * dx[r]
                for side in range(2):
                    b = right if side else left
                    change = by_F[r] * Q[b, e, x] + by_V[r] * Y[_VHAT, b, e, x]
                    change += 2.0 * bars[k, _YIELDS] * dx[r] * z[side, e, x]
                    for y in range(_VHAT):
                        change += bars[k, y] * dx[r] * Y[y, b, e, x]
                    W_bar[row, 4 * side + e] += change
