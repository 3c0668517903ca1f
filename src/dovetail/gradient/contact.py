"""Contact in an adjoint: gradient and true Hessian of barriers and lagged friction, and what the lag passes back.

    barrier     κ m b(D), D = |r|²      ∇²D = 2(JᵀJ − Bᵀ G⁻¹ B)       J = c ⊗ 1, B and G as in touching.py
    friction    μN f₀(|u|),  u = P c(Q − Qₙ),  P = 1 − n nᵀ            N, P and c are those at Qₙ

Newton's method keeps the part of ∇²D along n alone; here all of it counts: without it gradients are wrong by half.
"""

from __future__ import annotations

import numpy as np

from dovetail.gradient.sums import Sums
from dovetail.gradient.touching import Moving, Touching, edges, moving
from dovetail.solver.blocks import Blocks
from dovetail.solver.contact.contact import Contact
from dovetail.solver.contact.kinds import X0
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.kernel import kernel
from dovetail.solver.linear.ordering import NO_BLOCK, flipped
from dovetail.typing import Array, Indices

__all__ = ["ContactAdjoint"]


class ContactAdjoint:
    """Contacts of one step: those at its end, and at its start, from where friction lags."""

    def __init__(self, contact: Contact, start: Touching, end: Touching, Q: Array, Q_end: Array, h: float) -> None:
        self._scene, self._end, self._Q, self._Q_end = contact.scene, end, Q, Q_end
        self._mass = contact._mass
        _, first, _ = start.barrier()
        load = -2.0 * start.mu * np.sqrt(start.D) * first * start.weight * start.kappa
        rubs = (load > 0.0) & contact._with_friction
        moving(self._scene, start, Q)  # for the step before this one, too
        self._start, self._load = start.chosen(rubs), load[rubs]
        t = self._start
        self._epsilon, self._d = contact._eps_velocity * h, np.sqrt(t.D)
        self._n = t.r / self._d[:, None]
        self._move = np.einsum("ki,kix->kx", t.c, t.images(Q_end - Q))
        self._slip = self._across(self._move)
        self._y = np.sqrt((self._slip**2).sum(axis=1))
        eps, slow = self._epsilon, self._y < self._epsilon
        y = np.where(slow, 1.0, self._y)
        self._f1 = np.where(slow, (2.0 - self._y / eps) / eps, 1.0 / y)  # f₀′/y, and its slope
        self._f1_slope = np.where(slow, -1.0 / eps**2, -1.0 / y**2)

    def _across(self, x: Array) -> Array:
        """P x (k, 3)."""
        return np.asarray(x - (self._n * x).sum(axis=1)[:, None] * self._n)

    @property
    def pairs(self) -> Indices:
        """Pairs of bodies (k, 2) that need a block."""
        both, n = np.concatenate([self._start.bodies, self._end.bodies]), len(self._Q)
        key = np.unique((both[:, 0] * n + both[:, 1])[both[:, 1] >= 0])
        return np.stack([key // n, key % n], axis=1)

    def assemble(self, blocks: Blocks) -> None:
        """Add gradient and true Hessian at the end of the step."""
        t = self._end
        if t.count:
            _add_barriers(self._scene, t, self._Q_end, blocks)
        t = self._start
        if t.count:
            along = np.divide(self._f1_slope, self._y, out=np.zeros_like(self._y), where=self._y > 0.0)
            inner = self._f1[:, None, None] * (np.eye(3) - self._n[:, :, None] * self._n[:, None])
            inner += along[:, None, None] * self._slip[:, :, None] * self._slip[:, None]
            _add_gradient(t, t.c[:, :, None] * ((self._load * self._f1)[:, None] * self._slip)[:, None], blocks.g)
            M = self._load[:, None, None] * inner
            add_terms(
                t.bodies, _places(t, blocks), t.c, t.c, M, np.zeros((t.count, 0, 24)), np.zeros((t.count, 0)), blocks
            )

    def back(self, x: Array, Q_bar: Array, sums: Sums) -> None:
        """Q_bar −= ∂(x·g)/∂Qₙ of lagged friction; gradients by friction and stiffness of materials go to the sums."""
        if self._end.count:
            t = self._end
            g = _barrier_gradient(self._scene, t, self._Q_end)
            self._tell(t, (g * t.images(x)).sum(axis=(1, 2)), sums)
        if self._start.count:
            by_Q, work = self._lag(x)
            t = self._start
            _scatter(t.bodies, -by_Q, Q_bar)
            self._tell(t, work, sums)
            np.add.at(sums.log_mu, _materials(self._scene, t), -work)

    def _tell(self, t: Touching, work: Array, sums: Sums) -> None:
        """Gradients by ln κ of contacts with x·g (k,); that of adaptive ones is a multiple of the larger mass."""
        np.add.at(sums.log_contact_kappa, _materials(self._scene, t), np.where(t.adaptive, 0.0, -work))
        a, b = t.bodies.T
        heavier = np.where((b >= 0) & (self._mass[b] > self._mass[a]), b, a)
        np.add.at(sums.log_mass, heavier[t.adaptive], -work[t.adaptive])

    def _lag(self, x: Array) -> tuple[Array, Array]:
        """∂/∂Qₙ (k, 8, 3) of x·g of friction, and x·g itself (k,)."""
        t, n, load, f1, move = self._start, self._n, self._load, self._f1, self._move
        push = np.einsum("ki,kix->kx", t.c, t.images(x))
        slip, pushed = self._slip, self._across(push)
        inner = (slip * pushed).sum(axis=1)
        along = np.divide(self._f1_slope * inner, self._y, out=np.zeros_like(inner), where=self._y > 0.0)
        by_move = load[:, None] * (f1[:, None] * pushed + along[:, None] * slip)
        by_push = (load * f1)[:, None] * slip
        n_move, n_push = (n * move).sum(axis=1)[:, None], (n * push).sum(axis=1)[:, None]
        by_n = -load[:, None] * (f1[:, None] * (n_push * move + n_move * push) + along[:, None] * n_move * move)
        work = load * f1 * inner
        _, first, second = t.barrier()
        # μN = −2μmκ d b′, by D
        by_D = work * (0.5 / t.D + second / first)
        by_r = (by_n - (n * by_n).sum(axis=1)[:, None] * n) / self._d[:, None]
        by_r[t.is_plane] = 0.0  # whose normal stays
        by_Q = t.c[:, :, None] * (2.0 * by_D[:, None] * t.r + by_r - by_move)[:, None]
        m: Moving = moving(self._scene, t, self._Q)
        moved, pushed = m.c @ t.images(self._Q_end - self._Q), m.c @ t.images(x)
        by_alpha = (moved * by_move[:, None] + pushed * by_push[:, None] + m.r * by_r[:, None]).sum(axis=2)
        by_Q -= np.einsum("kf,kfix->kix", np.einsum("kfe,ke->kf", m.inverse, by_alpha), m.B)
        bent = t.slope > 0.0
        if bent.any():
            scale = (work * t.slope / t.weight)[bent, None, None]
            by_Q[bent] += scale * _cross(self._scene, t.chosen(bent), self._Q)[1]
        return by_Q, work


def _materials(scene: ContactScene, t: Touching) -> tuple[Indices, Indices]:
    """Contact elements of both sides of contacts, the smaller first."""
    a, b = t.bodies.T
    planes = np.clip(t.pairs[:, X0 + 1], 0, max(len(scene.plane_material) - 1, 0))
    on_plane = scene.plane_material[planes] if len(scene.plane_material) else planes
    a, b = scene.material[a], np.where(t.is_plane, on_plane, scene.material[b])
    return np.minimum(a, b), np.maximum(a, b)


def _cross(scene: ContactScene, t: Touching, Q: Array) -> tuple[Array, Array]:
    """The edges u, v (2, k, 3) of pairs of edges, and ∇|u × v|² (k, 8, 3); 0 for other kinds."""
    e = edges(scene, t)
    uv = (e @ t.images(Q)).swapaxes(0, 1)
    u, v = uv
    on_u = 2.0 * ((v * v).sum(axis=1)[:, None] * u - (u * v).sum(axis=1)[:, None] * v)
    on_v = 2.0 * ((u * u).sum(axis=1)[:, None] * v - (u * v).sum(axis=1)[:, None] * u)
    return uv, e[:, 0, :, None] * on_u[:, None] + e[:, 1, :, None] * on_v[:, None]


def _barrier_gradient(scene: ContactScene, t: Touching, Q: Array) -> Array:
    """Gradient (k, 8, 3) of κ m b(D)."""
    value, first, _ = t.barrier()
    g: Array = t.c[:, :, None] * ((2.0 * t.weight * t.kappa * first)[:, None] * t.r)[:, None]
    bent = t.slope > 0.0
    if bent.any():
        _, cross = _cross(scene, t.chosen(bent), Q)
        g[bent] += (t.kappa * value * t.slope)[bent, None, None] * cross
    return g


def _add_barriers(scene: ContactScene, t: Touching, Q: Array, blocks: Blocks) -> None:
    """Add gradient and Hessian of κ m b(D): multiples of ½∇D and of both rows of B, G⁻¹ = L Lᵀ, and of JᵀJ."""
    value, first, second = t.barrier()
    scale = t.weight * t.kappa
    _add_gradient(t, _barrier_gradient(scene, t, Q), blocks.g)
    along = (t.c[:, :, None] * t.r[:, None]).reshape(-1, 24)
    # a half-plane has the distance along its normal alone
    unit = np.where(t.is_plane[:, None, None], t.r[:, :, None] * t.r[:, None] / t.D[:, None, None], np.eye(3))
    m, push = moving(scene, t, Q), 2.0 * scale * first
    l0 = np.sqrt(m.inverse[:, 0, 0])
    l1 = np.divide(m.inverse[:, 1, 0], l0, out=np.zeros_like(l0), where=l0 > 0.0)
    l2 = np.sqrt(np.maximum(m.inverse[:, 1, 1] - l1 * l1, 0.0))
    B = m.B.reshape(-1, 2, 24)
    w = np.stack([along, l0[:, None] * B[:, 0] + l1[:, None] * B[:, 1], l2[:, None] * B[:, 1]], axis=1)
    places, s = _places(t, blocks), np.stack([4.0 * scale * second, -push, -push], axis=1)
    add_terms(t.bodies, places, t.c, t.c, push[:, None, None] * unit, w, s, blocks)
    bent = t.slope > 0.0
    if bent.any():
        some = t.chosen(bent)
        _add_mollified(scene, some, places[bent], Q, along[bent], (value[bent], first[bent]), blocks)


def _add_mollified(
    scene: ContactScene, t: Touching, places: Indices, Q: Array, along: Array, b: tuple[Array, Array], blocks: Blocks
) -> None:
    """Add what the mollifier m(c), c = |u × v|², brings: κ(b m″ ∇c∇cᵀ + m′b′(∇c∇Dᵀ + ∇D∇cᵀ) + b m′ ∇²c)."""
    (u, v), cross = _cross(scene, t, Q)
    e, c, (value, first) = edges(scene, t), cross.reshape(-1, 24), b
    mixed = t.kappa * t.slope * first  # ∇D is twice `along`, and x yᵀ + y xᵀ half of the squares of x ± y
    s = np.stack([-2.0 / t.width**2 * t.kappa * value, mixed, -mixed], axis=1)
    w = np.stack([c, c + along, c - along], axis=1)
    scale, one = (t.kappa * value * t.slope)[:, None, None], np.eye(3)
    uu, vv, uv = ((a * b).sum(axis=1)[:, None, None] for a, b in ((u, u), (v, v), (u, v)))
    on_u, on_v = 2.0 * (vv * one - _square(v, v)), 2.0 * (uu * one - _square(u, u))
    between = 4.0 * _square(u, v) - 2.0 * uv * one - 2.0 * _square(v, u)
    none = w[:, :0], s[:, :0]
    first_row, second_row = np.ascontiguousarray(e[:, 0]), np.ascontiguousarray(e[:, 1])
    for c, d, M, (vectors, sizes) in (
        (first_row, first_row, on_u, (w, s)),
        (second_row, second_row, on_v, none),
        (first_row, second_row, between, none),
        (second_row, first_row, between.swapaxes(1, 2), none),
    ):
        add_terms(t.bodies, places, c, d, np.ascontiguousarray(scale * M), vectors.copy(), sizes.copy(), blocks)


def _square(a: Array, b: Array) -> Array:
    """a bᵀ (k, 3, 3)."""
    return np.asarray(a[:, :, None] * b[:, None])


def _places(t: Touching, blocks: Blocks) -> Indices:
    """The block (k,) of the two bodies of each contact, see linear/ordering.py."""
    place = np.full(t.count, NO_BLOCK)
    met = np.flatnonzero((t.bodies[:, 1] >= 0) & (t.bodies[:, 0] != t.bodies[:, 1]))
    found = np.full(len(met), NO_BLOCK)
    blocks.locate(np.ascontiguousarray(t.bodies[met, 0]), np.ascontiguousarray(t.bodies[met, 1]), found)
    place[met] = found
    return place


def _add_gradient(t: Touching, by: Array, g: Array) -> None:
    """g (n, 12) += gradients (k, 8, 3) on both bodies."""
    _scatter(t.bodies, by, g.reshape(-1, 4, 3))


@kernel
def _scatter(bodies: Indices, by: Array, out: Array) -> None:
    """out (n, 4, 3) += by (k, 8, 3) on the bodies (k, 2)."""
    for k in range(len(bodies)):
        for side in range(2):
            b = bodies[k, side]
            if b >= 0:
                for i in range(4):
                    for x in range(3):
                        out[b, i, x] += by[k, 4 * side + i, x]


@kernel
def _add_block(c: Array, d: Array, M: Array, w: Array, s: Array, first: int, second: int, target: Array) -> None:
    """target (12, 12) += c dᵀ ⊗ M + Σ s w wᵀ, rows of side `first` and columns of side `second`."""
    for i in range(4):
        for j in range(4):
            weight = c[4 * first + i] * d[4 * second + j]
            for x in range(3):
                for z in range(3):
                    target[3 * i + x, 3 * j + z] += weight * M[x, z]
    for f in range(len(s)):
        for i in range(12):
            value = s[f] * w[f, 12 * first + i]
            for j in range(12):
                target[i, j] += value * w[f, 12 * second + j]


@kernel
def add_terms(
    bodies: Indices, places: Indices, c: Array, d: Array, M: Array, w: Array, s: Array, blocks: Blocks
) -> None:
    """Add Hessians c dᵀ ⊗ M + Σ s w wᵀ of contacts to the blocks; c, d (k, 8), M (k, 3, 3), w (k, f, 24), s (k, f)."""
    D, U = blocks.D, blocks.U
    for k in range(len(bodies)):
        a, b, place = bodies[k, 0], bodies[k, 1], places[k]
        _add_block(c[k], d[k], M[k], w[k], s[k], 0, 0, D[a])
        if b < 0:
            continue
        _add_block(c[k], d[k], M[k], w[k], s[k], 1, 1, D[b])
        if a == b:
            _add_block(c[k], d[k], M[k], w[k], s[k], 0, 1, D[a])
            _add_block(c[k], d[k], M[k], w[k], s[k], 1, 0, D[a])
        elif place >= 0:
            _add_block(c[k], d[k], M[k], w[k], s[k], 0, 1, U[place])
        elif place != NO_BLOCK:
            _add_block(c[k], d[k], M[k], w[k], s[k], 1, 0, U[flipped(place)])
