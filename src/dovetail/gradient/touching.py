"""Contacts of one state, with what their closest points do when bodies move.

A contact is r = ξ_a Q_a − ξ_b Q_b, with weights that depend on up to two parameters α, at which r is shortest:
r·∂r/∂α = 0. Written with c = (ξ_a, −ξ_b) on the rows of both bodies, r = c Q and r_e = c_e Q, c_e = ∂c/∂α_e,

    G dα = −B·dQ,   B_e = c ⊗ r_e + c_e ⊗ r,   G_ef = r_e·r_f
"""

from __future__ import annotations

import numpy as np

from dovetail.kernel.kernel import kernel
from dovetail.kernel.record import Record, f8, i8
from dovetail.solver.contact.active import ActiveContacts
from dovetail.solver.contact.contact import Contact
from dovetail.solver.contact.ease import with_ranges
from dovetail.solver.contact.kinds import (
    EDGE_EDGE,
    KIND,
    POINT_EDGE,
    POINT_PLANE,
    POINT_TRIANGLE,
    X0,
    A,
    B,
    corners_of,
    split_of,
)
from dovetail.solver.contact.motion import record_motion
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.islands import Islands
from dovetail.typing import Array, Indices

__all__ = ["Touching", "Walk", "corner", "materials_of", "set_weights"]

_INSIDE = 1e-12  # weight at which a closest point counts as on the border of its feature


class Touching(Record):
    """Contacts (k,) at a state; see solver/contact/active.py.

    bodies (k, 2)                        b = −1 for a half-plane
    c (k, 8), r (k, 3), D (k,)           weights, gap and its square
    kappa, weight, slope (k,)            h²κ, mollifier m and m′
    pairs (k, ·), numbers (k, ·)         candidates, see solver/contact/kinds.py
    c_e (k, 2, 8), r_e (k, 2, 3)         how the closest points move, 0 where nothing is free
    inverse (k, 2, 2)                    G⁻¹
    """

    bodies: Indices = i8(2)
    c: Array = f8(2)
    r: Array = f8(2)
    D: Array = f8(1)
    kappa: Array = f8(1)
    weight: Array = f8(1)
    slope: Array = f8(1)
    pairs: Indices = i8(2)
    numbers: Array = f8(2)
    c_e: Array = f8(3)
    r_e: Array = f8(3)
    inverse: Array = f8(3)

    def __init__(self, s: ActiveContacts, scene: ContactScene, Q: Array) -> None:
        n = s.count
        at = s.candidate[:n]
        super().__init__(
            bodies=s.bodies[:n].copy(), c=s.xi[:n].copy(), r=s.r[:n].copy(), D=s.squared[:n].copy(),
            kappa=s.kappa[:n].copy(), weight=s.weight[:n].copy(), slope=s.slope[:n].copy(),
            pairs=s.candidates.pairs[at], numbers=s.candidates.numbers[at], c_e=np.zeros((n, 2, 8)),
            r_e=np.zeros((n, 2, 3)), inverse=np.zeros((n, 2, 2)),
        )  # fmt: skip
        self.count = n
        _describe(self, scene, Q)


class Walk:
    """Contacts of one state after another: candidates are looked for where states have gone too far for the last look.

    It is a watch of its own, so that steps that follow find that of the contact as it was.
    """

    def __init__(self, contact: Contact) -> None:
        n = len(contact.scene.material)
        self._contact, self._active = contact, contact.contacts()
        along = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
        self._together = Islands(np.ones(n, np.int64), along, np.zeros(n, np.int64))
        self._together.alpha[:] = 1.0
        self._ones, self._all = np.ones(n), np.ones(n, np.int64)
        self._watch, self._Q = contact.watch, np.zeros((0, 4, 3))

    def to(self, Q: Array, h: float, ranges: tuple[Indices, Array] | None = None) -> Touching:
        """The contacts at Q of a step of length h, in which some pairs have a share of their range, see eased.py."""
        watch, contact = self._watch, self._contact
        knows = len(self._Q) == len(Q) and not watch.is_short
        if knows:
            step = np.ascontiguousarray((self._Q - Q).reshape(-1, 12))
            watch.update_candidates(self._Q, step, self._together, self._ones, self._active.count, self._all)
            record_motion(watch, self._together)
        if not knows or watch.is_short:  # what is cut short does not reach to the next state
            self._watch = watch = contact.watch.query(Q)
        self._Q, kept = Q, watch.candidates
        if ranges is not None:
            watch.candidates = with_ranges(contact.scene, kept, *ranges)
        contact.find(watch, Q, h, self._active, np.zeros(len(Q)))
        watch.candidates = kept
        return Touching(self._active, contact.scene, Q)

    def nowhere(self, Q: Array) -> Touching:
        """No contacts at all."""
        return Touching(ActiveContacts(np.zeros((0, 3)), 0), self._contact.scene, Q)


def materials_of(scene: ContactScene, t: Touching) -> tuple[Indices, Indices]:
    """Contact elements of both sides of contacts, the smaller first."""
    a, b = t.bodies.T
    planes = np.clip(t.pairs[:, X0 + 1], 0, max(len(scene.plane_material) - 1, 0))
    on_plane = scene.plane_material[planes] if len(scene.plane_material) else planes
    a, b = scene.material[a], np.where(t.pairs[:, KIND] == POINT_PLANE, on_plane, scene.material[b])
    return np.minimum(a, b), np.maximum(a, b)


@kernel
def corner(t: Touching, scene: ContactScene, k: int, i: int, side: int) -> tuple[float, float, float]:
    """Material position of vertex i of contact k, on body a (side 0) or b (1)."""
    V, at = scene.V, t.pairs[k, X0 + i] - scene.x_base[t.pairs[k, B if side else A]]
    return V[at, 0], V[at, 1], V[at, 2]


@kernel
def edge_weight(t: Touching, scene: ContactScene, k: int, i: int, side: int) -> float:
    """Where the closest point of contact k is on the edge from vertex i to the next, 0 to 1."""
    p0, p1, p2 = corner(t, scene, k, i, side)
    q0, q1, q2 = corner(t, scene, k, i + 1, side)
    u0, u1, u2 = q0 - p0, q1 - p1, q2 - p2
    sign, first = 1.0 - 2.0 * side, 4 * side
    along = (sign * t.c[k, first + 1] - p0) * u0 + (sign * t.c[k, first + 2] - p1) * u1
    along += (sign * t.c[k, first + 3] - p2) * u2
    weight: float = along / max(u0 * u0 + u1 * u1 + u2 * u2, 1e-300)
    return weight


@kernel
def triangle_weights(t: Touching, scene: ContactScene, k: int) -> tuple[float, float]:
    """Weights v, w of the second and third vertex at the closest point of contact k in its triangle."""
    p, q, s = corner(t, scene, k, 1, 1), corner(t, scene, k, 2, 1), corner(t, scene, k, 3, 1)
    a = b = d = e = f = 0.0
    for x in range(3):
        first, second, point = q[x] - p[x], s[x] - p[x], -t.c[k, 5 + x] - p[x]
        a += first * first
        b += first * second
        d += second * second
        e += first * point
        f += second * point
    size = a * d - b * b
    return (d * e - b * f) / size, (a * f - b * e) / size


@kernel
def set_weights(t: Touching, scene: ContactScene, k: int, w: Array) -> None:
    """w (3, 4) ← weights of the vertices of contact k in c, and in the c_e along which its closest points may move.

    On an edge of a triangle the one parameter runs along it: w = 0 along the first side, v = 0 along the second, u = 0
    along the third.
    """
    kind = t.pairs[k, KIND]
    for p in range(3):
        for i in range(4):
            w[p, i] = 0.0
    w[0, 0] = 1.0
    if kind == EDGE_EDGE:
        along, other = edge_weight(t, scene, k, 0, 0), edge_weight(t, scene, k, 2, 1)
        w[0, 0], w[0, 1], w[0, 2], w[0, 3] = 1.0 - along, along, other - 1.0, -other
        if _INSIDE < along < 1.0 - _INSIDE:
            w[1, 0], w[1, 1] = -1.0, 1.0
        if _INSIDE < other < 1.0 - _INSIDE:
            w[2, 2], w[2, 3] = 1.0, -1.0
    elif kind == POINT_EDGE:
        along = edge_weight(t, scene, k, 1, 1)
        w[0, 1], w[0, 2] = along - 1.0, -along
        if _INSIDE < along < 1.0 - _INSIDE:
            w[1, 1], w[1, 2] = 1.0, -1.0
    elif kind == POINT_TRIANGLE:
        second, third = triangle_weights(t, scene, k)
        first = 1.0 - second - third
        w[0, 1], w[0, 2], w[0, 3] = -first, -second, -third
        on_first, on_second, on_third = first > _INSIDE, second > _INSIDE, third > _INSIDE
        inside = int(on_first) + int(on_second) + int(on_third)
        if inside == 3:
            w[1, 1], w[1, 2], w[2, 1], w[2, 3] = 1.0, -1.0, 1.0, -1.0
        elif inside == 2:
            w[1, 1 if on_first else 2] = 1.0
            w[1, 3 if on_third else 2] = -1.0


@kernel
def _describe(t: Touching, scene: ContactScene, Q: Array) -> None:
    """c ← with the sign of its body; c_e, r_e, G⁻¹ ← those at Q."""
    c, c_e, r_e, inverse = t.c, t.c_e, t.r_e, t.inverse
    w = np.empty((3, 4))
    for k in range(len(c)):
        a, b, kind = t.bodies[k, 0], t.bodies[k, 1], t.pairs[k, KIND]
        for i in range(4, 8):
            c[k, i] = -c[k, i] if b >= 0 else 0.0
        set_weights(t, scene, k, w)
        for i in range(corners_of(kind)):
            side = 0 if i < split_of(kind) else 1
            position = corner(t, scene, k, i, side)
            for e in range(2):
                for x in range(3):
                    c_e[k, e, 4 * side + 1 + x] += w[1 + e, i] * position[x]
        g00 = g01 = g11 = 0.0
        for x in range(3):
            for e in range(2):
                for i in range(1, 4):
                    r_e[k, e, x] += c_e[k, e, i] * Q[a, i, x]
                    if b >= 0:
                        r_e[k, e, x] += c_e[k, e, 4 + i] * Q[b, i, x]
            g00 += r_e[k, 0, x] * r_e[k, 0, x]
            g01 += r_e[k, 0, x] * r_e[k, 1, x]
            g11 += r_e[k, 1, x] * r_e[k, 1, x]
        size = g00 * g11 - g01 * g01
        if g00 > 0.0 and g11 > 0.0:
            inverse[k, 0, 0], inverse[k, 1, 1] = g11 / size, g00 / size
            inverse[k, 0, 1] = inverse[k, 1, 0] = -g01 / size
        elif g00 > 0.0:
            inverse[k, 0, 0] = 1.0 / g00
        elif g11 > 0.0:
            inverse[k, 1, 1] = 1.0 / g11
