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

from dovetail.solver.kernel import kernel
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

_C, _END, _T, _N, _B = range(5)


@kernel
def _image(rows: Array, k: int, r: int, Q: Array, body: int, out: Array) -> None:
    """out (3) ← row r of joint k on a body."""
    for a in range(3):
        value = 0.0
        for i in range(4):
            value += rows[k, r, i] * Q[body, i, a]
        out[a] = value


@kernel
def _angle_between(u: Array, v: Array) -> float:
    """Angle between two vectors, accurate near 0."""
    c0 = u[1] * v[2] - u[2] * v[1]
    c1 = u[2] * v[0] - u[0] * v[2]
    c2 = u[0] * v[1] - u[1] * v[0]
    return math.atan2(math.sqrt(c0 * c0 + c1 * c1 + c2 * c2), u[0] * v[0] + u[1] * v[1] + u[2] * v[2])


@kernel
def _measure(
    left: Indices, right: Indices, left_rows: Array, right_rows: Array, parts: Indices, aligns: Indices, Q: Array,
    gap: Array, misalignment: Array,
) -> None:  # fmt: skip
    u, v, t = np.empty(3), np.empty(3), np.empty(3)
    for k in range(len(left)):
        gap[k] = 0.0
        for r in (_C, _END):
            if parts[k] == PART_ANYWHERE:
                continue
            _image(left_rows, k, r, Q, left[k], u)
            _image(right_rows, k, r, Q, right[k], v)
            for a in range(3):
                v[a] -= u[a]
            if parts[k] == PART_ALONG:
                _image(left_rows, k, _T, Q, left[k], t)
                length = t[0] * t[0] + t[1] * t[1] + t[2] * t[2]
                along = (v[0] * t[0] + v[1] * t[1] + v[2] * t[2]) / length
                for a in range(3):
                    v[a] -= along * t[a]
            gap[k] = max(gap[k], math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]))
        misalignment[k] = 0.0
        if aligns[k] == ALIGN_AXIS:
            _image(left_rows, k, _T, Q, left[k], u)
            _image(right_rows, k, _T, Q, right[k], v)
            misalignment[k] = _angle_between(u, v)
        elif aligns[k] == ALIGN_FRAME:
            # relative rotation: 2 sin φ · axis = Σ e_i × e_j,  1 + 2 cos φ = Σ e_i·e_j over unit frames
            s0 = s1 = s2 = cosine = 0.0
            for r in (_T, _N, _B):
                _image(left_rows, k, r, Q, left[k], u)
                _image(right_rows, k, r, Q, right[k], v)
                s0 += u[1] * v[2] - u[2] * v[1]
                s1 += u[2] * v[0] - u[0] * v[2]
                s2 += u[0] * v[1] - u[1] * v[0]
                cosine += u[0] * v[0] + u[1] * v[1] + u[2] * v[2]
            misalignment[k] = math.atan2(math.sqrt(s0 * s0 + s1 * s1 + s2 * s2), cosine - 1.0)


@kernel
def _reactions(right: Indices, right_rows: Array, Q: Array, G: Array, force: Array, torque: Array) -> None:
    c = np.empty(3)
    for k in range(len(right)):
        b = right[k]
        _image(right_rows, k, _C, Q, b, c)
        for a in range(3):
            force[k, a] = G[k, 0, a]
        for a in range(3):
            x, y = (a + 1) % 3, (a + 2) % 3
            total = (Q[b, 0, x] - c[x]) * G[k, 0, y] - (Q[b, 0, y] - c[y]) * G[k, 0, x]
            for i in range(1, 4):
                total += Q[b, i, x] * G[k, i, y] - Q[b, i, y] * G[k, i, x]
            torque[k, a] = total


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
