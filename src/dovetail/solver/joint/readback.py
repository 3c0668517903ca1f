"""What a joint tells about itself after a step: reaction, gap, misalignment.

The generalised force of the joint on its right body is G = −Wᵀg/h² (4×3), see stencil.py. A virtual displacement
δp, δA = [δφ]×A does the work G₀·δp + Σ G_k·(δφ × a_k), hence

    force   f = G₀ [N]            torque about the anchor c:   τ = Σ_k a_k × G_k + (p − c) × G₀ [N·m]

    gap            largest distance between points that should coincide; across the axis only where the joint slides [m]
    misalignment   angle between directions that should agree: the axes, or the whole frames [rad]
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import Record, f8, i8
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

ALIGN_NOTHING, ALIGN_AXIS, ALIGN_FRAME = range(3)
PART_NOWHERE, PART_ALONG, PART_ANYWHERE = range(3)

_SMALL = 0.01  # rad
_C, _END, _T, _N, _B = range(5)


@kernel
def _cross(u0: float, u1: float, u2: float, v0: float, v1: float, v2: float) -> tuple[float, float, float]:
    """Components of u × v."""
    return u1 * v2 - u2 * v1, u2 * v0 - u0 * v2, u0 * v1 - u1 * v0


@kernel
def _gap(f: JointFrames, k: int, r: int, Q: Array) -> float:
    """Distance between the images of row r of joint k; across t only, where anchors may part along it."""
    u0, u1, u2 = image(f.left_rows[k, r], 0, Q, f.left[k])
    v0, v1, v2 = image(f.right_rows[k, r], 0, Q, f.right[k])
    v0, v1, v2 = v0 - u0, v1 - u1, v2 - u2
    if f.parts[k] == PART_ALONG:
        t0, t1, t2 = image(f.left_rows[k, _T], 0, Q, f.left[k])
        along = (v0 * t0 + v1 * t1 + v2 * t2) / (t0 * t0 + t1 * t1 + t2 * t2)
        v0, v1, v2 = v0 - along * t0, v1 - along * t1, v2 - along * t2
    return math.sqrt(v0 * v0 + v1 * v1 + v2 * v2)


@kernel
def _angle(f: JointFrames, k: int, Q: Array) -> float:
    """Angle between the axes, or the frames, of joint k; accurate near 0."""
    s0 = s1 = s2 = cosine = 0.0
    # relative rotation: 2 sin φ · axis = Σ e_i × e_j,  1 + 2 cos φ = Σ e_i·e_j over unit frames
    for r in range(_T, _T + 1 if f.aligns[k] == ALIGN_AXIS else _B + 1):
        u0, u1, u2 = image(f.left_rows[k, r], 0, Q, f.left[k])
        v0, v1, v2 = image(f.right_rows[k, r], 0, Q, f.right[k])
        c0, c1, c2 = _cross(u0, u1, u2, v0, v1, v2)
        s0, s1, s2 = s0 + c0, s1 + c1, s2 + c2
        cosine += u0 * v0 + u1 * v1 + u2 * v2
    sine = math.sqrt(s0 * s0 + s1 * s1 + s2 * s2)
    if f.aligns[k] == ALIGN_FRAME:
        cosine -= 1.0
    if sine < _SMALL * cosine:
        # the series of the arctangent: the next term is 1e-17 of the first
        x = sine / cosine
        return x * (1.0 - x * x * (1.0 / 3.0 - x * x * (1.0 / 5.0 - x * x / 7.0)))
    return math.atan2(sine, cosine)


@kernel
def _measure(f: JointFrames, Q: Array, gap: Array, misalignment: Array) -> None:
    for k in range(len(f.left)):
        gap[k] = misalignment[k] = 0.0
        if f.parts[k] != PART_ANYWHERE:
            gap[k] = max(_gap(f, k, _C, Q), _gap(f, k, _END, Q))
        if f.aligns[k] != ALIGN_NOTHING:
            misalignment[k] = _angle(f, k, Q)


@kernel
def _reactions(f: JointFrames, Q: Array, G: Array, force: Array, torque: Array) -> None:
    for k in range(len(f.right)):
        b = f.right[k]
        c0, c1, c2 = image(f.right_rows[k, _C], 0, Q, b)
        f0, f1, f2 = G[k, 0, 0], G[k, 0, 1], G[k, 0, 2]
        t0, t1, t2 = _cross(Q[b, 0, 0] - c0, Q[b, 0, 1] - c1, Q[b, 0, 2] - c2, f0, f1, f2)
        for i in range(1, 4):
            s0, s1, s2 = _cross(Q[b, i, 0], Q[b, i, 1], Q[b, i, 2], G[k, i, 0], G[k, i, 1], G[k, i, 2])
            t0, t1, t2 = t0 + s0, t1 + s1, t2 + s2
        force[k, 0], force[k, 1], force[k, 2] = f0, f1, f2
        torque[k, 0], torque[k, 1], torque[k, 2] = t0, t1, t2


class JointFrames(Record):
    """Material rows (k, 5, 4) of both bodies of every joint: anchor, second point (or the anchor again), t, n, b.

    parts (k,) says where the anchors may part, nowhere, along t or anywhere; aligns (k,) which directions should agree.
    """

    left: Indices = i8(1)
    right: Indices = i8(1)
    left_rows: Array = f8(3)
    right_rows: Array = f8(3)
    parts: Indices = i8(1)
    aligns: Indices = i8(1)

    @property
    def count(self) -> int:
        return len(self.left)

    def measure(self, Q: Array) -> tuple[Array, Array]:
        """Gap [m] and misalignment [rad] of every joint."""
        gap, misalignment = np.empty(self.count), np.empty(self.count)
        _measure(self, Q, gap, misalignment)
        return gap, misalignment

    def reactions(self, Q: Array, G: Array) -> tuple[Array, Array]:
        """Force [N] and torque about the anchor [N·m] on the right bodies; G (k, 4, 3) are generalised forces."""
        force, torque = np.empty((self.count, 3)), np.empty((self.count, 3))
        _reactions(self, Q, G, force, torque)
        return force, torque
