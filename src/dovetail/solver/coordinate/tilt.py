"""tilt: the whole angle between two frames, which the range of a spherical joint bounds.

    F, s and c as in turn.py:   x = θ = atan2(r, c) [rad] from 0 to π,   r = |s|

At 0 and at half a turn θ has a kink: the slope is that of a turn about the first axis there, and the curvature 0.
"""

from __future__ import annotations

import math

from dovetail.solver.coordinate.turn import add_bilinear, sine_and_cosine, slopes
from dovetail.solver.joint.function import coordinate
from dovetail.typing import Array

__all__ = ["tilt"]


@coordinate(rows=6)
def tilt(F: Array, exact: float, dx: Array, d2x: Array) -> float:
    """x = atan2(|s|, c)."""
    s1, s2, s3, c = sine_and_cosine(F)
    r = math.sqrt(s1 * s1 + s2 * s2 + s3 * s3)
    size = r * r + c * c
    x_r, x_c = c / size, -r / size
    x_rr, x_rc = 2.0 * x_r * x_c, x_c * x_c - x_r * x_r  # and x_cc = −x_rr
    u1, u2, u3 = (s1 / r, s2 / r, s3 / r) if r > 0.0 else (1.0, 0.0, 0.0)
    for k in range(18):
        ds1, ds2, ds3, dc = slopes(F, k)
        dr = u1 * ds1 + u2 * ds2 + u3 * ds3
        dx[k] = x_r * dr + x_c * dc
        if exact > 0.0 and r > 0.0:
            for m in range(18):
                es1, es2, es3, ec = slopes(F, m)
                er = u1 * es1 + u2 * es2 + u3 * es3
                both = x_rr * (dr * er - dc * ec) + x_rc * (dr * ec + dc * er)
                d2x[18 * k + m] = both + x_r * (ds1 * es1 + ds2 * es2 + ds3 * es3 - dr * er) / r
    if exact > 0.0 and r > 0.0:
        add_bilinear(x_r * u1, x_r * u2, x_r * u3, x_c, d2x)
    return math.atan2(r, c)
