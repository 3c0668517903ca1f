"""Closest points of a point and a triangle, of two edges, and of a point and an edge.

All take indices into one array X (m, 3) of world positions and return barycentric weights and the vector between
the closest points, r = (first) − (second). Distances and their gradients follow from r alone: at a minimum the
weights do not count.
"""

from __future__ import annotations

from dovetail.kernel.kernel import kernel
from dovetail.typing import Array

__all__ = ["edge_edge", "point_edge", "point_triangle"]


@kernel
def point_triangle(X: Array, p: int, a: int, b: int, c: int) -> tuple[float, float, float, float, float]:
    """(v, w, r): the closest point of the triangle is (1 − v − w) a + v b + w c, and r = p − that.

    The seven regions of the plane of the triangle (three corners, three edges, inside) are told apart by signs.
    """
    u0, u1, u2 = X[b, 0] - X[a, 0], X[b, 1] - X[a, 1], X[b, 2] - X[a, 2]
    w0, w1, w2 = X[c, 0] - X[a, 0], X[c, 1] - X[a, 1], X[c, 2] - X[a, 2]
    q0, q1, q2 = X[p, 0] - X[a, 0], X[p, 1] - X[a, 1], X[p, 2] - X[a, 2]
    uq = u0 * q0 + u1 * q1 + u2 * q2
    wq = w0 * q0 + w1 * q1 + w2 * q2
    uu = u0 * u0 + u1 * u1 + u2 * u2
    uw = u0 * w0 + u1 * w1 + u2 * w2
    ww = w0 * w0 + w1 * w1 + w2 * w2
    # the same two products with the origin moved to b and to c
    ub, wb = uq - uu, wq - uw
    uc, wc = uq - uw, wq - ww
    v = w = 0.0
    if uq <= 0.0 and wq <= 0.0:
        pass
    elif ub >= 0.0 and wb <= ub:
        v = 1.0
    elif wc >= 0.0 and uc <= wc:
        w = 1.0
    else:
        on_ab = uq * wb - ub * wq
        on_ac = uc * wq - uq * wc
        on_bc = ub * wc - uc * wb
        if on_ab <= 0.0 and uq >= 0.0 and ub <= 0.0:
            v = uq / uu
        elif on_ac <= 0.0 and wq >= 0.0 and wc <= 0.0:
            w = wq / ww
        elif on_bc <= 0.0 and wb - ub >= 0.0 and uc - wc >= 0.0:
            w = (wb - ub) / ((wb - ub) + (uc - wc))
            v = 1.0 - w
        else:
            inverse = 1.0 / (on_ab + on_ac + on_bc)
            v = on_ac * inverse
            w = on_ab * inverse
    return v, w, q0 - v * u0 - w * w0, q1 - v * u1 - w * w1, q2 - v * u2 - w * w2


@kernel
def point_edge(X: Array, p: int, a: int, b: int) -> tuple[float, float, float, float]:
    """(t, r): the closest point of the edge is (1 − t) a + t b, and r = p − that; the edge may be a point, a = b."""
    u0, u1, u2 = X[b, 0] - X[a, 0], X[b, 1] - X[a, 1], X[b, 2] - X[a, 2]
    q0, q1, q2 = X[p, 0] - X[a, 0], X[p, 1] - X[a, 1], X[p, 2] - X[a, 2]
    uu = u0 * u0 + u1 * u1 + u2 * u2
    t = 0.0
    if uu > 0.0:
        t = min(max((u0 * q0 + u1 * q1 + u2 * q2) / uu, 0.0), 1.0)
    return t, q0 - t * u0, q1 - t * u1, q2 - t * u2


@kernel
def edge_edge(X: Array, a: int, b: int, c: int, d: int) -> tuple[float, float, float, float, float, float]:
    """(s, t, r, |u × v|²) of the edges u = ab and v = cd: r = (1−s)a + s b − (1−t)c − t d.

    |u × v|² by the cross product, since |u|²|v|² − (u·v)² cancels for nearly parallel edges.
    """
    u0, u1, u2 = X[b, 0] - X[a, 0], X[b, 1] - X[a, 1], X[b, 2] - X[a, 2]
    v0, v1, v2 = X[d, 0] - X[c, 0], X[d, 1] - X[c, 1], X[d, 2] - X[c, 2]
    r0, r1, r2 = X[a, 0] - X[c, 0], X[a, 1] - X[c, 1], X[a, 2] - X[c, 2]
    uu = u0 * u0 + u1 * u1 + u2 * u2
    uv = u0 * v0 + u1 * v1 + u2 * v2
    vv = v0 * v0 + v1 * v1 + v2 * v2
    ur = u0 * r0 + u1 * r1 + u2 * r2
    vr = v0 * r0 + v1 * r1 + v2 * r2
    c0, c1, c2 = u1 * v2 - u2 * v1, u2 * v0 - u0 * v2, u0 * v1 - u1 * v0
    cross = c0 * c0 + c1 * c1 + c2 * c2
    s = 0.0
    if cross > 1e-24 * uu * vv:
        s = min(max((uv * vr - ur * vv) / cross, 0.0), 1.0)
    t = (uv * s + vr) / vv
    if t < 0.0:
        t = 0.0
        s = min(max(-ur / uu, 0.0), 1.0)
    elif t > 1.0:
        t = 1.0
        s = min(max((uv - ur) / uu, 0.0), 1.0)
    return s, t, r0 + s * u0 - t * v0, r1 + s * u1 - t * v1, r2 + s * u2 - t * v2, cross
