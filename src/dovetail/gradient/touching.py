"""Contacts of one state as arrays, with what their closest points do when bodies move.

A contact is r = ξ_a Q_a − ξ_b Q_b, with weights that depend on up to two parameters α, at which r is shortest:
r·∂r/∂α = 0. Written with c = (ξ_a, −ξ_b) on the rows of both bodies, r = c Q and r_i = c_i Q, c_i = ∂c/∂α_i,

    G dα = −B·dQ,   B_i = c ⊗ r_i + c_i ⊗ r,   G_ij = r_i·r_j
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.solver.contact.contact import Contact
from dovetail.solver.contact.kinds import (
    D_HAT,
    EDGE_EDGE,
    KAPPA,
    KIND,
    MU,
    POINT_EDGE,
    POINT_PLANE,
    POINT_TRIANGLE,
    SHAPE,
    THICKNESS,
    X0,
    A,
    B,
)
from dovetail.solver.contact.scene import ContactScene
from dovetail.typing import Array, Flags, Indices

__all__ = ["Moving", "Touching", "edges", "moving", "touching_at"]

_INSIDE = 1e-12  # weight at which a closest point counts as on the border of its feature


@dataclass(slots=True)
class Moving:
    """How contacts follow their bodies: c_i, r_i (k, 2, 3), G⁻¹ (k, 2, 2), B (k, 2, 8, 3); 0 where nothing is free."""

    c: Array
    r: Array
    inverse: Array
    B: Array


@dataclass(slots=True)
class Touching:
    """Contacts (k,) at Q; see solver/contact/active.py.

    bodies (k, 2), c (k, 8), r (k, 3), D (k,)     b = −1 for a half-plane
    kappa, weight, slope, mu, thickness, d_hat (k,)
    adaptive (k,), pairs (k, 8), width (k,)       candidates, and ε of their mollifier
    moves                                         what `moving` has found
    """

    bodies: Indices
    c: Array
    r: Array
    D: Array
    kappa: Array
    weight: Array
    slope: Array
    mu: Array
    thickness: Array
    d_hat: Array
    adaptive: Flags
    pairs: Indices
    width: Array
    moves: Moving | None = None

    @property
    def count(self) -> int:
        return len(self.D)

    @property
    def is_plane(self) -> Flags:
        return np.asarray(self.pairs[:, KIND] == POINT_PLANE)

    def chosen(self, which: Flags | Indices) -> Touching:
        """Some of them."""
        moves = self.moves
        some = None if moves is None else Moving(*(getattr(moves, name)[which] for name in moves.__slots__))
        return Touching(**{name: getattr(self, name)[which] for name in self.__slots__ if name != "moves"}, moves=some)

    def images(self, X: Array) -> Array:
        """[X_a; X_b] (k, 8, 3); what stands for a half-plane does not count."""
        return np.concatenate([X[self.bodies[:, 0]], X[self.bodies[:, 1]]], axis=1)

    def barrier(self) -> tuple[Array, Array, Array]:
        """b, b′, b″ by D (k,), for κ = 1: solver/contact/barrier.py."""
        inner, outer = self.thickness**2, (self.thickness + self.d_hat) ** 2
        x, gap = self.D - outer, self.D - inner
        log = np.log(gap / (outer - inner))
        return -x * x * log, -x * (2.0 * log + x / gap), -(2.0 * log + 4.0 * x / gap - (x / gap) ** 2)


def touching_at(contact: Contact, Q: Array, h: float) -> Touching:
    """All contacts at Q of a step of length h, by a look of their own."""
    contact.watch.forget()  # whatever is known is known elsewhere
    s = contact.survey(Q, Q, h).active
    n, candidates = s.count, s.candidates
    at = s.candidate[:n]
    pairs, numbers = candidates.pairs[at], candidates.numbers[at]
    c = s.xi[:n].copy()
    c[:, 4:] *= -1.0
    c[pairs[:, B] < 0, 4:] = 0.0
    return Touching(
        s.bodies[:n].copy(), c, s.r[:n].copy(), s.squared[:n].copy(), s.kappa[:n].copy(), s.weight[:n].copy(),
        s.slope[:n].copy(), numbers[:, MU].copy(), numbers[:, THICKNESS].copy(), numbers[:, D_HAT].copy(),
        numbers[:, KAPPA] < 0.0, pairs.copy(), numbers[:, SHAPE].copy(),
    )  # fmt: skip


def corner(scene: ContactScene, t: Touching, i: int, side: int) -> Array:
    """Material position (k, 3) of vertex i of all candidates, on body a (side 0) or b (1)."""
    body = t.pairs[:, B if side else A]
    return np.asarray(scene.V[np.clip(t.pairs[:, X0 + i] - scene.x_base[body], 0, len(scene.V) - 1)])


def edges(scene: ContactScene, t: Touching) -> Array:
    """Material rows (k, 2, 8) of the edges u on body a and v on body b of pairs of edges; 0 for other kinds."""
    out = np.zeros((t.count, 2, 8))
    on = t.pairs[:, KIND] == EDGE_EDGE
    out[on, 0, 1:4] = (corner(scene, t, 1, 0) - corner(scene, t, 0, 0))[on]
    out[on, 1, 5:8] = (corner(scene, t, 3, 1) - corner(scene, t, 2, 1))[on]
    return out


def parameters(scene: ContactScene, t: Touching) -> tuple[Array, Flags]:
    """c_i (k, 2, 8) of the parameters of the closest points, and which of them (k, 2) are free; the others are 0."""
    out, free = np.zeros((t.count, 2, 8)), np.zeros((t.count, 2), np.bool_)
    kind = t.pairs[:, KIND]
    on = kind == EDGE_EDGE
    if on.any():
        e = edges(scene, t)
        out[on, 0], out[on, 1] = e[on, 0], -e[on, 1]
        s = _weight(t.c[:, 1:4] - corner(scene, t, 0, 0), e[:, 0, 1:4])
        v = _weight(-t.c[:, 5:8] - corner(scene, t, 2, 1), e[:, 1, 5:8])
        free[on] = np.stack([_is_inside(s), _is_inside(v)], axis=1)[on]
    on = kind == POINT_EDGE
    if on.any():
        along = corner(scene, t, 2, 1) - corner(scene, t, 1, 1)
        out[on, 0, 5:8] = -along[on]
        free[on, 0] = _is_inside(_weight(-t.c[:, 5:8] - corner(scene, t, 1, 1), along))[on]
    on = kind == POINT_TRIANGLE
    if on.any():
        x1, x2, x3 = (corner(scene, t, i, 1)[on] for i in (1, 2, 3))
        sides = np.stack([x2 - x1, x3 - x1], axis=1)
        point = -t.c[on, 5:8] - x1
        v, w = np.linalg.solve(sides @ sides.swapaxes(1, 2), (sides @ point[:, :, None]))[:, :, 0].T
        u = 1.0 - v - w
        inside: Flags = np.asarray(np.stack([v, w, u], axis=1) > _INSIDE)
        count: Indices = inside.sum(axis=1)
        whole: Flags = count == 3
        # on an edge the one parameter runs along it: w = 0 along ab, v = 0 along ac, u = 0 along bc
        first = np.where(inside[:, 0, None], sides[:, 0], 0.0)
        first = np.where((~inside[:, 0])[:, None], sides[:, 1], first)
        first = np.where((~inside[:, 2])[:, None], sides[:, 1] - sides[:, 0], first)
        rows = np.zeros((len(x1), 2, 8))
        rows[:, 0, 5:8], rows[:, 1, 5:8] = np.where(whole[:, None], -sides[:, 0], -first), -sides[:, 1]
        out[on] = rows
        free[on] = np.stack([count >= 2, whole], axis=1)
    out[~free] = 0.0
    return out, free


def _weight(point: Array, along: Array) -> Array:
    """t of point = t · along (k,)."""
    return np.asarray((point * along).sum(axis=1) / np.maximum((along * along).sum(axis=1), 1e-300))


def _is_inside(t: Array) -> Flags:
    return np.asarray((t > _INSIDE) & (t < 1.0 - _INSIDE))


def moving(scene: ContactScene, t: Touching, Q: Array) -> Moving:
    """The derivatives of closest points at Q, which are kept."""
    if t.moves is not None:
        return t.moves
    c, free = parameters(scene, t)
    both = t.images(Q)
    r = c @ both
    gram = r @ r.swapaxes(1, 2)
    gram[:, [0, 1], [0, 1]] += ~free
    inverse: Array = np.linalg.inv(gram).astype(float) * (free[:, :, None] & free[:, None])
    made = t.c[:, None, :, None] * r[:, :, None] + c[..., None] * t.r[:, None, None]
    t.moves = Moving(c, r, inverse, made)
    return t.moves
