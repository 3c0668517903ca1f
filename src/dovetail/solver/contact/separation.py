"""Body pairs that a plane separates: a quick look at the convex hulls before any feature is looked at.

Gilbert's algorithm on the difference B − A of two vertex clouds: v is a point of its hull, w the point that is extreme
against v; v·w/|v| bounds the distance of the hulls from below, and the point of the segment from v to w that is nearest
to the origin is the next v. A handful of rounds tells most pairs apart. For the others the axis v/|v| still rules out
the features on the far sides.
"""

from __future__ import annotations

import math

from dovetail.kernel.kernel import kernel
from dovetail.typing import Array, Indices

__all__ = ["separate"]

_ROUNDS = 8
_LARGE = 64  # vertices beyond which a look at all of them does not pay


@kernel
def _centre(x: int, start: int, end: int, X: Array) -> float:
    low, high = math.inf, -math.inf
    for k in range(start, end):
        low, high = min(low, X[k, x]), max(high, X[k, x])
    return 0.5 * (low + high)


@kernel
def separate(
    pairs: Indices, far: Array, shape_of: Indices, vertex_start: Indices, x_base: Indices, X: Array, gap: Array,
    axis: Array,
) -> None:  # fmt: skip
    """gap (k,) ← a distance that the hulls of a pair have at least, axis (k, 3) ← unit vector from a to b along it.

    Ends where the gap exceeds far (k,). Unknown, −∞ and a zero axis, for a body with itself and for large bodies.
    """
    for k in range(len(pairs)):
        a, b = pairs[k, 0], pairs[k, 1]
        gap[k] = -math.inf
        for x in range(3):
            axis[k, x] = 0.0
        sa, sb = shape_of[a], shape_of[b]
        start_a, end_a = vertex_start[sa] + x_base[a], vertex_start[sa + 1] + x_base[a]
        start_b, end_b = vertex_start[sb] + x_base[b], vertex_start[sb + 1] + x_base[b]
        if a == b or end_a - start_a > _LARGE or end_b - start_b > _LARGE:
            continue
        v0 = _centre(0, start_b, end_b, X) - _centre(0, start_a, end_a, X)
        v1 = _centre(1, start_b, end_b, X) - _centre(1, start_a, end_a, X)
        v2 = _centre(2, start_b, end_b, X) - _centre(2, start_a, end_a, X)
        for _ in range(_ROUNDS):
            length = math.sqrt(v0 * v0 + v1 * v1 + v2 * v2)
            if not length > 1e-12:
                break
            most_a, most_b = -math.inf, math.inf
            best_a, best_b = start_a, start_b
            for i in range(start_a, end_a):
                value = v0 * X[i, 0] + v1 * X[i, 1] + v2 * X[i, 2]
                if value > most_a:
                    most_a, best_a = value, i
            for i in range(start_b, end_b):
                value = v0 * X[i, 0] + v1 * X[i, 1] + v2 * X[i, 2]
                if value < most_b:
                    most_b, best_b = value, i
            bound = (most_b - most_a) / length
            if bound > gap[k]:
                gap[k] = bound
                axis[k, 0], axis[k, 1], axis[k, 2] = v0 / length, v1 / length, v2 / length
            if bound > far[k] or length - bound < 0.01 * length:
                break
            w0, w1, w2 = X[best_b, 0] - X[best_a, 0], X[best_b, 1] - X[best_a, 1], X[best_b, 2] - X[best_a, 2]
            d0, d1, d2 = w0 - v0, w1 - v1, w2 - v2
            t = min(1.0, -(v0 * d0 + v1 * d1 + v2 * d2) / (d0 * d0 + d1 * d1 + d2 * d2))
            v0, v1, v2 = v0 + t * d0, v1 + t * d1, v2 + t * d2
