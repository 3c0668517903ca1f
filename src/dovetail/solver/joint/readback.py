"""What a joint tells about itself after a step: reaction, gap, misalignment.

The generalised force of the joint on its right body is G = −Wᵀg/h² (4×3), see stencil.py. A virtual displacement
δp, δA = [δφ]×A does the work G₀·δp + Σ G_k·(δφ × a_k), hence

    force   f = G₀ [N]            torque about the anchor c:   τ = Σ_k a_k × G_k + (p − c) × G₀ [N·m]

    gap            largest distance between points that should coincide; across the axis only where the joint slides [m]
    misalignment   angle between directions that should agree: the axes, or the whole frames [rad]
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.solver.joint.stencil import image
from dovetail.typing import Array, Indices

__all__ = [
    "ALIGN_AXIS",
    "ALIGN_FRAME",
    "ALIGN_NOTHING",
    "PART_ALONG",
    "PART_ANYWHERE",
    "PART_NOWHERE",
    "JointFrames",
]

ALIGN_NOTHING = 0
ALIGN_AXIS = 1
ALIGN_FRAME = 2

PART_NOWHERE = 0
PART_ALONG = 1
PART_ANYWHERE = 2

_SMALL = 0.01  # rad
_C, _END, _T, _N, _B = range(5)


@kernel
def _cross(u0: float, u1: float, u2: float, v0: float, v1: float, v2: float) -> tuple[float, float, float]:
    """Components of u × v."""
    return u1 * v2 - u2 * v1, u2 * v0 - u0 * v2, u0 * v1 - u1 * v0


@kernel
def _gap(left_rows: Array, right_rows: Array, k: int, r: int, part: int, Q: Array, i: int, j: int) -> float:
    """Distance between the images of row r on bodies i and j; across t only, where anchors may part along it."""
    u0, u1, u2 = image(left_rows[k, r], 0, Q, i)
    v0, v1, v2 = image(right_rows[k, r], 0, Q, j)
    v0, v1, v2 = v0 - u0, v1 - u1, v2 - u2
    if part == PART_ALONG:
        t0, t1, t2 = image(left_rows[k, _T], 0, Q, i)
        along = (v0 * t0 + v1 * t1 + v2 * t2) / (t0 * t0 + t1 * t1 + t2 * t2)
        v0, v1, v2 = v0 - along * t0, v1 - along * t1, v2 - along * t2
    return math.sqrt(v0 * v0 + v1 * v1 + v2 * v2)


@kernel
def _angle(left_rows: Array, right_rows: Array, k: int, aligns: int, Q: Array, i: int, j: int) -> float:
    """Angle between the axes, or the frames, on bodies i and j; accurate near 0."""
    s0 = s1 = s2 = cosine = 0.0
    # relative rotation: 2 sin φ · axis = Σ e_i × e_j,  1 + 2 cos φ = Σ e_i·e_j over unit frames
    for r in range(_T, _T + 1 if aligns == ALIGN_AXIS else _B + 1):
        u0, u1, u2 = image(left_rows[k, r], 0, Q, i)
        v0, v1, v2 = image(right_rows[k, r], 0, Q, j)
        c0, c1, c2 = _cross(u0, u1, u2, v0, v1, v2)
        s0, s1, s2 = s0 + c0, s1 + c1, s2 + c2
        cosine += u0 * v0 + u1 * v1 + u2 * v2
    sine = math.sqrt(s0 * s0 + s1 * s1 + s2 * s2)
    if aligns == ALIGN_FRAME:
        cosine -= 1.0
    if sine < _SMALL * cosine:
        # the series of the arctangent: the next term is 1e-17 of the first
        x = sine / cosine
        return x * (1.0 - x * x * (1.0 / 3.0 - x * x * (1.0 / 5.0 - x * x / 7.0)))
    return math.atan2(sine, cosine)


@kernel
def _measure(
    left: Indices, right: Indices, left_rows: Array, right_rows: Array, parts: Indices, aligns: Indices, Q: Array,
    gap: Array, misalignment: Array,
) -> None:  # fmt: skip
    for k in range(len(left)):
        gap[k] = misalignment[k] = 0.0
        if parts[k] != PART_ANYWHERE:
            gap[k] = max(
                _gap(left_rows, right_rows, k, _C, parts[k], Q, left[k], right[k]),
                _gap(left_rows, right_rows, k, _END, parts[k], Q, left[k], right[k]),
            )
        if aligns[k] != ALIGN_NOTHING:
            misalignment[k] = _angle(left_rows, right_rows, k, aligns[k], Q, left[k], right[k])


@kernel
def _reactions(right: Indices, right_rows: Array, Q: Array, G: Array, force: Array, torque: Array) -> None:
    for k in range(len(right)):
        b = right[k]
        c0, c1, c2 = image(right_rows[k, _C], 0, Q, b)
        f0, f1, f2 = G[k, 0, 0], G[k, 0, 1], G[k, 0, 2]
        t0, t1, t2 = _cross(Q[b, 0, 0] - c0, Q[b, 0, 1] - c1, Q[b, 0, 2] - c2, f0, f1, f2)
        for i in range(1, 4):
            s0, s1, s2 = _cross(Q[b, i, 0], Q[b, i, 1], Q[b, i, 2], G[k, i, 0], G[k, i, 1], G[k, i, 2])
            t0, t1, t2 = t0 + s0, t1 + s1, t2 + s2
        force[k, 0], force[k, 1], force[k, 2] = f0, f1, f2
        torque[k, 0], torque[k, 1], torque[k, 2] = t0, t1, t2


@dataclass
class JointFrames:
    """Material rows (k, 5, 4) of both bodies of every joint: anchor, second point (or the anchor again), t, n, b.

    parts (k,) says where the anchors may part, nowhere, along t or anywhere; aligns (k,) which directions should agree.
    """

    left: Indices
    right: Indices
    left_rows: Array
    right_rows: Array
    parts: Indices
    aligns: Indices

    @property
    def count(self) -> int:
        return len(self.left)

    def measure(self, Q: Array) -> tuple[Array, Array]:
        """Gap [m] and misalignment [rad] of every joint."""
        gap, misalignment = np.empty(self.count), np.empty(self.count)
        _measure(self.left, self.right, self.left_rows, self.right_rows, self.parts, self.aligns, Q, gap, misalignment)
        return gap, misalignment

    def reactions(self, Q: Array, G: Array) -> tuple[Array, Array]:
        """Force [N] and torque about the anchor [N·m] on the right bodies; G (k, 4, 3) are generalised forces."""
        force, torque = np.empty((self.count, 3)), np.empty((self.count, 3))
        _reactions(self.right, self.right_rows, Q, G, force, torque)
        return force, torque
