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
from dovetail.solver.linear.ordering import NO_BLOCK
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
        both = np.concatenate([self._start.bodies, self._end.bodies])
        return np.unique(both[both[:, 1] >= 0], axis=0)

    def assemble(self, blocks: Blocks) -> None:
        """Add gradient and true Hessian at the end of the step."""
        t = self._end
        if t.count:
            g, H = _barrier(self._scene, t, self._Q_end)
            _add(t, g, H, blocks)
        t = self._start
        if t.count:
            g = np.einsum("ki,kx->kix", t.c, (self._load * self._f1)[:, None] * self._slip)
            along = np.divide(self._f1_slope, self._y, out=np.zeros_like(self._y), where=self._y > 0.0)
            inner = np.eye(3) - self._n[:, :, None] * self._n[:, None]
            inner = self._f1[:, None, None] * inner + along[:, None, None] * self._slip[:, :, None] * self._slip[:, None]
            H = np.einsum("ki,kj,kxz->kixjz", t.c, t.c, self._load[:, None, None] * inner)
            _add(t, g, H, blocks)

    def back(self, x: Array, Q_bar: Array, sums: Sums) -> None:
        """Q_bar −= ∂(x·g)/∂Qₙ of lagged friction; gradients by friction and stiffness of materials go to the sums."""
        if self._end.count:
            t = self._end
            g, _ = _barrier(self._scene, t, self._Q_end, with_hessian=False)
            self._tell(t, (g * t.images(x)).sum(axis=(1, 2)), sums)
        if self._start.count:
            by_Q, work = self._lag(x)
            t = self._start
            np.subtract.at(Q_bar, t.bodies[:, 0], by_Q[:, :4])
            met = t.bodies[:, 1] >= 0
            np.subtract.at(Q_bar, t.bodies[met, 1], by_Q[met, 4:])
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
        if (t.slope > 0.0).any():
            scale = work * t.slope / t.weight
            by_Q += scale[:, None, None] * _cross(self._scene, t, self._Q)[1]
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


def _barrier(scene: ContactScene, t: Touching, Q: Array, with_hessian: bool = True) -> tuple[Array, Array]:
    """Gradient (k, 8, 3) and Hessian (k, 8, 3, 8, 3) of κ m b(D)."""
    value, first, second = t.barrier()
    scale = t.weight * t.kappa
    along = t.c[:, :, None] * t.r[:, None]  # ½ ∇D
    g = (2.0 * scale * first)[:, None, None] * along
    bent = t.slope > 0.0
    uv, cross = _cross(scene, t, Q)
    g += (t.kappa * value * t.slope)[:, None, None] * cross
    if not with_hessian:
        return g, along
    flat = along.reshape(-1, 24)
    H = (4.0 * scale * second)[:, None, None] * flat[:, :, None] * flat[:, None]
    # a half-plane has the distance along its normal alone
    plane = t.is_plane
    unit = np.where(plane[:, None, None], t.r[:, :, None] * t.r[:, None] / t.D[:, None, None], np.eye(3))
    H += np.einsum("ki,kj,kxz->kixjz", t.c, t.c, (2.0 * scale * first)[:, None, None] * unit).reshape(-1, 24, 24)
    m = moving(scene, t, Q)
    B = m.B.reshape(-1, 2, 24)
    H -= (2.0 * scale * first)[:, None, None] * (B.swapaxes(1, 2) @ m.inverse @ B)
    if bent.any():
        H[bent] += _mollified(scene, t.chosen(bent), uv[:, bent], cross[bent], flat[bent], value[bent], first[bent])
    return g, H.reshape(-1, 8, 3, 8, 3)


def _mollified(
    scene: ContactScene, t: Touching, uv: Array, cross: Array, along: Array, value: Array, first: Array
) -> Array:
    """What the mollifier m(c), c = |u × v|², adds: κ(b m″ ∇c∇cᵀ + b m′ ∇²c + m′b′(∇c∇Dᵀ + ∇D∇cᵀ)) (k, 24, 24)."""
    u, v = uv
    e, c = edges(scene, t), cross.reshape(-1, 24)
    mixed = c[:, :, None] * along[:, None]
    H = (-2.0 / t.width**2 * t.kappa * value)[:, None, None] * c[:, :, None] * c[:, None]
    H += (2.0 * t.kappa * t.slope * first)[:, None, None] * (mixed + mixed.swapaxes(1, 2))

    def square(a: Array, b: Array) -> Array:
        return a[:, :, None] * b[:, None]

    one = np.eye(3)
    uu, vv, dot = ((a * b).sum(axis=1)[:, None, None] for a, b in ((u, u), (v, v), (u, v)))
    parts = ((0, 0, 2.0 * (vv * one - square(v, v))), (1, 1, 2.0 * (uu * one - square(u, u))))
    bend = np.zeros((t.count, 8, 3, 8, 3))
    for i, j, inner in parts:
        bend += np.einsum("ki,kj,kxz->kixjz", e[:, i], e[:, j], inner)
    across = np.einsum("ki,kj,kxz->kixjz", e[:, 0], e[:, 1], 4.0 * square(u, v) - 2.0 * dot * one - 2.0 * square(v, u))
    bend += across + across.transpose(0, 3, 4, 1, 2)
    return np.asarray(H + (t.kappa * value * t.slope)[:, None, None] * bend.reshape(-1, 24, 24))


def _add(t: Touching, g: Array, H: Array, blocks: Blocks) -> None:
    """Add gradients (k, 8, 3) and Hessians (k, 8, 3, 8, 3) to the blocks; rows of fixed bodies are never read."""
    a, b = t.bodies.T
    flat, square = g.reshape(-1, 2, 12), H.reshape(-1, 2, 12, 2, 12)
    met = b >= 0
    np.add.at(blocks.g, a, flat[:, 0])
    np.add.at(blocks.g, b[met], flat[met, 1])
    np.add.at(blocks.D, a, square[:, 0, :, 0])
    np.add.at(blocks.D, b[met], square[met, 1, :, 1])
    itself = met & (a == b)
    np.add.at(blocks.D, a[itself], square[itself, 0, :, 1] + square[itself, 1, :, 0])
    apart = np.flatnonzero(met & (a != b))
    place = np.full(len(apart), NO_BLOCK)
    blocks.locate(np.ascontiguousarray(a[apart]), np.ascontiguousarray(b[apart]), place)
    forward, backward = place >= 0, (place < 0) & (place != NO_BLOCK)
    np.add.at(blocks.U, place[forward], square[apart[forward], 0, :, 1])
    np.add.at(blocks.U, -2 - place[backward], square[apart[backward], 1, :, 0])
