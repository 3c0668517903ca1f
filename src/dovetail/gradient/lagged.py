"""Friction that lags, rolls and remembers, as formulas that have derivatives (formulas.py).

Twins of solver/contact/friction.py, roll.py and stick.py, without tangents t₁, t₂: slips are vectors across n,

    slip = (1 − n nᵀ) c(Q − Q_start) + u₀ − (1 − n nᵀ)(δ_a − δ_b)        F = −μλ f₁(|slip|) slip,  f₁ = f₀′/|slip|

with c moved to the points that will touch. What resists rolling is the same on directions, c = (A_a⁻¹n, −A_b⁻¹n), with
the load cλ of the lever c; its rows follow those of the points. Which contacts slide, stick or roll is as it was, no
part of a derivative.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dovetail.gradient.closest import Closest, Form, across, image, moved_on, spread
from dovetail.gradient.formulas import (
    Graph,
    Node,
    add_up,
    cross,
    divided,
    dot,
    gathered,
    joined,
    root,
    unary,
    where,
)
from dovetail.gradient.touching import Touching, materials_of
from dovetail.solver.contact.kinds import EDGE_EDGE, KIND, MU, POINT_TRIANGLE, SHAPE, X0, B
from dovetail.solver.contact.scene import ContactScene
from dovetail.typing import Array, Flags, Indices

__all__ = ["Lagged", "Memory", "Turns", "keys_of", "rows_by_key"]

_FLAT, _CONE, _SLID, _SLIDES = 0.75, 0.98, 0.81, 0.9  # as in roll.py, friction.py and stick.py
_AHEAD, _FADES = 1.5, 4.0
_FULL = 1e-7  # 1 − share of the cone, below which Newton's method cannot tell a force from one that fills it


class Turns(NamedTuple):
    """How bodies roll in a step: hω (n, 3), the unit axes (n, 3) that they are round about, and which (n,) do."""

    turn: Node
    axis: Node
    rolls: Flags


class Memory(NamedTuple):
    """What contacts remember: names (p, 4) of their features, force and load (p, 4), a node, as in stick.py."""

    keys: Indices
    force: Node


def keys_of(t: Touching) -> Indices:
    """Names (k, 4) of the features of contacts, as in stick.py."""
    keys, kind = t.pairs[:, X0 : X0 + 4].copy(), t.pairs[:, KIND]
    patch = kind == POINT_TRIANGLE
    keys[patch, 1], keys[patch, 2] = t.pairs[patch, B], t.numbers[patch, SHAPE].astype(np.int64)
    keys[kind != EDGE_EDGE, 3] = -1 - kind[kind != EDGE_EDGE]
    return keys


def levers_of(scene: ContactScene, t: Touching) -> Array:
    """Levers c (k,) of rolling friction of contacts [m]."""
    found: Array = scene.rolling[materials_of(scene, t)]
    return found


def rows_by_key(known: Indices, keys: Indices) -> Indices:
    """Where (k,) each of the keys is among those known, −1 where it is not."""
    both = np.concatenate([known, keys])
    number = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)
    place = np.full(len(both), -1)
    place[number[: len(known)]] = np.arange(len(known))
    return place[number[len(known) :]]


class Lagged:
    """Friction frozen at Q, where contacts are closest; of those with a load alone.

    rows (k,)             which contacts of t; the first `sliding` of them resist slip, the others rolling
    keys (k, 4)           names of their features
    c (k, 8), n (k, 3)    nodes: weights at the points that touch, with the sign of their body, and normals
    load, bare (k, 1)     nodes: μλ h², with and without what is foretold
    offset (k, 3)         node: u₀ less what is rolling
    log_mu_all, log_lever_all (m, 1)    nodes: changes of the logarithms of μ and of levers, of all contacts of t
    """

    def __init__(
        self, graph: Graph, closest: Closest, scene: ContactScene, Q: Node, turns: Turns | None, memory: Memory | None,
        h: float, epsilon: float,
    ) -> None:  # fmt: skip
        t = closest.t
        self.log_mu_all, self.log_lever_all = (graph.of(np.zeros((t.count, 1))) for _ in range(2))
        loads = [closest.load(t.numbers[:, MU], self.log_mu_all), closest.load(levers_of(scene, t), self.log_lever_all)]
        slides, resists = (np.flatnonzero(load.value[:, 0] > 0.0) for load in loads)
        self.rows, self._sliding = (rows := np.concatenate([slides, resists])), len(slides)
        self.bodies, self.keys = t.bodies[rows], keys_of(t)[rows]
        self.keys[len(slides) :, 0] = -1 - self.keys[len(slides) :, 0]
        self._graph, self._Q, self._h2, self._epsilon = graph, Q, h * h, epsilon
        self._count = len(Q.value)
        self.n = gathered(closest.n, rows)
        self.c = gathered(closest.c, rows) * (np.arange(len(rows)) < len(slides))[:, None]
        self.bare = self.load = joined([gathered(loads[0], slides), gathered(loads[1], resists)], axis=0)
        delta = graph.of(np.zeros((len(rows), 3)))
        for side, sign in enumerate((-1.0, 1.0)):
            delta = self._at_surface(scene, turns, side, sign, delta)
        self.offset = -across(self.n, delta)
        self.carried = graph.of(np.zeros((len(rows), 3)))
        if memory is not None and len(memory.keys):
            self._recall(memory)
            self.offset = self.offset + self.carried
        self.remembers = memory is not None

    # ---- points that touch -----------------------------------------------------------------------------------

    def _moved(self, some: Indices, side: int, d: Node) -> None:
        """c of some contacts ← that of the points that lie by d (s, 3) farther on the body of a side."""
        self.c = moved_on(self.c, some, self.bodies[some, side], side, d, self._Q)

    def _at_surface(self, scene: ContactScene, turns: Turns | None, side: int, sign: float, delta: Node) -> Node:
        """Move c to the surface, and to where it will touch; delta with the δ of this side."""
        body, slides = self.bodies[:, side], np.arange(len(self.rows)) < self._sliding
        far = np.where(body >= 0, np.where(slides, sign * scene.thickness[body], 1.0), 0.0)
        thick = np.flatnonzero(far != 0.0)
        if len(thick):
            self._moved(thick, side, far[thick, None] * gathered(self.n, thick))
        if turns is None:
            return delta
        turning = (body >= 0) & turns.rolls[body] & slides
        has_axis = turns.axis.value[body].any(axis=1)
        for on_axis in (False, True):
            some = np.flatnonzero(turning & (has_axis == on_axis))
            if len(some):
                found = self._roll(some, side, turns, far[some, None], on_axis)
                if found is not None:
                    delta = delta - sign * add_up(found[1], found[0], len(self.rows))
        return delta

    def _roll(self, some: Indices, side: int, turns: Turns, far: Array, on_axis: bool) -> tuple[Indices, Node] | None:
        """δ (s, 3) of those of some contacts that roll; c is moved to the points that will touch."""
        body = self.bodies[some, side]
        if on_axis:
            lean = (turns.axis.value[body] * self.n.value[some]).sum(axis=1)
            some, body = some[lean**2 <= _FLAT], body[lean**2 <= _FLAT]
            if not len(some):
                return None
        turn, n = gathered(turns.turn, body), gathered(self.n, some)
        along, slide = dot(turn, n), self._graph.of(np.zeros((len(some), 3)))
        if on_axis:
            axis = gathered(turns.axis, body)
            lean = dot(axis, n)
            flat = 1.0 - lean * lean
            x = dot(axis, turn)
            x = x - lean / flat * (along - lean * x)
            e = x * axis
            lever = (1.0 - 2.0 * side) * gathered(self.c, some)[:, 4 * side + 1 : 4 * side + 4]
            lever = (lever[:, None] @ gathered(self._Q, body)[:, 1:])[:, 0]
            f = cross(axis, n)
            slide = along * dot(f, lever) / flat * cross(n, f)
        else:
            e, lever = turn - along * n, far * n
        # with ρ = x e instead of e nothing is divided by a turn, which may be zero; that the solver leaves out what is
        # below 1e-6 rad is no part of the derivative
        rest, c = 0.5 * (turn - e), cross(e, lever)
        d, q = 0.5 * cross(e, c), 1.0 + 0.25 * dot(e, e)
        self._moved(some, side, (d - c) / q)
        return some, slide + (c - d) / q - c - cross(rest, c)

    # ---- memory ----------------------------------------------------------------------------------------------

    def _recall(self, memory: Memory) -> None:
        """load ← with what is foretold, carried ← u₀."""
        at = rows_by_key(memory.keys, self.keys)
        past = gathered(memory.force, at)
        columns = gathered(self._Q, self.bodies[:, 1])[:, 1:]
        has_b = (self.bodies[:, 1] >= 0)[:, None]
        force = where(has_b, (past[:, None, :3] @ columns)[:, 0], past[:, :3])
        force = across(self.n, force)
        length = root(dot(force, force))
        last = past[:, 3:]
        slides = (at >= 0)[:, None] & (length.value > _SLIDES * last.value)
        change = self.load - self._h2 * last
        fades = _FADES * change / self.load
        fades = fades * fades * fades * fades
        fades = where(fades.value < 1.0, 1.0 - fades, 0.0)
        self.load = where(slides, self.load + _AHEAD * fades * change, self.load)
        # (1 − √(1 − τ))/|f| without a division by a force that may be zero
        left = 1.0 - self._h2 * length / self.load
        rest = np.sqrt(np.maximum(left.value, 0.0))
        slope = np.divide(0.5, rest, out=np.zeros_like(rest), where=left.value > _FULL)
        within = self._epsilon * self._h2 / (self.load * (1.0 + unary(left, rest, slope)))
        holds = left.value > 0.0
        self.carried = -where(holds, within, self._epsilon / where(holds, 1.0, length)) * force

    # ---- what it does ----------------------------------------------------------------------------------------

    def slip(self, Q_start: Any, Q: Any) -> Node:
        """Slip (k, 3) of a step from Q_start to Q."""
        return across(self.n, image(self.c, self.bodies, Q - Q_start)) + self.offset

    def slip_on(self, Q_before: Node) -> Node:
        """Slip (k, 3) that a step from Q would begin with, after one from Q_before: contacts that slide go on."""
        on = np.ones((len(self.rows), 1), np.bool_)
        if self.remembers:
            on = (self.carried.value**2).sum(axis=1, keepdims=True) > _SLID * self._epsilon**2
        rolling = self.offset - self.carried
        further = across(self.n, image(self.c, self.bodies, self._Q - Q_before)) + rolling
        return self.offset + on * further

    def slopes(self, slip: Node) -> tuple[Node, Node]:
        """f₁ and its derivative by |slip| over |slip| (k, 1)."""
        square, epsilon = dot(slip, slip), self._epsilon
        y = np.sqrt(square.value)
        safe = np.where(y > 0.0, y, 1.0)
        far = y >= epsilon
        f1 = np.where(far, 1.0 / safe, (2.0 - y / epsilon) / epsilon)
        bend = np.where(far, -1.0 / safe**3, np.where(y > 0.0, -1.0 / (epsilon**2 * safe), 0.0))
        turn = np.where(far, 1.5 / safe**5, np.where(y > 0.0, 0.5 / (epsilon**2 * safe**3), 0.0))
        return unary(square, f1, 0.5 * bend), unary(square, bend, turn)

    def forces(self, slip: Node) -> Node:
        """Forces (k, 3) on bodies a, times h²."""
        return -(self.load * self.slopes(slip)[0]) * slip

    def gradient(self, slip: Node) -> Node:
        """Rows (n, 4, 3) of the gradient."""
        return spread(self.c, -self.forces(slip), self.bodies, self._count)

    def bends(self, slip: Node) -> Form:
        """The Hessian."""
        f1, bend = self.slopes(slip)
        flat = np.eye(3) - self.n[:, :, None] * self.n[:, None]
        M = self.load[:, :, None] * (f1[:, :, None] * flat + bend[:, :, None] * (slip[:, :, None] * slip[:, None]))
        return Form(self.bodies, self.c, M)

    def rubbing(self, Q_start: Any, Q: Any, force: Node) -> tuple[Node, Array]:
        """Rows and Σ d × F (n, 15) of contacts that slide, and how many (n,), as `Frictions.on_bodies`."""
        square = (force.value**2).sum(axis=1)
        some = np.flatnonzero(square >= _CONE * self.load.value[:, 0] ** 2)
        bodies, F = self.bodies[some], gathered(force, some) / self._h2
        c = gathered(self.c, some)
        gone = Q - Q_start
        parts = []
        for side in range(2):
            w = c[:, 4 * side : 4 * side + 4]
            rows = gathered(gone, bodies[:, side]) if isinstance(gone, Node) else gone[bodies[:, side]]
            moved = (w[:, None] @ rows)[:, 0]
            forces = w[:, :, None] * F[:, None]
            flat = joined([forces[:, i] for i in range(4)])
            parts.append(add_up(joined([flat, cross(moved, F)]), bodies[:, side], self._count))
        number = np.zeros(self._count)
        np.add.at(number, bodies[bodies >= 0], 1.0)
        return parts[0] + parts[1], number

    def remembered(self, Q: Node, force: Node) -> Node:
        """Force by the columns of b at Q, and load (k, 4) [N]."""
        b = self.bodies[:, 1]
        columns = gathered(Q, b)[:, 1:]
        none = (b < 0)[:, None, None]
        columns = where(none, np.eye(3), columns)
        return joined([divided(force, columns) / self._h2, self.bare / self._h2])
