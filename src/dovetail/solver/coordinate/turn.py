"""turn: a component of the rotation vector between two bodies, the coordinates of a driven spherical joint.

    F = (t_i, n_i, b_i, t_j, n_j, b_j):   R_kl = F_k·F_(3+l),   c = (R₁₁ + R₂₂ + R₃₃ − 1)/2 = cos θ,
    s = ½(R₃₂ − R₂₃, R₁₃ − R₃₁, R₂₁ − R₁₂) = sin θ · axis,   x = s₁ G(s², c) [rad],   G = θ/|s|,   θ = atan2(|s|, c)

c and s are bilinear in the two bodies. Half a turn, s = 0 and c < 0, has no axis: x and its derivatives are 0 there.
"""

from __future__ import annotations

import math

from dovetail.kernel.kernel import kernel
from dovetail.solver.joint.function import coordinate
from dovetail.typing import Array

__all__ = ["add_bilinear", "sine_and_cosine", "slopes", "turn"]


@kernel
def slopes(F: Array, k: int) -> tuple[float, float, float, float]:
    """∂s₁, ∂s₂, ∂s₃, ∂c by entry k."""
    a = k % 3
    if k < 9:
        t, n, b, sign = 0.5 * F[9 + a], 0.5 * F[12 + a], 0.5 * F[15 + a], 1.0
    else:
        t, n, b, sign = 0.5 * F[a], 0.5 * F[3 + a], 0.5 * F[6 + a], -1.0
    row = k // 3 % 3
    if row == 0:
        return 0.0, sign * b, -sign * n, t
    if row == 1:
        return -sign * b, 0.0, sign * t, n
    return sign * n, -sign * t, 0.0, b


@kernel
def sine_and_cosine(F: Array) -> tuple[float, float, float, float]:
    """s and c."""
    c, s1, s2, s3 = -0.5, 0.0, 0.0, 0.0
    for k in range(9):
        ds1, ds2, ds3, dc = slopes(F, k)
        s1, s2, s3, c = s1 + ds1 * F[k], s2 + ds2 * F[k], s3 + ds3 * F[k], c + dc * F[k]
    return s1, s2, s3, c


@kernel
def add_bilinear(x1: float, x2: float, x3: float, xc: float, d2x: Array) -> None:
    """d2x += ∂x/∂s, ∂x/∂c times ∂²s, ∂²c, which couple row k of the left body with row m of the right."""
    y1, y2, y3, y = 0.5 * x1, 0.5 * x2, 0.5 * x3, 0.5 * xc
    for a in range(3):
        for k, m, value in (
            (0, 0, y), (1, 1, y), (2, 2, y), (2, 1, y1), (1, 2, -y1),
            (0, 2, y2), (2, 0, -y2), (1, 0, y3), (0, 1, -y3),
        ):  # fmt: skip
            left, right = 3 * k + a, 9 + 3 * m + a
            d2x[18 * left + right] += value
            d2x[18 * right + left] += value


@kernel
def _ratio(p: float, c: float) -> tuple[float, float, float]:
    """G = atan2(√p, c)/√p with its first and second derivative by p."""
    if c > 0.0 and p < 0.01 * c * c:
        # Σ (−p/c²)ᵏ/((2k + 1) c): differences of the formulas below would lose all digits
        q, power = -p / (c * c), 1.0
        G = first = second = 0.0
        for k in range(12):
            G += power / (2 * k + 1)
            first += (k + 1) * power / (2 * k + 3)
            second += (k + 1) * (k + 2) * power / (2 * k + 5)
            power *= q
        return G / c, -first / (c * c * c), second / (c * c * c * c * c)
    size = p + c * c
    G = math.atan2(math.sqrt(p), c) / math.sqrt(p)
    first = 0.5 * (c / size - G) / p
    return G, first, -0.5 * (c / (size * size) + 3.0 * first) / p


@coordinate(rows=6)
def turn(F: Array, exact: float, dx: Array, d2x: Array) -> float:
    """x = s₁ G(s², c)."""
    s1, s2, s3, c = sine_and_cosine(F)
    p = s1 * s1 + s2 * s2 + s3 * s3
    if p == 0.0 and c <= 0.0:
        return 0.0
    G, G_p, G_pp = _ratio(p, c)
    size = p + c * c
    G_c, G_pc, G_cc = -1.0 / size, 1.0 / (size * size), 2.0 * c / (size * size)
    for k in range(18):
        ds1, ds2, ds3, dc = slopes(F, k)
        dp = 2.0 * (s1 * ds1 + s2 * ds2 + s3 * ds3)
        dx[k] = G * ds1 + s1 * (G_p * dp + G_c * dc)
        if exact > 0.0:
            for m in range(18):
                es1, es2, es3, ec = slopes(F, m)
                ep = 2.0 * (s1 * es1 + s2 * es2 + s3 * es3)
                both = G_p * (ds1 * ep + es1 * dp) + G_c * (ds1 * ec + es1 * dc)
                both += s1 * (G_pp * dp * ep + G_pc * (dp * ec + ep * dc) + G_cc * dc * ec)
                d2x[18 * k + m] = both + 2.0 * s1 * G_p * (ds1 * es1 + ds2 * es2 + ds3 * es3)
    if exact > 0.0:
        add_bilinear(G + 2.0 * s1 * s1 * G_p, 2.0 * s1 * s2 * G_p, 2.0 * s1 * s3 * G_p, s1 * G_c, d2x)
    return s1 * G
