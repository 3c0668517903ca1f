"""Contact in an adjoint: barriers at the end of a step, lagged friction, and what the lag passes back.

friction    μN f₀(|u|),  u = P c(Q − Qₙ),  P = 1 − n nᵀ            N, P and c are those at Qₙ
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.gradient.barriers import (
    add_barriers,
    add_form,
    barrier_work,
    edges_of,
    require_blocks,
    slopes_of_cross,
)
from dovetail.gradient.lagged import Lagged
from dovetail.gradient.sums import Sums
from dovetail.gradient.surfaces import add_barrier_shapes, add_friction_shapes
from dovetail.gradient.touching import Touching, Walk, materials_of
from dovetail.kernel.kernel import kernel
from dovetail.solver.blocks import Blocks
from dovetail.solver.contact.barrier import barrier
from dovetail.solver.contact.contact import Contact
from dovetail.solver.contact.kinds import D_HAT, KAPPA, KIND, MU, POINT_PLANE, THICKNESS
from dovetail.solver.contact.scene import ContactScene
from dovetail.solver.linear.ordering import block_of
from dovetail.typing import Array, Flags, Indices

__all__ = ["ContactAdjoint"]


class ContactAdjoint:
    """Contacts of one step from Q to Q_end: those at its end, and at its start, from where friction `lags`."""

    def __init__(self, contact: Contact, start: Touching, end: Touching, Q: Array, Q_end: Array, h: float) -> None:
        self._contact, self._start, self._end, self._Q, self._Q_end = contact, start, end, Q, Q_end
        self._epsilon, self._h = contact.eps_velocity * h, h
        self.lags = contact.has_friction and start.count > 0

    @property
    def end(self) -> Touching:
        """Contacts at its end."""
        return self._end

    @property
    def range(self) -> float:
        """The shortest range of a barrier [m]."""
        return float(self._contact.scene.d_hat.min())

    def lag(self, walk: Walk | None, Q: Array) -> Array:
        """Gradient (n, 12) at the end of the step of friction that lags from Q instead."""
        assert walk is not None
        g = np.zeros((len(Q), 12))
        add_friction_gradient(walk.to(Q, self._h), self._epsilon, Q, self._Q_end, g)
        return g

    def fits(self, blocks: Blocks) -> bool:
        """Whether there is a block for every contact."""
        return all(blocks.has(t.bodies[: t.count]) for t in (self._start, self._end))

    @property
    def pairs(self) -> Indices:
        """Pairs of bodies (k, 2) that need a block."""
        both, n = np.concatenate([self._start.bodies, self._end.bodies]), len(self._Q)
        key = np.unique((both[:, 0] * n + both[:, 1])[both[:, 1] >= 0])
        return np.stack([key // n, key % n], axis=1)

    def assemble(self, blocks: Blocks) -> None:
        """Add gradient and true Hessian at the end of the step."""
        for t in (self._start, self._end):
            require_blocks(blocks, t.bodies[: t.count])
        if self._end.count:
            add_barriers(self._end, self._contact.scene, self._Q_end, blocks)
        if self.lags:
            self._assemble_friction(blocks)

    def _assemble_friction(self, blocks: Blocks) -> None:
        _add_friction(self._start, self._epsilon, self._Q, self._Q_end, blocks)
        add_friction_gradient(self._start, self._epsilon, self._Q, self._Q_end, blocks.g)

    def back(self, x: Array, Q_bar: Array, sums: Sums) -> None:
        """Q_bar −= ∂(x·g)/∂Qₙ of lagged friction; gradients by friction and stiffness of materials go to the sums."""
        scene = self._contact.scene
        if self._end.count:
            work = np.empty(self._end.count)
            barrier_work(self._end, scene, self._Q_end, x, work)
            self._tell(self._end, work, sums)
            if sums.vertices is not None:
                add_barrier_shapes(self._end, scene, self._Q_end, x, sums.vertices, sums.planes)
        if self.lags:
            self._pull_friction(x, Q_bar, sums)

    def _pull_friction(self, x: Array, Q_bar: Array, sums: Sums) -> None:
        scene, work = self._contact.scene, np.empty(self._start.count)
        parts = np.zeros((0 if sums.vertices is None else len(work), 5, 3))
        _lag(self._start, scene, self._epsilon, self._Q, self._Q_end, x, Q_bar, work, parts)
        if sums.vertices is not None:
            move = self._Q_end - self._Q
            add_friction_shapes(self._start, scene, self._Q, move, x, parts, sums.vertices, sums.planes)
        self._tell(self._start, work, sums)
        np.add.at(sums.log_mu, materials_of(scene, self._start), -work)

    def tell_friction(self, t: Touching, log_kappa: Array, friction: Lagged | None, sums: Sums) -> None:
        """Gradients by materials of contacts with these derivatives (k,) by ln κ, and of their friction."""
        self._tell(t, -log_kappa, sums)
        if friction is not None:
            log_mu, log_lever = friction.log_mu_all.slope[:, 0], friction.log_lever_all.slope[:, 0]
            np.add.at(sums.log_mu, materials_of(self._contact.scene, t), log_mu)
            np.add.at(sums.log_rolling, materials_of(self._contact.scene, t), log_lever)

    def _tell(self, t: Touching, work: Array, sums: Sums) -> None:
        """Gradients by ln κ of contacts with x·g (k,); that of adaptive ones is a multiple of the lighter mass."""
        adaptive: Flags = t.numbers[:, KAPPA] < 0.0
        np.add.at(sums.log_contact_kappa, materials_of(self._contact.scene, t), np.where(adaptive, 0.0, -work))
        if adaptive.any():
            (a, b), contact = t.bodies.T, self._contact
            mass, weld = contact.borne_by, contact.weld
            other = np.where(b >= 0, mass[b], 0.0)
            lighter = np.where((other > 0.0) & ((other < mass[a]) | (mass[a] == 0.0)), b, a)
            by_weld = np.bincount(weld[lighter[adaptive]], -work[adaptive], len(mass))
            sums.log_mass += by_weld[weld] * np.divide(contact.mass, mass, out=np.zeros_like(mass), where=mass > 0.0)


@kernel
def _image(t: Touching, k: int, row: Array, X: Array, out: Array) -> None:
    """out (3,) ← row (8,) on the bodies of contact k, of X (n, 4, 3)."""
    a, b = t.bodies[k, 0], t.bodies[k, 1]
    for x in range(3):
        out[x] = 0.0
        for i in range(4):
            out[x] += row[i] * X[a, i, x]
            if b >= 0:
                out[x] += row[4 + i] * X[b, i, x]


@kernel
def _frozen(t: Touching, k: int, Q: Array, Q_end: Array, n: Array, move: Array, slip: Array, room: Array) -> float:
    """n, move = c(Q_end − Q) and slip = P move (3,) of contact k; returns the load μN, 0 where there is no friction."""
    d = math.sqrt(t.D[k])
    _, first, _ = barrier(t.D[k], t.numbers[k, THICKNESS], t.numbers[k, D_HAT])
    load: float = -2.0 * t.numbers[k, MU] * d * first * t.weight[k] * t.kappa[k]
    if not load > 0.0:
        return 0.0
    _image(t, k, t.c[k], Q_end, move)
    _image(t, k, t.c[k], Q, room)
    along = 0.0
    for x in range(3):
        n[x] = t.r[k, x] / d
        move[x] -= room[x]
        along += n[x] * move[x]
    for x in range(3):
        slip[x] = move[x] - along * n[x]
    return load


@kernel
def _slopes(slip: Array, epsilon: float) -> tuple[float, float]:
    """f₀′/y at y = |slip|, and its derivative over y."""
    y = math.sqrt(slip[0] * slip[0] + slip[1] * slip[1] + slip[2] * slip[2])
    if y >= epsilon:
        return 1.0 / y, -1.0 / (y * y * y)
    return (2.0 - y / epsilon) / epsilon, -1.0 / (epsilon * epsilon * y) if y > 0.0 else 0.0


@kernel
def _add_friction(t: Touching, epsilon: float, Q: Array, Q_end: Array, blocks: Blocks) -> None:
    """Add the Hessian at Q_end of friction that lags from Q, where the contacts are."""
    position, row_start, column = blocks.position, blocks.row_start, blocks.column
    n, move, slip, room = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    rows, M, space = np.empty((1, 8)), np.empty((1, 1, 3, 3)), np.empty((1, 3, 3))
    for k in range(len(t.D)):
        load = _frozen(t, k, Q, Q_end, n, move, slip, room)
        if load == 0.0:
            continue
        f1, bend = _slopes(slip, epsilon)
        for i in range(8):
            rows[0, i] = t.c[k, i]
        for x in range(3):
            for z in range(3):
                M[0, 0, x, z] = load * (f1 * ((1.0 if x == z else 0.0) - n[x] * n[z]) + bend * slip[x] * slip[z])
        a, b = t.bodies[k, 0], t.bodies[k, 1]
        place = block_of(a, b, position, row_start, column) if b >= 0 and b != a else -1
        add_form(blocks, a, b, place, 1, rows, M, space)


@kernel
def add_friction_gradient(t: Touching, epsilon: float, Q: Array, Q_end: Array, g: Array) -> None:
    """g (n, 12) += gradient at Q_end of friction that lags from Q, where the contacts are."""
    n, move, slip, room = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for k in range(len(t.D)):
        load = _frozen(t, k, Q, Q_end, n, move, slip, room)
        if load == 0.0:
            continue
        f1, _ = _slopes(slip, epsilon)
        for i in range(8 if t.bodies[k, 1] >= 0 else 4):
            for x in range(3):
                g[t.bodies[k, i // 4], 3 * (i % 4) + x] += t.c[k, i] * load * f1 * slip[x]


@kernel
def _dot(a: Array, b: Array) -> float:
    product: float = a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    return product


@kernel
def _lag(
    t: Touching, scene: ContactScene, epsilon: float, Q: Array, Q_end: Array, y: Array, Q_bar: Array, work: Array,
    parts: Array,
) -> None:  # fmt: skip
    """Q_bar −= ∂/∂Qₙ of y·g of friction; work (k,) ← y·g.

    parts (k, 5, 3), if there are any, ← its derivatives by the images of c, c₁, c₂ at Qₙ, and of c at y and Q_end − Qₙ.
    """
    n, move, slip, room, push = np.empty(3), np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    by_move, by_push, by_r, by_alpha = np.empty(3), np.empty(3), np.empty(3), np.empty(2)
    rows, uv, slopes = np.empty((2, 8)), np.empty((2, 3)), np.empty((2, 3))
    for k in range(len(t.D)):
        work[k] = 0.0
        load = _frozen(t, k, Q, Q_end, n, move, slip, room)
        if load == 0.0:
            continue
        f1, bend = _slopes(slip, epsilon)
        _image(t, k, t.c[k], y, push)
        n_move, n_push = _dot(n, move), _dot(n, push)
        inner = _dot(slip, push)
        along = bend * inner
        work[k] = load * f1 * inner
        turned = 0.0
        for x in range(3):
            by_move[x] = load * (f1 * (push[x] - n_push * n[x]) + along * slip[x])
            by_push[x] = load * f1 * slip[x]
            by_r[x] = -load * (f1 * (n_push * move[x] + n_move * push[x]) + along * n_move * move[x])
            turned += n[x] * by_r[x]
        _, first, second = barrier(t.D[k], t.numbers[k, THICKNESS], t.numbers[k, D_HAT])
        by_D = work[k] * (0.5 / t.D[k] + second / first)  # μN = −2μmκ d b′
        for x in range(3):
            by_r[x] = 0.0 if t.pairs[k, KIND] == POINT_PLANE else (by_r[x] - turned * n[x]) / math.sqrt(t.D[k])
        for e in range(2):
            _image(t, k, t.c_e[k, e], Q_end, push)
            _image(t, k, t.c_e[k, e], Q, room)
            by_alpha[e] = _dot(push, by_move) - _dot(room, by_move) + _dot(t.r_e[k, e], by_r)
            _image(t, k, t.c_e[k, e], y, push)
            by_alpha[e] += _dot(push, by_push)
        bent = t.slope[k] > 0.0
        if bent:
            edges_of(t, scene, k, Q, rows, uv)
            slopes_of_cross(uv, slopes)
        w0 = t.inverse[k, 0, 0] * by_alpha[0] + t.inverse[k, 0, 1] * by_alpha[1]
        w1 = t.inverse[k, 1, 0] * by_alpha[0] + t.inverse[k, 1, 1] * by_alpha[1]
        for x in range(3):
            room[x] = 2.0 * by_D * t.r[k, x] + by_r[x] - w0 * t.r_e[k, 0, x] - w1 * t.r_e[k, 1, x]
            if len(parts):
                parts[k, 0, x], parts[k, 1, x], parts[k, 2, x] = room[x], -w0 * t.r[k, x], -w1 * t.r[k, x]
                parts[k, 3, x], parts[k, 4, x] = by_push[x], by_move[x]
        for i in range(8 if t.bodies[k, 1] >= 0 else 4):
            b = t.bodies[k, i // 4]
            for x in range(3):
                by = t.c[k, i] * (room[x] - by_move[x])
                by -= (w0 * t.c_e[k, 0, i] + w1 * t.c_e[k, 1, i]) * t.r[k, x]
                if bent:
                    scale = work[k] * t.slope[k] / t.weight[k]
                    by += scale * (rows[0, i] * slopes[0, x] + rows[1, i] * slopes[1, x])
                Q_bar[b, i % 4, x] -= by
